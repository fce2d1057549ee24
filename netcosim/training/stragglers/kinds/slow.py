"""Straggler with a slower machine: every computation takes `factor` times as long."""

from typing import Annotated

from pydantic import Field

from netcosim.scenario.fields import Fraction, Record
from netcosim.training.stragglers.effect import Bound, Effect


class Options(Record):
    """Factor of all durations; below 1 the machine is faster."""

    factor: Annotated[Fraction, Field(ge=1e-6, le=1e6)]


def bind(options: Options) -> Bound:
    """Bind the factor, which is the same for all steps."""
    effect = Effect(factor=options.factor)
    return lambda run: effect
