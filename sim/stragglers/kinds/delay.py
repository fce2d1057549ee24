"""A machine far away: `delay` more, one way, to every server."""

from typing import Annotated

from pydantic import Field

from netcosim.scenario.fields import DurationNs, Record
from sim.stragglers.effect import Bound, Effect


class Options(Record):
    """On top of what the path has."""

    delay: Annotated[DurationNs, Field(ge=1)]


def bind(options: Options) -> Bound:
    """The same for the whole run."""
    effect = Effect(delay_ns=options.delay)
    return lambda run: effect
