"""The generic engine: a simulation that can be stopped, inspected, changed and continued."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import Any

import numpy as np

from h2model import disciplines
from netcosim.training.plan import Draws, StepPlan
from netcosim.training.speed import SpeedTrace
from sim.engine.base import BaseEngine, joined_parts
from sim.engine.control import DEFAULT, Control
from sim.engine.gates import gate_rates
from sim.engine.net_arrays import make_net
from sim.engine.parts import check_parts
from sim.engine.run_state import make_run
from sim.engine.step_arrays import make_step
from sim.kernels import arrays, changes
from sim.kernels.arrays import Floats, Ints
from sim.kernels.compiled import compile_engine, interpret
from sim.kernels.connections import scheduler
from sim.kernels.gates import empty
from sim.kernels.loop import advance
from sim.plan import Calls, Network, Sending

_ROWS = 1 << 16


def needs_extended(plan: StepPlan, sending: Sending, control: Control) -> bool:
    """True if a job needs the engine with joined gradients, shared processors, buffers, parts."""
    shared = any(p.shared for p in plan.processors)
    buffered = sending.buffer_bytes > 0
    return control.join is not None or shared or buffered or control.in_parts


class Stop(IntEnum):
    """Reason for which `Engine.run` returned."""

    TIME = arrays.TIME
    IDLE = arrays.IDLE
    BOUNDARY = arrays.BOUNDARY
    LAST = arrays.LAST


@dataclass(frozen=True, slots=True, kw_only=True)
class Operations:
    """Operations in the order in which they ended; times are (operations,) floats of ns.

    `start_ns` is when the first chunk began, or the computation.
    """

    worker: Ints
    step: Ints
    operation: Ints
    ready_ns: Floats
    start_ns: Floats
    end_ns: Floats


@dataclass(frozen=True, slots=True, kw_only=True)
class Chunks:
    """Uninterrupted services of streams, in the order in which they ended."""

    worker: Ints
    step: Ints
    operation: Ints
    size_bytes: Ints
    start_ns: Floats
    end_ns: Floats


class Engine(BaseEngine):
    """Generic discrete-event engine, for jobs of any shape.

    Parameters
    ----------
    plan, network, sending, draws
        The job; see `netcosim.training.plan` and `sim.plan`. Arrays are used as they are, not
        copied.
    control
        Synchronisation, stop conditions, what to keep.
    speeds
        Each worker's speed over time; None: always 1.
    absent
        Workers that do not take part from the start.
    calls
        What requests take of links; None: nothing. Only where each node goes on by its own state.
    compiled
        False: the same source as plain Python, some thousand times slower.
    """

    def __init__(
        self,
        plan: StepPlan,
        network: Network,
        sending: Sending,
        draws: Draws,
        control: Control = DEFAULT,
        *,
        speeds: Sequence[SpeedTrace | None] | None = None,
        absent: Sequence[int] = (),
        calls: Calls | None = None,
        compiled: bool = True,
    ) -> None:
        workers, steps = draws.step.shape
        if control.in_parts:
            check_parts(plan, control, absent)
        elif calls is not None:
            raise ValueError("calls: only where each node goes on by its own state")
        self.plan = plan
        self._bound = (sending.discipline, network.share)
        self._schedule = sending.schedule if plan.gates else None
        self._extended = needs_extended(plan, sending, control) or network.bucket_bytes > 0
        self._joins = control.join is not None
        self._in_parts = control.in_parts
        self._advance = (
            compile_engine(*self._bound, extended=self._extended, schedule=self._schedule)
            if compiled
            else self._interpreted(advance)
        )
        self._step = make_step(plan, workers, calls)
        self._net = make_net(
            network, sending, draws, control, speeds or [None] * workers, gate_rates(plan, network)
        )
        self._run = make_run(self._step, self._net, sending, steps, _ROWS)
        self._rule = disciplines.load(sending.discipline)
        self._keep_workers = workers if control.keep_workers is None else control.keep_workers
        self._steps: list[tuple[Ints, Floats]] = []
        self._rows: list[tuple[Ints, Floats]] = []
        self._chunks: list[tuple[Ints, Floats]] = []
        for connection in range(len(self._run.chunk_slot)):
            self._rule.start(scheduler(self._net, self._run, connection))
        for gate in range(len(self._run.gate_noted)):
            self._interpreted(empty)(self._step, self._net, self._run, gate)
        taking_part = [w for w in range(workers) if w not in absent]
        self._run.presence[taking_part] = arrays.PRESENT
        self._run.scalar[arrays.AT_SLOWEST] = len(taking_part)
        self._run.scalar[arrays.NEEDED] = min(len(taking_part), int(self._net.flag[arrays.FIRST]))
        self.begin(taking_part)

    def run(self, until_ns: float = math.inf) -> Stop:
        """Simulate until this time (inclusive), a stop condition, or the last event."""
        while True:
            why = self._advance(self._step, self._net, self._run, float(until_ns))
            self._drain()
            if why in (arrays.TIME, arrays.IDLE) and until_ns < math.inf:
                self._run.clock[0] = max(until_ns, self._run.clock[0])
            if why != arrays.FULL:
                return Stop(why)

    def leave(self, worker: int) -> None:
        """Remove a worker now; its unfinished step is lost, and nobody waits for it any more."""
        self._change(changes.depart, worker, arrays.ABSENT)
        self._begin_all()

    def join(self, worker: int) -> None:
        """Let an absent worker begin its next step now, as far as `staleness` allows it."""
        self._change(changes.arrive, worker)
        self._begin_all()

    def restart(self, worker: int) -> None:
        """Drop the step that a worker is in the midst of; `begin` lets it begin that step again."""
        self._change(changes.depart, worker, arrays.PRESENT)

    def abandon(self, worker: int) -> None:
        """Drop the step that a worker is in the midst of; it counts as done, without a row.

        Nobody waits for it any more, and the worker begins its next step as `staleness` allows.

        Raises
        ------
        ValueError
            Gradients are joined: servers would wait for those of the step for ever.
        """
        if self._joins:
            raise ValueError("a step whose gradients are joined can't be abandoned; restart it")
        self._change(changes.abandon, worker)
        self._begin_all()

    def end_early(self, worker: int, operation: int) -> bool:
        """End an operation now, as if the rest of it had been done; what waits for it goes on.

        False if it is not ready, or has ended. A step that ends with it lets nobody begin.
        """
        return bool(self._change(changes.end_early, worker, operation))

    def remaining_ns(self, worker: int, operation: int) -> float | None:
        """Work left of a computation that runs now, in ns at full speed; None if it does not."""
        left = float(self._change(changes.remaining, worker, operation))
        return None if left < 0 else left

    def set_remaining(self, worker: int, operation: int, work_ns: float) -> bool:
        """Set the remaining work of a computation; one that has not begun will have it in all.

        False if the worker is not in the midst of a step.
        """
        return bool(self._change(changes.set_remaining, worker, operation, work_ns))

    def set_port(self, server: int, part: float) -> None:
        """Let a server's port carry this part of its own rate from now on, in both directions.

        Raises
        ------
        ValueError
            The part is not above 0, or the port's directions share its rate.
        """
        if not part > 0.0 or self._net.both_busy[0] != 1.0:
            allowed = "must be above 0, and both_busy 1, for a port's rate to change"
            raise ValueError(f"part: {part}, both_busy {self._net.both_busy[0]}: {allowed}")
        self._change(changes.set_port, server, part)

    def scale_worker_port(self, worker: int, part: float) -> None:
        """Let an idle worker's port carry this part of what it carries, in both directions.

        Raises
        ------
        ValueError
            The part is not above 0, or the worker is in the midst of a step.
        """
        if not part > 0.0 or self._run.presence[worker] == arrays.BUSY:
            raise ValueError(f"worker {worker}, part {part}: must be idle, and the part above 0")
        servers = int(self._step.sizes[arrays.K])
        self._net.capacity[:, servers + worker] *= part

    def _change(self, function: Callable[..., Any], *what: float) -> Any:
        if self._in_parts and function is not changes.set_port:
            raise ValueError("where each node goes on by its own state, steps can't be changed")
        return self._interpreted(function)(self._step, self._net, self._run, *what)

    def _begin_all(self) -> None:
        self.begin(range(len(self._run.done)))

    def operations(self) -> Operations:
        """The operations ended so far, where they are kept."""
        row, time = joined_parts(self._rows, 3, 3)
        return Operations(
            worker=row[:, 0],
            step=row[:, 1],
            operation=row[:, 2],
            ready_ns=time[:, 0],
            start_ns=time[:, 1],
            end_ns=time[:, 2],
        )

    def chunks(self) -> Chunks:
        """The chunks ended so far, where they are kept."""
        row, time = joined_parts(self._chunks, 4, 2)
        return Chunks(
            worker=row[:, 0],
            step=row[:, 1],
            operation=row[:, 2],
            size_bytes=row[:, 3],
            start_ns=time[:, 0],
            end_ns=time[:, 1],
        )

    def _interpreted(self, function: Callable[..., Any]) -> Callable[..., Any]:
        return interpret(function, *self._bound, extended=self._extended, schedule=self._schedule)

    def _weight(self, row: Ints) -> Floats:
        if not self._joins or self._in_parts:
            return super()._weight(row)
        return row[:, 2] / len(self._step.update)

    def _drain(self) -> None:
        """Move the rows of steps, operations and chunks out of the kernel's tables."""
        run = self._run
        everyone = len(run.done)
        for kept, count, row, time, kind, workers in (
            (self._steps, arrays.STEPS, run.step_row, run.step_time, np.int32, everyone),
            (self._rows, arrays.ROWS, run.row, run.row_time, np.int32, self._keep_workers),
            (self._chunks, arrays.CHUNKS, run.chunk, run.chunk_time, np.int64, self._keep_workers),
        ):
            used = int(run.scalar[count])
            if used:
                mine = (row[:used, 0] < workers) | (row[:used, 0] == everyone)
                kept.append((row[:used][mine].astype(kind), time[:used][mine]))
                run.scalar[count] = 0
