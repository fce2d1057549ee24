"""Worker that is absent from the start, and joins `at` a time."""

from typing import Annotated

from netcosim.scenario.fields import MOST_DURATION_NS, DurationNs, Record, durations
from netcosim.training.stragglers.effect import Bound, Effect

CHANGING = True


class Options(Record):
    """Time of joining, from the start of the run."""

    at: Annotated[DurationNs, durations(1, MOST_DURATION_NS)]


def bind(options: Options) -> Bound:
    """Bind an absence until `at`."""
    effect = Effect(absent=(0, options.at))
    return lambda run: effect
