"""A worker's and a server's part in a job: the step executor, driven by calls and by time."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

from emu.remote.endpoint_common import emit
from netcosim.training.call_path import GRADIENT, PULL, parse_path, path_of
from netcosim.training.executor import (
    Acknowledgement,
    Answer,
    Done,
    Ended,
    Over,
    Push,
    Request,
    Server,
    Worker,
)
from netcosim.training.job import TrainingJob
from netcosim.training.plan import DOWN, UP

REQUESTED, DELIVERED, HANDED, ASKED = "requested", "delivered", "handed", "asked"
READY, BEGUN, ENDED = "ready", "begun", "ended"
BATCH = "batch"
"""Examples of a step, told by its coordinator, in place of a time."""


Row = tuple[str, int, int, int, int]
"""Kind, worker, step, operation, ns since the job's start."""


class Calls(Protocol):
    """Calls of one connection."""

    def ask(self, path: str) -> None:
        """Ask for a tensor."""

    def answer(self, path: str, priority: int) -> None:
        """Hand a tensor over that was asked for."""

    def push(self, path: str, priority: int) -> None:
        """Hand a tensor over by a call of one's own."""

    def acknowledge(self, path: str) -> None:
        """Answer a call that has brought a tensor, with nothing."""


class Told(Protocol):
    """Listener to a node's connections, told of each event by its call's path."""

    def asked(self, path: str) -> None:
        """A peer asks for a tensor."""

    def delivered(self, path: str) -> None:
        """A tensor has come."""

    def acknowledged(self, path: str) -> None:
        """A peer has answered the call that brought it a tensor."""


class Log:
    """Log of a node's events, taken in parts.

    Attributes
    ----------
    step_over : a worker's step has ended since the last part was taken
    """

    def __init__(self) -> None:
        self._rows: list[Row] = []
        self.step_over = False

    def note(self, kind: str, worker: int, step: int, operation: int, at_ns: float) -> None:
        """Note what happened."""
        self._rows.append((kind, worker, step, operation, round(at_ns)))

    def take(self) -> list[Row]:
        """Rows that were noted and not taken yet."""
        taken, self._rows = self._rows, []
        self.step_over = False
        return taken

    def computed(self, worker: int, step: int, ended: Ended[int]) -> None:
        """Note a computation."""
        times = ((READY, ended.ready_ns), (BEGUN, ended.begin_ns), (ENDED, ended.end_ns))
        for kind, at_ns in times:
            self.note(kind, worker, step, ended.what, at_ns)


class InOrder:
    """Hands tensors over in their order as soon as they have been asked for, by a counter.

    An answer that is asked for late holds up those behind it, as a counter at the sender does
    (TicTac, section 5.1).
    """

    def __init__(self, calls: Calls, told: Callable[[str], None]) -> None:
        self._calls = calls
        self._told = told
        self._asked: set[str] = set()
        self._line: list[tuple[str, int]] = []

    def asked(self, path: str) -> None:
        """Note a call that has come."""
        self._asked.add(path)
        self._go_on()

    def hand_over(self, path: str, priority: int) -> None:
        """Hand a tensor over, behind those before it."""
        self._line.append((path, priority))
        self._go_on()

    def _go_on(self) -> None:
        done = 0
        for path, priority in self._line:
            if path not in self._asked:
                break
            self._asked.remove(path)
            self._told(path)
            self._calls.answer(path, priority)
            done += 1
        del self._line[:done]


