"""Straggler with a slower port: at most `rate`, or `part` of its own rate, in each direction."""

from typing import Annotated, Self

from pydantic import Field, model_validator

from netcosim.scenario.fields import MOST_RATE_BPS, Fraction, RateBps, Record, rates
from netcosim.training.stragglers.effect import Bound, Effect


class Options(Record):
    """Bound of the rate; one above the port's own makes no difference."""

    rate: Annotated[RateBps, rates(1000, MOST_RATE_BPS)] | None = None
    part: Annotated[Fraction, Field(ge=1e-6, le=1)] | None = None

    @model_validator(mode="after")
    def _one(self) -> Self:
        if (self.rate is None) == (self.part is None):
            raise ValueError("give either 'rate' (such as \"100mbit\") or 'part' (of its own rate)")
        return self


def bind(options: Options) -> Bound:
    """Bind the bound, which is the same for the whole run."""
    part = 1.0 if options.part is None else options.part
    effect = Effect(rate_bps=options.rate, part=part)
    return lambda run: effect
