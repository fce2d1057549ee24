"""What a simulation will cost, before it is run: processor time, memory and disk.

Pure functions of a job. A step costs by its operations, by the chunks that its discipline cuts
messages into, and where rates are shared anew at every change by the number of connections. The
constants were measured on one thread of one machine (docs/background/simulator.md says which one,
and how far off estimates are); on another one they are off by its speed. `sim.progress` corrects
them by the runs that are done. Compiling kernels at their first use is not in them.
"""

import functools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal

import numpy as np

from h2model import disciplines
from h2model.machine import Machine
from h2model.protocol import UNLIMITED_BYTES
from netcosim.training.plan import DOWN, UP, StepPlan
from netcosim.training.stragglers import Conditions
from sim.experiment.cell import TrainingCell
from sim.fast.shape import asks_discipline
from sim.plan import Network, Sending
from sim.settings import conditions_on
from sim.shares import load_share

_FAST_OPERATION_S: Final = 0.012e-6
_FAST_LEVEL_S: Final = 0.5e-6
_FAST_CHUNK_S: Final = {"gathered": 0.05e-6, "asked": 0.011e-6, "direct": 0.015e-6}
"""The discipline gathers writes, or is asked for every chunk; or its visits are known."""

_CROWD: Final = 128
_CROWD_S: Final = 0.045e-6
"""Fast path: for each worker beyond so many, a step takes so much longer: others' events in it."""

_GENERIC_S: Final = {"operation": 0.05e-6, "chunk": 0.105e-6, "level": 0.0115e-6}
_RATED_S: Final = 0.08e-6
"""Rates shared anew: of one connection, at one change."""

_CHANGES_A_PUSH: Final = 0.3
"""Of a push's beginning or end, how often its connection becomes busy or idle with it."""

_WORKER_S: Final = 0.06e-3
_RECORD_S: Final = 0.2e-6
_PREPARED_S: Final = 1.2e-6
_TRACED_S: Final = 40e-6
_START_AND_REPORT_S: Final = 10.0

_IDLE_BYTES: Final = 350_000_000
_KEPT_BYTES: Final = 24
_RUN_BYTES: Final = 90
_TRACED_BYTES: Final = 2_000

_FOLDER_BYTES: Final = 2_000_000
_STEP_ROW_BYTES: Final = 24
_TRACED_ROW_BYTES: Final = 400

_MOST_CHUNKS: Final = 4000


@dataclass(frozen=True, slots=True, kw_only=True)
class StepWork:
    """What one step of one worker is made of, for an engine.

    Attributes
    ----------
    operations : of the fused plan
    pushes : messages to servers
    chunks : that the discipline cuts all messages into, alone on its connections
    connections : of one worker, each direction its own
    fast : the fast path does it
    how : where it does, how it finds chunks; see `_FAST_CHUNK_S`
    clocked : all connections of a link get the same, and a virtual clock is enough
    """

    operations: int
    pushes: int
    chunks: float
    connections: int
    fast: bool
    how: Literal["gathered", "asked", "direct"]
    clocked: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class PointCost:
    """All runs of one number of workers of one cell; `run_s` is one run's processor time."""

    cell: str
    change: str = ""
    workers: int
    runs: int
    run_s: float
    fast: bool

    def elapsed_s(self, processors: int) -> float:
        """Time that the runs take side by side."""
        return math.ceil(self.runs / processors) * self.run_s


@dataclass(frozen=True, slots=True, kw_only=True)
class Ahead:
    """Network and conditions of the largest number of workers, before anything is drawn."""

    network: Network
    under: Conditions

    @classmethod
    def of(cls, cell: TrainingCell, workers: int) -> "Ahead":
        """Those of a cell with so many workers."""
        network, seed = cell.network(workers), np.random.SeedSequence(0)
        specs = cell.scenario.straggler
        return cls(network=network, under=conditions_on(network, specs, 1, seed, horizon_ns=1.0))