class WorkerRole:
    """Worker of a job; times are ns since the job's start.

    Parameters
    ----------
    pulls, gradients : by server, the connection over which it pulls, and that of its gradients
    ended : told of the worker and the time when its own part of a step is over; then each step but
        the first begins when `begin_step` says so
    """

    def __init__(
        self,
        job: TrainingJob,
        number: int,
        pulls: Mapping[int, Calls],
        gradients: Mapping[int, Calls],
        now: Callable[[], float],
        ended: Callable[[int, int], None] | None = None,
    ) -> None:
        job = job if ended is None else job.with_factors_apart()
        self._job, self._number, self._now, self._ended = job, number, now, ended
        self._worker = Worker(job, number, coordinated=ended is not None)
        self._pulls = pulls
        self._gradients = gradients
        self._senders = {s: InOrder(calls, self._handed) for s, calls in gradients.items()}
        self.log = Log()

    @property
    def next_ns(self) -> float:
        """Time of the next computation's end; infinite if none runs."""
        return self._worker.next_ns

    def take_rows(self) -> list[Row]:
        """Rows of the log since this was asked last, computations among them."""
        for step, ended in self._worker.computed:
            self.log.computed(self._number, step, ended)
        self._worker.computed.clear()
        return self.log.take()

    def begin(self) -> None:
        """Begin the first step."""
        self._take(self._worker.begin(self._now()))

    def begin_step(self, step: int, factor: float) -> None:
        """Begin a step, whose computations take longer by a factor."""
        self._job.draws.factor[self._number, step] *= factor
        if step > 0:
            self._take(self._worker.begin_step(step, self._now()))

    def advance(self) -> None:
        """Do what is due."""
        self._take(self._worker.advance(self._now()))

    def delivered(self, path: str) -> None:
        """A parameter has come."""
        _, _, step, op = parse_path(path)
        now_ns = self._now()
        self._take(self._worker.advance(now_ns))
        self.log.note(DELIVERED, self._number, step, op, now_ns)
        self._take(self._worker.delivered(op, now_ns))

    def acknowledged(self, path: str) -> None:
        """A server has a gradient."""
        _, _, _, op = parse_path(path)
        now_ns = self._now()
        self._take(self._worker.advance(now_ns))
        self._take(self._worker.acknowledged(op, now_ns))

    def asked(self, path: str) -> None:
        """A server asks for a gradient."""
        _, _, _, op = parse_path(path)
        self._senders[self._server(op)].asked(path)

    def _take(self, out: Sequence[Done | Over | Push | Request]) -> None:
        for each in out:
            if isinstance(each, Push):
                self._hand_over(path_of(GRADIENT, self._number, each.step, each.operation))
            elif isinstance(each, Done):
                assert self._ended is not None
                self._ended(self._number, round(each.time_ns))
            elif isinstance(each, Request):
                self._request(each.step)
            else:
                self._step_ends(self._job.steps)

    def _hand_over(self, path: str) -> None:
        _, _, _, op = parse_path(path)
        server, priority = self._server(op), int(self._job.plan.priority[op])
        if self._job.pushed:
            self._handed(path)
            self._gradients[server].push(path, priority)
        else:
            self._senders[server].hand_over(path, priority)

    def _request(self, step: int) -> None:
        self._step_ends(step)
        recorded = self._job.recorded_step(self._number, step)
        for op in self._job.plan.sources[recorded].tolist():
            if _direction(self._job, op) == DOWN:
                self._pulls[self._server(op)].ask(path_of(PULL, self._number, step, op))

    def _step_ends(self, next_step: int) -> None:
        """Note that the next step is requested, or would be."""
        self.log.note(REQUESTED, self._number, next_step, -1, self._now())
        self.log.step_over |= next_step > 0

    def _handed(self, path: str) -> None:
        _, _, step, op = parse_path(path)
        self.log.note(HANDED, self._number, step, op, self._now())

    def _server(self, op: int) -> int:
        return self._job.plan.channels[int(self._job.plan.place[op])].server


