"""The reference job with joined gradients, shared server processors, and gates before connections.

The generic engine runs fused steps, as `sim` gives them to it.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Final

import numpy as np

from bench.common.record import Figure
from bench.peers.reference import reference_draws, reference_network, reference_sending
from bench.sim.engines import FAST_US, Rows
from bench.sim.reference_job import (
    FAST,
    GENERIC,
    RATES_BPS,
    SEED,
    engine_competitor,
    gigabits,
    loop_s,
    plan_of,
)
from bench.sim.timing import Competitor, Effort, alternate, enough, us_figure
from netcosim.policies import schedule_options
from netcosim.training.plan import SERVER, UP, Draws, Gate, Processor, StepPlan
from netcosim.training.synchronisation import Join
from sim.engine.control import DEFAULT, Control
from sim.engine.engine import Engine
from sim.fast.engine import FastEngine
from sim.fast.shape import fast_shape
from sim.plan import Sending

FAST_W: Final = (1, 8, 64)
GENERIC_W: Final = 16
MOST_US: Final = 150.0
CORES: Final = 4
SCHEDULES: Final = ("fifo", "p3", "bytescheduler", "prophet")


@dataclass(frozen=True, slots=True, kw_only=True)
class Feature:
    """The reference job with one thing more; `title` says what."""

    title: str
    plan: StepPlan
    workers: int
    rate_bps: int
    control: Control = DEFAULT
    sending: Sending = field(default_factory=reference_sending)

    def fast(self, draws: Draws) -> FastEngine:
        """The fast path, ready to run."""
        network = reference_network(self.workers, self.rate_bps)
        shape = fast_shape(self.plan, network, self.sending)
        return FastEngine(None, network, self.sending, draws, self.control, shape=shape)

    def generic(self, draws: Draws) -> Engine:
        """The generic engine, ready to run."""
        network = reference_network(self.workers, self.rate_bps)
        return Engine(self.plan, network, self.sending, draws, self.control)

    def competitor(self, engine: str, least_s: float) -> Competitor:
        """An engine on as many steps as take long enough."""
        make = self.fast if engine == FAST else self.generic
        steps = enough(lambda steps: loop_s(make, self._draws(steps)), least_s, begin=2)
        return engine_competitor(engine, make, self._draws(steps))

    def _draws(self, steps: int) -> Draws:
        return reference_draws(self.workers, steps, SEED)


def joined(plan: StepPlan) -> StepPlan:
    """The plan with its updates done once for all workers, each pulled in the next step."""
    once = np.array([int(_at_server(plan, op)) for op in range(plan.operations)], dtype=np.int64)
    index = {name: op for op, name in enumerate(plan.names)}
    after = np.full(plan.operations, -1, dtype=np.int64)
    for op in np.flatnonzero(once).tolist():
        after[index[plan.names[op].replace("update/", "pull/")]] = op
    nothing = np.zeros((1, 0), dtype=np.int64)
    return replace(shared(plan, 1), once=once, pulled_after=after, released=nothing)


def shared(plan: StepPlan, cores: int) -> StepPlan:
    """The plan with all workers' updates on so many processors of the server."""

    def with_all(processor: Processor) -> Processor:
        if processor.node != SERVER:
            return processor
        return replace(processor, capacity=cores, shared=True)

    return replace(plan, processors=tuple(map(with_all, plan.processors)))


def gated(plan: StepPlan) -> StepPlan:
    """The plan with a gate before the connection that gradients are sent on."""
    (up,) = (c for c, channel in enumerate(plan.channels) if channel.direction == UP)
    pushes = tuple(np.flatnonzero(plan.place == up).tolist())
    chain = [op for op in range(plan.operations) if _at_worker(plan, op)]
    ends = dict(zip(chain, np.cumsum(plan.duration_ns.mean(axis=0)[chain]), strict=True))
    before = {int(d): op for op in chain for d in _behind(plan, op)}
    gate = Gate(
        channel=up,
        operations=pushes,
        ended_by=pushes,
        size_bytes=tuple(int(plan.size_bytes[push]) for push in pushes),
        generated_ns=tuple(round(ends[before[push]]) for push in pushes),
    )
    return replace(plan, gates=(gate,))


def _behind(plan: StepPlan, op: int) -> np.ndarray:
    return plan.after[plan.after_start[op] : plan.after_start[op + 1]]


def _at_server(plan: StepPlan, op: int) -> bool:
    return _processor(plan, op) is not None and not _at_worker(plan, op)


def _at_worker(plan: StepPlan, op: int) -> bool:
    processor = _processor(plan, op)
    return processor is not None and processor.node != SERVER


def _processor(plan: StepPlan, op: int) -> Processor | None:
    number = int(plan.place[op]) - len(plan.channels)
    return None if number < 0 else plan.processors[number]


def features_of(rate_bps: int) -> Iterator[Feature]:
    """Jobs that the generic engine is timed with."""
    fused = plan_of(True)
    at = f"{gigabits(rate_bps)}, W={GENERIC_W}"
    for by in ("step", "tensor"):
        for first in (GENERIC_W, GENERIC_W - 1):
            yield Feature(
                title=f"{at}, join by {by}, first {first}",
                plan=joined(fused),
                workers=GENERIC_W,
                rate_bps=rate_bps,
                control=Control(join=Join(by=by, first=first)),
            )
    yield Feature(
        title=f"{at}, asynchronous, {CORES} server processors",
        plan=shared(fused, CORES),
        workers=GENERIC_W,
        rate_bps=rate_bps,
    )
    for name in SCHEDULES:
        options = schedule_options(name, {})
        yield Feature(
            title=f"{at}, asynchronous, gates of {name}",
            plan=gated(fused),
            workers=GENERIC_W,
            rate_bps=rate_bps,
            sending=replace(reference_sending(), schedule=name, schedule_options=options),
        )


def feature_figures(effort: Effort, rows: Rows) -> Iterator[Figure]:
    """Join by step on the fast path; joins, shared processors and gates on the generic engine."""
    for rate_bps in RATES_BPS:
        for workers in FAST_W:
            feature = Feature(
                title=f"{gigabits(rate_bps)}, join by step, W={workers}",
                plan=joined(plan_of(False)),
                workers=workers,
                rate_bps=rate_bps,
                control=Control(join=Join(by="step", first=workers)),
            )
            yield _timed(feature, FAST, FAST_US, effort, rows)
        for feature in features_of(rate_bps):
            yield _timed(feature, GENERIC, MOST_US, effort, rows)


def _timed(feature: Feature, engine: str, most_us: float, effort: Effort, rows: Rows) -> Figure:
    (timing,) = alternate([feature.competitor(engine, effort.least_s)], effort.rounds)
    rows.append(timing.row(job=feature.title))
    return us_figure(f"{feature.title}: {engine}", timing, most_us)
