"""The worker's side of its steps, as a state machine without I/O."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

from netcosim.training.executor.gating import Gates
from netcosim.training.executor.part import HANDED_OVER, PartRun, worker_part
from netcosim.training.executor.processors import Ended, Processors
from netcosim.training.job import TrainingJob


@dataclass(frozen=True, slots=True)
class Request:
    """The parameters of a step are requested, of all servers."""

    step: int
    time_ns: float


@dataclass(frozen=True, slots=True)
class Over:
    """The worker's own part of its last step is over."""

    time_ns: float


@dataclass(frozen=True, slots=True)
class Done:
    """The worker's own part of a step is over; a coordinator says when it begins the next one."""

    step: int
    time_ns: float


@dataclass(frozen=True, slots=True)
class Push:
    """A gradient is handed over."""

    step: int
    operation: int
    time_ns: float


Out = Request | Push | Over | Done


class Worker:
    """Worker of a job: what it requests and pushes, by what was delivered.

    Times never decrease from call to call.

    Parameters
    ----------
    job : all of it
    number : of the worker
    coordinated : whether it begins each step when `begin_step` says so

    Attributes
    ----------
    computed : what has been computed, with its step
    """

    def __init__(self, job: TrainingJob, number: int, *, coordinated: bool = False) -> None:
        self._coordinated = coordinated
        self._job = job
        self._number = number
        self._part = worker_part(job.plan)
        self._processors: Processors[int] = Processors(self._part.capacities)
        self._gates = Gates(job, number)
        self._run: PartRun | None = None
        self._out: list[Out] = []
        self.computed: list[tuple[int, Ended[int]]] = []

    @property
    def next_ns(self) -> float:
        """Time of the next computation's end; infinite if none runs."""
        return self._processors.next_ns

    def begin(self, now_ns: float) -> list[Out]:
        """Begin the first step."""
        self._begin(0, now_ns)
        self._go_on(now_ns)
        return self._taken()

    def begin_step(self, step: int, now_ns: float) -> list[Out]:
        """Begin a step, where a coordinator says so."""
        self._begin(step, now_ns)
        self._go_on(now_ns)
        return self._taken()

    def advance(self, now_ns: float) -> list[Out]:
        """Compute up to and including a time; what is to be handed over, each at its own time."""
        while self._processors.next_ns <= now_ns:
            ended = self._processors.end_next()
            assert self._run is not None
            self.computed.append((self._run.step, ended))
            self._over(ended.what, ended.end_ns)
        return self._taken()

    def delivered(self, operation: int, now_ns: float) -> list[Out]:
        """A parameter has arrived; what is to be handed over at this time.

        Ends of computations at the same time come afterwards, by `advance`.
        """
        self._over(operation, now_ns)
        return self._taken()

    def acknowledged(self, operation: int, now_ns: float) -> list[Out]:
        """A gradient is known to have arrived; what is to be handed over at this time."""
        self._gates.arrived(operation, now_ns)
        self._go_on(now_ns)
        return self._taken()

    def _begin(self, step: int, now_ns: float) -> None:
        if step == self._job.steps:
            self._run = None
            self._out.append(Over(now_ns))
            return
        recorded = self._job.recorded_step(self._number, step)
        self._run = PartRun(self._part, step, recorded)
        self._out.append(Request(step, now_ns))
        self._make_ready(self._part.sources[recorded], now_ns)

    def _over(self, operation: int, now_ns: float) -> None:
        assert self._run is not None
        self._make_ready(self._run.over_with(operation), now_ns)
        self._go_on(now_ns)

    def _go_on(self, now_ns: float) -> None:
        """Start what gates let through; begin the next step where this one is over."""
        while True:
            for op in self._gates.let_through(now_ns):
                self._start(op, now_ns)
            if self._run is None or not self._run.over:
                return
            step, self._run = self._run.step, None
            if self._coordinated:
                self._out.append(Done(step, now_ns))
                if step + 1 < self._job.steps:
                    return
            self._begin(step + 1, now_ns)

    def _make_ready(self, operations: Sequence[int], now_ns: float) -> None:
        for op in operations:
            if self._gates.hold(op):
                self._gates.enter(op, now_ns)
            else:
                self._start(op, now_ns)

    def _start(self, op: int, now_ns: float) -> None:
        run = self._run
        assert run is not None
        if self._part.kind[op] == HANDED_OVER:
            self._out.append(Push(run.step, op, now_ns))
            run.over_with(op)
        else:
            end_of = partial(self._job.end_of, op, self._number, run.step)
            self._processors.enter(self._part.processor[op], op, end_of, now_ns)

    def _taken(self) -> list[Out]:
        taken, self._out = self._out, []
        return taken