class ServerRole:
    """Server of a job; times are ns since the job's start.

    Parameters
    ----------
    pulls, gradients : by worker, the connection over which it answers, and that of its gradients
    ended : told of the worker and the time when all of a step's gradients are here and used
    """

    def __init__(
        self,
        job: TrainingJob,
        number: int,
        pulls: Mapping[int, Calls],
        gradients: Mapping[int, Calls],
        now: Callable[[], float],
        ended: Callable[[int, int], None] | None = None,
    ) -> None:
        self._job, self._now, self._ended = job, now, ended
        self._server = Server(job, number)
        self._senders = {w: InOrder(calls, self._handed) for w, calls in pulls.items()}
        self._gradients = gradients
        self._pushes = [
            op
            for op in range(job.plan.operations)
            if _direction(job, op) == UP
            and job.plan.channels[int(job.plan.place[op])].server == number
        ]
        self._steps = [-1] * job.workers
        self.log = Log()

    @property
    def next_ns(self) -> float:
        """Time of the next computation's end; infinite if none runs."""
        return self._server.next_ns

    @property
    def over(self) -> bool:
        """True if all gradients of all steps have come, and their updates are made."""
        return self._server.over

    def take_rows(self) -> list[Row]:
        """Rows of the log since this was asked last, computations among them."""
        for worker, step, ended in self._server.computed:
            self.log.computed(worker, step, ended)
        self._server.computed.clear()
        return self.log.take()

    def begin(self) -> None:
        """Wait for requests."""

    def begin_step(self, step: int, factor: float) -> None:
        """Refuse: a server has no steps of its own."""
        raise ValueError(f"step {step}: a server begins none")

    def advance(self) -> None:
        """Do what is due."""
        self._take(self._server.advance(self._now()))

    def asked(self, path: str) -> None:
        """A worker asks for a parameter; with a step's first one its gradients are asked for.

        Gradients that are pushed are asked for by nobody.
        """
        _, worker, step, op = parse_path(path)
        now_ns = self._now()
        self._take(self._server.advance(now_ns))
        self.log.note(ASKED, worker, step, op, now_ns)
        self._senders[worker].asked(path)
        if step > self._steps[worker]:
            self._steps[worker] = step
            self.log.step_over |= step > 0
            self._take(self._server.requested(worker, step, now_ns))
            for push in () if self._job.pushed else self._pushes:
                self._gradients[worker].ask(path_of(GRADIENT, worker, step, push))

    def delivered(self, path: str) -> None:
        """A gradient has come."""
        _, worker, step, op = parse_path(path)
        now_ns = self._now()
        self._take(self._server.advance(now_ns))
        self.log.note(DELIVERED, worker, step, op, now_ns)
        self._take(self._server.delivered(worker, op, now_ns))

    def acknowledged(self, path: str) -> None:
        """Refuse: a server pushes nothing."""
        raise ValueError(f"{path} was never pushed")

    def _take(self, out: Sequence[Answer | Acknowledgement]) -> None:
        if self._ended is not None:
            for worker, _, at_ns in self._server.ended:
                self._ended(worker, round(at_ns))
        self._server.ended.clear()
        for each in out:
            if isinstance(each, Acknowledgement):
                path = path_of(GRADIENT, each.worker, each.step, each.operation)
                self._gradients[each.worker].acknowledge(path)
                continue
            path = path_of(PULL, each.worker, each.step, each.operation)
            priority = int(self._job.plan.priority[each.operation])
            self._senders[each.worker].hand_over(path, priority)

    def _handed(self, path: str) -> None:
        _, worker, step, op = parse_path(path)
        self.log.note(HANDED, worker, step, op, self._now())


def role_of(
    job: TrainingJob,
    config: Mapping[str, Any],
    pulls: Mapping[int, Calls],
    gradients: Mapping[int, Calls],
    now: Callable[[], float],
) -> WorkerRole | ServerRole:
    """Role of a node; of a coordinated job it tells the emulator of each part that is over."""
    role = WorkerRole if config["role"] == "worker" else ServerRole
    ended = _tell_ended if config["coordinated"] else None
    return role(job, config["number"], pulls, gradients, now, ended)


def _tell_ended(worker: int, at_ns: int) -> None:
    emit("ended", worker=worker, at_ns=at_ns)


def _direction(job: TrainingJob, op: int) -> int:
    """Direction of a transfer; -1 for a computation."""
    place = int(job.plan.place[op])
    return job.plan.channels[place].direction if place < len(job.plan.channels) else -1
