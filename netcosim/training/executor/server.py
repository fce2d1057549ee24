"""A server's side of all workers' steps, as a state machine without I/O."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

from netcosim.training.executor.joined import JoinedUpdates
from netcosim.training.executor.messages import messages_of
from netcosim.training.executor.part import HANDED_OVER, PartRun, server_part
from netcosim.training.executor.processors import Ended, Processors
from netcosim.training.job import TrainingJob


@dataclass(frozen=True, slots=True)
class Answer:
    """A parameter is handed over to a worker."""

    worker: int
    step: int
    operation: int
    time_ns: float


@dataclass(frozen=True, slots=True)
class Acknowledgement:
    """A worker is told that a gradient that it pushed has arrived."""

    worker: int
    step: int
    operation: int
    time_ns: float


Out = Answer | Acknowledgement


@dataclass(slots=True)
class _Client:
    """A worker's state at a server.

    Attributes
    ----------
    processors : its part of the server's
    done : number of steps of which all gradients are there, and their updates made
    requested : number of steps that it has requested
    version : of joined parameters, with which it was answered last
    run : the step that was answered last, until it is over
    """

    processors: Processors[int]
    done: int = 0
    requested: int = 0
    version: int = -1
    run: PartRun | None = None


class Server:
    """Server of a job: what it answers, by what was requested and delivered.

    Times never decrease from call to call.

    Parameters
    ----------
    job : all of it
    number : of the server

    Attributes
    ----------
    computed : what has been computed, with its worker and step; updates that are done once for all
        have the number behind all workers
    ended : worker, step and time of each part of a step that is over here
    """

    def __init__(self, job: TrainingJob, number: int) -> None:
        self._job = job
        self._part = server_part(job.plan, number)
        self._clients = [_Client(Processors(self._part.capacities)) for _ in range(job.workers)]
        self._joined = None if job.join is None else JoinedUpdates(job, number)
        self._arrives_with = (
            {m.ended_by: m.sent for m in messages_of(job.plan)} if job.pushed else {}
        )
        self._out: list[Out] = []
        self.computed: list[tuple[int, int, Ended[int]]] = []
        self.ended: list[tuple[int, int, float]] = []

    @property
    def next_ns(self) -> float:
        """Time of the next computation's end; infinite if none runs."""
        soonest_ns = min(client.processors.next_ns for client in self._clients)
        return soonest_ns if self._joined is None else min(soonest_ns, self._joined.next_ns)

    @property
    def over(self) -> bool:
        """True if all steps of all workers are over, or there is nothing to do here."""
        if not self._part.kind:
            return True
        if self._joined is not None:
            return self._joined.over
        return all(client.done == self._job.steps for client in self._clients)

    def requested(self, worker: int, step: int, now_ns: float) -> list[Out]:
        """A worker's request for a step has come; what is to be handed over at this time."""
        self._clients[worker].requested = step + 1
        self._answer_all(now_ns)
        return self._taken()

    def delivered(self, worker: int, operation: int, now_ns: float) -> list[Out]:
        """A gradient has arrived; what is to be handed over at this time.

        Ends of computations at the same time come afterwards, by `advance`.
        """
        self._over(worker, operation, now_ns)
        return self._taken()

    def advance(self, now_ns: float) -> list[Out]:
        """Compute up to and including a time; what is to be handed over, each at its own time."""
        while self.next_ns <= now_ns:
            client = min(self._clients, key=_next_ns)
            if client.processors.next_ns > self.next_ns:
                self._update_ends()
                continue
            ended = client.processors.end_next()
            worker = self._clients.index(client)
            assert client.run is not None
            self.computed.append((worker, client.run.step, ended))
            self._over(worker, ended.what, ended.end_ns)
        return self._taken()

    def _update_ends(self) -> None:
        assert self._joined is not None
        step, ended = self._joined.end_next()
        self.computed.append((self._job.workers, step, ended))
        self._answer_all(ended.end_ns)

    def _over(self, worker: int, operation: int, now_ns: float) -> None:
        client = self._clients[worker]
        assert client.run is not None
        if operation in self._arrives_with:
            sent = self._arrives_with[operation]
            self._out.append(Acknowledgement(worker, client.run.step, sent, now_ns))
        self._make_ready(worker, client.run, client.run.over_with(operation), now_ns)
        self._answer_all(now_ns)

    def _answer_all(self, now_ns: float) -> None:
        """Note whose step is over; answer who may go on, the lowest first."""
        for worker, client in enumerate(self._clients):
            if client.run is not None and client.run.over:
                self.ended.append((worker, client.run.step, now_ns))
                client.done = client.run.step + 1
                client.run = None
                if self._joined is not None:
                    step = client.done - 1
                    self._joined.gradients_arrive(worker, step, client.version, now_ns)
        for worker, client in enumerate(self._clients):
            if self._may_go_on(client):
                step = client.done
                if self._joined is not None:
                    client.version = self._joined.made
                run = PartRun(self._part, step, self._job.recorded_step(worker, step))
                client.run = run
                self._make_ready(worker, run, self._part.sources[run.recorded], now_ns)

    def _may_go_on(self, client: _Client) -> bool:
        if client.run is not None or client.requested <= client.done:
            return False
        if self._joined is not None:
            return self._joined.made > client.version and not self._joined.over
        bound = self._job.staleness
        slowest = min(each.done for each in self._clients)
        return bound is None or client.done - slowest <= bound

    def _make_ready(
        self, worker: int, run: PartRun, operations: Sequence[int], now_ns: float
    ) -> None:
        for op in operations:
            if self._part.kind[op] == HANDED_OVER:
                self._out.append(Answer(worker, run.step, op, now_ns))
                run.over_with(op)
            else:
                end_of = partial(self._job.end_of, op, worker, run.step)
                processors = self._clients[worker].processors
                processors.enter(self._part.processor[op], op, end_of, now_ns)

    def _taken(self) -> list[Out]:
        taken, self._out = self._out, []
        return taken


def _next_ns(client: _Client) -> float:
    return client.processors.next_ns
