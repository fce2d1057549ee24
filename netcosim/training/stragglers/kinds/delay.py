"""Straggler that is far away: `delay` more, one way, to every server."""

from typing import Annotated

from netcosim.scenario.fields import DurationNs, Record, durations
from netcosim.scenario.model import MOST_DELAY_NS
from netcosim.training.stragglers.effect import Bound, Effect


class Options(Record):
    """Delay on top of that of the path."""

    delay: Annotated[DurationNs, durations(1, MOST_DELAY_NS)]


def bind(options: Options) -> Bound:
    """Bind the delay, which is the same for the whole run."""
    effect = Effect(delay_ns=options.delay)
    return lambda run: effect
