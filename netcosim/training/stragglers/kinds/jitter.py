"""Straggler with jitter: computations vary from step to step by a random factor.

The models are those of profiles (`netcosim.workload.Jitter`); each step has one factor. Its median
is 1, except with the factors of an empirical model.
"""

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from netcosim.scenario.fields import Fraction, Record
from netcosim.training.stragglers.effect import Bound, Effect, Run
from netcosim.workload import Jitter
from netcosim.workload.durations import draw_factors

Factor = Annotated[Fraction, Field(ge=1e-6, le=1e6)]


class Options(Record):
    """`spread` of a lognormal or Pareto factor, or the `factors` that an empirical one is among."""

    model: Literal["deterministic", "lognormal", "pareto", "empirical"] = "lognormal"
    spread: Annotated[Fraction, Field(gt=0, lt=1)] | None = None
    factors: Annotated[tuple[Factor, ...], Field(min_length=1)] | None = None

    @model_validator(mode="after")
    def _of_its_model(self) -> Self:
        for name, models in (("spread", ("lognormal", "pareto")), ("factors", ("empirical",))):
            given, needed = getattr(self, name) is not None, self.model in models
            if given != needed:
                has = "needs" if needed else "has no"
                raise ValueError(f"the model {self.model} {has} '{name}'")
        return self


def bind(options: Options) -> Bound:
    """Bind a random factor for each step."""
    jitter = Jitter(
        model=options.model,
        spread=float(options.spread or 0.0),
        factors=tuple(map(float, options.factors or ())),
    )

    def effect(run: Run) -> Effect:
        return Effect(factor=draw_factors(jitter, (run.steps, 1), run.rng())[:, 0])

    return effect