@dataclass(frozen=True, slots=True, kw_only=True)
class Estimate:
    """What a simulation will cost.

    Attributes
    ----------
    points : in the order in which they are run
    other_s : start, preparation, traces and report
    processors : that runs are spread over
    memory_bytes : at most at one time
    disk_bytes : of the results folder
    """

    points: tuple[PointCost, ...]
    other_s: float
    processors: int
    memory_bytes: int
    disk_bytes: int

    @property
    def runs_s(self) -> float:
        """Time of all runs."""
        return sum(point.elapsed_s(self.processors) for point in self.points)

    def each_run_s(self) -> dict[tuple[str, str, int], float]:
        """Share of one run in the time of all, by cell, change of it and number of workers."""
        return {
            (p.cell, p.change, p.workers): p.elapsed_s(self.processors) / p.runs
            for p in self.points
        }

    @property
    def elapsed_s(self) -> float:
        """Time from start to report, on a machine with nothing else to do."""
        return self.other_s + self.runs_s


def estimate(
    cells: Sequence[TrainingCell],
    counts: Sequence[int],
    traced: Sequence[int],
    processors: int,
    more: Sequence[tuple[TrainingCell, int]] = (),
) -> Estimate:
    """Estimate what a simulation will cost.

    Parameters
    ----------
    cells : of one scenario
    counts : the numbers of workers, ascending; one worker without stragglers is run besides
    traced : the numbers of workers of which traces are kept
    processors : that runs are spread over
    more : cells with a number of workers that are simulated besides
    """
    training, runs = cells[0].scenario.training, cells[0].scenario.repetitions
    asked = [point for cell in cells for point in _points(cell, counts, runs)]
    besides = [_points(cell, [workers], runs)[-1] for cell, workers in more]
    points = (*asked, *besides)
    kept = min(training.trace_steps, training.steps)
    traced_rows = sum(c.plans(0).plan.operations * w * kept for c in cells for w in traced)
    prepared = sum(c.plans(0).plan.operations * c.plans(0).plan.steps for c in cells)
    most = max(counts) * training.steps
    step_rows = len(cells) * sum(counts) * training.steps
    return Estimate(
        points=points,
        other_s=_START_AND_REPORT_S
        + _PREPARED_S * prepared * runs
        + _TRACED_S * traced_rows
        + _RECORD_S * min(step_rows, 2_000_000),
        processors=processors,
        memory_bytes=_IDLE_BYTES
        + most * (_KEPT_BYTES * runs + _RUN_BYTES * min(runs, processors))
        + _TRACED_BYTES * traced_rows,
        disk_bytes=_FOLDER_BYTES
        + _STEP_ROW_BYTES * min(step_rows, 2_000_000)
        + _TRACED_ROW_BYTES * traced_rows,
    )


def run_s(cell: TrainingCell, workers: int) -> float:
    """Processor time of one run of so many workers."""
    return _points(cell, [workers], 1)[-1].run_s


def _points(cell: TrainingCell, counts: Sequence[int], runs: int) -> list[PointCost]:
    ahead = Ahead.of(cell, counts[-1])
    fast = not (cell.why_generic(counts[-1]) or ahead.under.why_generic)
    work = step_work(cell, ahead.network, fast=fast)
    first = not cell.why_generic(1)
    alone = step_work(cell, ahead.network, fast=first) if first != fast else work
    alone_too = bool(cell.scenario.straggler) or cell.scenario.coordination is not None
    reference = [] if 1 in counts and not alone_too else [_point(cell, 1, runs, alone, 1)]
    tries = _tries(cell, ahead)
    return reference + [_point(cell, workers, runs, work, tries) for workers in counts]


def _point(cell: TrainingCell, workers: int, runs: int, work: StepWork, tries: int) -> PointCost:
    steps = cell.scenario.training.steps
    each_s = step_s(work, workers) + _RECORD_S
    run_s = tries * (_WORKER_S * workers + each_s * workers * steps)
    return PointCost(
        cell=cell.name,
        change=cell.change,
        workers=workers,
        runs=runs,
        run_s=run_s,
        fast=work.fast,
    )


def _tries(cell: TrainingCell, ahead: Ahead) -> int:
    """How often a run is made: twice where slow-downs were drawn for too short a time."""
    if ahead.under.drawn_until_ns == math.inf:
        return 1
    plan = cell.plans(0).plan
    longest_ns = float(plan.duration_ns.sum(axis=1).max())
    return 2 if step_ns(plan, ahead.network) > 2 * longest_ns else 1


