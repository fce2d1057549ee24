"""Worker that is absent from the start, and joins `at` a time."""

from typing import Annotated

from pydantic import Field

from netcosim.scenario.fields import DurationNs, Record
from sim.stragglers.effect import Bound, Effect

CHANGING = True


class Options(Record):
    """Time of joining, from the start of the run."""

    at: Annotated[DurationNs, Field(ge=1)]


def bind(options: Options) -> Bound:
    """Bind an absence until `at`."""
    effect = Effect(absent=(0, options.at))
    return lambda run: effect
