"""Transient slow-downs: another program on the machine, a garbage collector, a backup.

The time from the end of one to the beginning of the next, and how long one lasts, are exponential
with these means (an alternating renewal process), or always the same. That workers of shared
clusters have them: Harlap et al., "Addressing the straggler problem for iterative convergent
parallel ML" (SoCC 2016).
"""

from typing import Annotated, Final, Literal

import numpy as np
from pydantic import Field

from netcosim.errors import ScenarioError
from netcosim.scenario.fields import (
    MOST_DURATION_NS,
    DurationNs,
    Fraction,
    Record,
    durations,
)
from netcosim.training.plan import Floats
from netcosim.training.stragglers.effect import Bound, Effect, Run
from netcosim.training.stragglers.speeds import Speeds
from netcosim.units import format_duration

_MOST: Final = 1_000_000
_BLOCK: Final = 256
_LEAST_NS: Final = 1.0


class Options(Record):
    """Time between slow-downs (`every`), length of one (`lasting`), `factor` of work meanwhile."""

    every: Annotated[DurationNs, durations(1000, MOST_DURATION_NS)]
    lasting: Annotated[DurationNs, durations(1000, MOST_DURATION_NS)]
    factor: Annotated[Fraction, Field(ge=1e-6, le=1e6)]
    law: Literal["exponential", "fixed"] = "exponential"


def bind(options: Options) -> Bound:
    """Bind slow-downs drawn for each worker up to the run's horizon; else the worker is fast."""

    def effect(run: Run) -> Effect:
        _check_number(options, run.horizon_ns)
        begins, ends = _slow_downs(options, run)
        time_ns = np.concatenate([[0.0], np.column_stack([begins, ends]).ravel()])
        speed = np.ones(len(time_ns))
        speed[1::2] = 1 / options.factor
        speeds = Speeds(time_ns=time_ns, speed=speed)
        return Effect(speeds=speeds, drawn_until_ns=run.horizon_ns)

    return effect


def _slow_downs(options: Options, run: Run) -> tuple[Floats, Floats]:
    """Start and end times of the slow-downs; the last one begins before the horizon."""
    rng = run.rng()
    means = np.array([options.every, options.lasting], dtype=np.float64)
    blocks: list[Floats] = []
    reached = 0.0
    while reached < run.horizon_ns:
        drawn = np.tile(means, (_BLOCK, 1))
        if options.law == "exponential":
            drawn = np.maximum(_LEAST_NS, rng.exponential(drawn))
        blocks.append(reached + np.cumsum(drawn.ravel()).reshape(drawn.shape))
        reached = float(blocks[-1][-1, 1])
    both = np.concatenate(blocks) if blocks else np.empty((0, 2))
    both = both[both[:, 0] < run.horizon_ns]
    return both[:, 0], both[:, 1]


def _check_number(options: Options, horizon_ns: float) -> None:
    expected = horizon_ns / (options.every + options.lasting)
    if expected > _MOST:
        raise ScenarioError.at(
            "options.every",
            format_duration(options.every),
            f"comes to {expected:.0f} slow-downs in the run; must be so long that there are at"
            f" most {_MOST}",
        )
