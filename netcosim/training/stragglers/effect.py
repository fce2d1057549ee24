"""Interface of straggler kinds: from a worker's run to the effect on it."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from netcosim.training.plan import Floats
from netcosim.training.stragglers.speeds import Speeds


@dataclass(frozen=True, slots=True, kw_only=True)
class Use:
    """Processor and memory use of a worker's machine over time, for predictions from it.

    Attributes
    ----------
    time_ns : (rows,) increasing from 0
    cpu : (rows,) part of the processors that is in use, 0 to 1; None: not known
    memory_bytes : (rows,) memory in use; None: not known
    machine_bytes : memory of the machine; None: not known
    """

    time_ns: Floats
    cpu: Floats | None
    memory_bytes: Floats | None
    machine_bytes: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Effect:
    """Effect of an entry on one worker; the defaults do nothing.

    Attributes
    ----------
    factor : of computations, for all steps or (steps,) each
    speeds : of the worker, over time
    rate_bps, part : bounds of its port: a rate, and a part of the port's own rate
    delay_ns : more delay one way
    absent : from when until when it does not take part, ns; None: for ever
    use : of its machine
    drawn_until_ns : until when it was drawn, for what goes on for ever; None: nothing ends
    """

    factor: float | Floats = 1.0
    speeds: Speeds | None = None
    rate_bps: int | None = None
    part: float = 1.0
    delay_ns: int = 0
    absent: tuple[int, int | None] | None = None
    use: Use | None = None
    drawn_until_ns: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """A worker's run: its steps, its time horizon, and the seed of the worker's own draws."""

    steps: int
    horizon_ns: float
    seed: np.random.SeedSequence

    def rng(self) -> np.random.Generator:
        """Fresh generator from the seed; more steps or a later horizon continue the same draws."""
        return np.random.default_rng(self.seed)


Bound = Callable[[Run], Effect]
"""A kind with its options bound: from a worker's run to its effect."""
