"""Straggler that is far away: `delay` more, one way, to every server."""

from typing import Annotated

from pydantic import Field

from netcosim.scenario.fields import DurationNs, Record
from sim.stragglers.effect import Bound, Effect


class Options(Record):
    """Delay on top of that of the path."""

    delay: Annotated[DurationNs, Field(ge=1)]


def bind(options: Options) -> Bound:
    """Bind the delay, which is the same for the whole run."""
    effect = Effect(delay_ns=options.delay)
    return lambda run: effect
