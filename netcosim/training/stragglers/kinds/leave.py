"""Worker that leaves `at` a time, and may come `back` at a later one."""

from typing import Annotated, Self

from pydantic import model_validator

from netcosim.scenario.fields import MOST_DURATION_NS, DurationNs, Record, durations
from netcosim.training.stragglers.effect import Bound, Effect

CHANGING = True

Time = Annotated[DurationNs, durations(0, MOST_DURATION_NS)]


class Options(Record):
    """Times from the start of the run; without `back` the worker stays away."""

    at: Time
    back: Time | None = None

    @model_validator(mode="after")
    def _later(self) -> Self:
        if self.back is not None and self.back <= self.at:
            raise ValueError("'back' must be later than 'at'")
        return self


def bind(options: Options) -> Bound:
    """Bind an absence from `at` on, up to `back` if given."""
    effect = Effect(absent=(options.at, options.back))
    return lambda run: effect
