"""The reference job on our engines and the C++ twin; only their loops are timed."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Final

from bench.peers import fast_twin
from bench.peers.reference import (
    reference_draws,
    reference_network,
    reference_plan,
    reference_sending,
)
from bench.sim.timing import Competitor
from netcosim.training.plan import Draws, StepPlan
from sim.engine.control import Control
from sim.engine.engine import Engine
from sim.fast.arrays import Shape
from sim.fast.engine import FastEngine
from sim.fast.shape import fast_shape
from sim.plan import Network

RATES_BPS: Final = (10**9, 10**10)
SEED: Final = 3
FAST: Final = "fast path"
TWIN: Final = "C++ twin"
GENERIC: Final = "generic engine"


@cache
def plan_of(collapsed: bool) -> StepPlan:
    """The reference step as recorded, or with chains of computations fused."""
    return reference_plan(collapsed=collapsed)


@cache
def shape_of(collapsed: bool) -> Shape:
    """The reference step in the fast path's layout; it does not depend on rates."""
    return fast_shape(plan_of(collapsed), reference_network(1, RATES_BPS[0]), reference_sending())


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """The reference job with so many workers; a `staleness` of 0 is BSP, None asynchronous."""

    rate_bps: int
    workers: int
    staleness: int | None = None
    collapsed: bool = False

    @property
    def plan(self) -> StepPlan:
        """One worker's step."""
        return plan_of(self.collapsed)

    @property
    def network(self) -> Network:
        """One server's port."""
        return reference_network(self.workers, self.rate_bps)

    @property
    def title(self) -> str:
        """Rate, synchronisation and workers, in words."""
        kind = "asynchronous" if self.staleness is None else "BSP"
        return f"{gigabits(self.rate_bps)}, {kind}, W={self.workers}"

    def draws(self, steps: int) -> Draws:
        """Random draws of the recorded steps that the workers repeat."""
        return reference_draws(self.workers, steps, SEED)

    def fast(self, draws: Draws) -> FastEngine:
        """The fast path, ready to run."""
        return FastEngine(
            self.plan,
            self.network,
            reference_sending(),
            draws,
            Control(staleness=self.staleness),
            shape=shape_of(self.collapsed),
        )

    def generic(self, draws: Draws) -> Engine:
        """The generic engine, ready to run."""
        return Engine(
            self.plan,
            self.network,
            reference_sending(),
            draws,
            Control(staleness=self.staleness),
        )

    def write_dump(self, path: Path, draws: Draws) -> None:
        """Write it for the C++ twin."""
        fast_twin.write_dump(
            path,
            self.plan,
            self.network,
            reference_sending(),
            draws,
            staleness=self.staleness,
            shape=shape_of(self.collapsed),
        )


def gigabits(rate_bps: int) -> str:
    """A rate in words."""
    return f"{rate_bps / 1e9:g} Gbit/s"


def loop_s(make: Callable[[Draws], FastEngine | Engine], draws: Draws) -> float:
    """Seconds of an engine's run, without its construction.

    Raises
    ------
    RuntimeError
        It did not do all steps.
    """
    engine = make(draws)
    begin = time.perf_counter()
    engine.run()
    spent = time.perf_counter() - begin
    if len(engine.steps().worker) != draws.step.size:
        raise RuntimeError("the engine has not done all steps")
    return spent


def engine_competitor(
    name: str, make: Callable[[Draws], FastEngine | Engine], draws: Draws, *, times: int = 1
) -> Competitor:
    """An engine that does a job so many times in one measurement."""
    return Competitor(
        name=name,
        units=draws.step.size * times,
        measure=lambda: sum(loop_s(make, draws) for _ in range(times)),
    )


def twin_competitor(folder: Path, dump: Path, draws: Draws) -> Competitor:
    """The C++ twin on a job that was dumped."""

    def measure() -> float:
        run = fast_twin.run(folder, dump)
        if run.steps != draws.step.size:
            raise RuntimeError("the C++ twin has not done all steps")
        return run.wall_s

    return Competitor(name=TWIN, units=draws.step.size, measure=measure)
