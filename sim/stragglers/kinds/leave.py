"""Worker that leaves `at` a time, and may come `back` at a later one."""

from typing import Self

from pydantic import model_validator

from netcosim.scenario.fields import DurationNs, Record
from sim.stragglers.effect import Bound, Effect

CHANGING = True


class Options(Record):
    """Times from the start of the run; without `back` the worker stays away."""

    at: DurationNs
    back: DurationNs | None = None

    @model_validator(mode="after")
    def _later(self) -> Self:
        if self.back is not None and self.back <= self.at:
            raise ValueError("'back' must be later than 'at'")
        return self


def bind(options: Options) -> Bound:
    """Bind an absence from `at` on, up to `back` if given."""
    effect = Effect(absent=(options.at, options.back))
    return lambda run: effect