def step_work(cell: TrainingCell, network: Network, *, fast: bool) -> StepWork:
    """What a step of a cell is made of, on the fast path or on the generic engine."""
    plan = cell.plans(0).fused
    gathers = disciplines.traits(cell.sending.discipline).gathers
    ups = [i for i, channel in enumerate(plan.channels) if channel.direction == UP]
    return StepWork(
        operations=plan.operations,
        pushes=int(np.isin(plan.place, ups).sum()),
        chunks=chunks_of_step(plan, network, cell.sending),
        connections=len(plan.channels),
        fast=fast,
        how=("gathered" if gathers else "asked") if asks_discipline(cell.sending) else "direct",
        clocked=bool(load_share(network.share).CLOCKED),
    )


def step_s(work: StepWork, workers: int) -> float:
    """Processor time of one step of one of so many workers."""
    levels = math.log2(workers)
    if work.fast:
        return (
            _FAST_OPERATION_S * work.operations
            + _FAST_CHUNK_S[work.how] * work.chunks
            + _FAST_LEVEL_S * levels
            + _CROWD_S * max(0, workers - _CROWD)
        )
    events = work.operations + work.chunks
    alone = _GENERIC_S["operation"] * work.operations + _GENERIC_S["chunk"] * work.chunks
    shared = 0.0
    if not work.clocked:
        changes = 2 * work.connections + _CHANGES_A_PUSH * work.pushes
        shared = _RATED_S * changes * work.connections / 2 * workers
    return alone + _GENERIC_S["level"] * levels * events + shared


def step_ns(plan: StepPlan, network: Network) -> float:
    """Length of a step of each of the network's workers, about.

    That is its work and its transfers one after the other, or what the busiest port needs for all.
    """
    workers = len(network.worker_bps)
    moved = np.zeros((2, plan.servers))
    for place, channel in enumerate(plan.channels):
        direction = 0 if channel.direction == DOWN else 1
        moved[direction, channel.server] += plan.size_bytes[plan.place == place].sum()
    busiest_ns = float((8e9 * moved / network.server_bps).max())
    slowest_bps = float(min(network.worker_bps.min(), network.server_bps.min()))
    alone_ns = float(plan.duration_ns.sum(axis=1).max()) + 8e9 * float(moved.sum()) / slowest_bps
    return max(alone_ns, workers * busiest_ns / network.both_busy)


def chunks_of_step(plan: StepPlan, network: Network, sending: Sending) -> float:
    """Chunks of a step's messages, if a connection has the link to itself and all at once.

    The discipline is asked for the first some thousand of them, at a rate that differs from
    the link's by at most 3 %: near enough for an estimate, and what many cells have in common.
    """
    return sum(
        _chunks(tuple(plan.size_bytes[plan.place == place].tolist()), near_bps, sending)
        for place, channel in enumerate(plan.channels)
        for near_bps in [_near(network.server_bps[channel.server])]
    )


def _near(rate_bps: float) -> float:
    return math.exp2(round(12 * math.log2(rate_bps)) / 12)


@functools.lru_cache(maxsize=1024)
def _chunks(sizes: tuple[int, ...], rate_bps: float, sending: Sending) -> float:
    if not sizes:
        return 0.0
    names = disciplines.load(sending.discipline).OPTIONS
    machine = Machine(
        sending.discipline,
        options=dict(zip(names, sending.options, strict=True)),
        initial_window=sending.window_bytes or UNLIMITED_BYTES,
        connection_window=sending.connection_window_bytes or UNLIMITED_BYTES,
    )
    for i, size in enumerate(sizes):
        machine.enqueue(2 * i + 1, size, 0)
    total = sum(sizes)
    sent = count = now_ns = 0
    while sent < total and count < _MOST_CHUNKS:
        machine.prepare(now_ns)
        stream, size = machine.next(sending.chunk_bytes, now_ns)
        if size == 0:
            break
        sent, count = sent + size, count + 1
        now_ns += round(8e9 * size / rate_bps)
        machine.sent(stream, size, now_ns)
        machine.credit(0, size, now_ns)
        machine.credit(stream, size, now_ns)
    return count * total / max(1, sent)
