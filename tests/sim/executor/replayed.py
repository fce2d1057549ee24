"""Step executors driven by a link on which each transfer takes what it took in the simulator."""

import heapq
import itertools
from collections.abc import Callable
from typing import Any

import pytest

from netcosim.training.executor import Acknowledgement, Answer, Over, Push, Request, Server, Worker
from netcosim.training.job import TrainingJob
from sim.engine.engine import Operations

Key = tuple[int, int, int]
"""Worker, step, operation."""


class Replay:
    """Drives the executors of a job; a transfer ends when it did in the simulator.

    Attributes
    ----------
    handed_ns : when each transfer was handed over
    requested_ns : when each worker requested each step
    servers : state machines of the servers
    """

    def __init__(self, job: TrainingJob, seen: Operations, delay_ns: float = 0.0) -> None:
        self._ends = {
            (int(w), int(s), int(o)): float(end)
            for w, s, o, end in zip(
                seen.worker, seen.step, seen.operation, seen.end_ns, strict=True
            )
        }
        self._delay_ns = delay_ns
        self._job = job
        self._server_of = [
            job.plan.channels[place].server if place < len(job.plan.channels) else -1
            for place in job.plan.place.tolist()
        ]
        self._workers = [Worker(job, i) for i in range(job.workers)]
        self.servers = [Server(job, i) for i in range(job.plan.servers)]
        self._events: list[tuple[float, int, Callable[[float], Any]]] = []
        self._count = itertools.count()
        self.handed_ns: dict[Key, float] = {}
        self.requested_ns: dict[tuple[int, int], float] = {}

    def run(self) -> None:
        """Go on until nothing more happens."""
        for i, worker in enumerate(self._workers):
            self._take(i, worker.begin(0.0))
        while True:
            ends = [machine.next_ns for machine in (*self._workers, *self.servers)]
            computed_ns = min(ends)
            told_ns = self._events[0][0] if self._events else float("inf")
            if min(computed_ns, told_ns) == float("inf"):
                return
            if told_ns <= computed_ns:
                _, _, act = heapq.heappop(self._events)
                act(told_ns)
            else:
                self._compute(ends.index(computed_ns), computed_ns)

    def assert_handed_over_as(self, seen: Operations) -> None:
        """Hold the times of all hand-overs against the simulator's, to a nanosecond."""
        transfers = self._job.plan.place[seen.operation] < len(self._job.plan.channels)
        assert len(self.handed_ns) == transfers.sum() > 0
        for worker, step, op, ready_ns in zip(
            seen.worker[transfers],
            seen.step[transfers],
            seen.operation[transfers],
            seen.ready_ns[transfers],
            strict=True,
        ):
            assert self.handed_ns[worker, step, op] == pytest.approx(ready_ns, abs=1)

    def _compute(self, machine: int, now_ns: float) -> None:
        if machine < len(self._workers):
            self._take(machine, self._workers[machine].advance(now_ns))
        else:
            self._answer(self.servers[machine - len(self._workers)].advance(now_ns))

    def _take(self, worker: int, out: list[Over | Push | Request]) -> None:
        for each in out:
            if isinstance(each, Push):
                key = (worker, each.step, each.operation)
                server = self.servers[self._server_of[each.operation]]
                self._send(key, each.time_ns, self._gradient(server, worker, each.operation))
            elif isinstance(each, Request):
                self.requested_ns[worker, each.step] = each.time_ns
                for server in self.servers:
                    self._at(
                        each.time_ns + self._delay_ns, self._request(server, worker, each.step)
                    )

    def _answer(self, out: list[Answer | Acknowledgement]) -> None:
        for each in out:
            if isinstance(each, Acknowledgement):
                act = self._acknowledged(each.worker, each.operation)
                self._at(each.time_ns + self._delay_ns, act)
                continue
            key = (each.worker, each.step, each.operation)
            self._send(key, each.time_ns, self._parameter(each.worker, each.operation))

    def _send(self, key: Key, now_ns: float, act: Callable[[float], Any]) -> None:
        self.handed_ns[key] = now_ns
        if key in self._ends:  # else the simulator had stopped before
            self._at(self._ends[key], act)

    def _at(self, time_ns: float, act: Callable[[float], Any]) -> None:
        heapq.heappush(self._events, (time_ns, next(self._count), act))

    def _gradient(self, server: Server, worker: int, op: int) -> Callable[[float], Any]:
        return lambda now_ns: self._answer(server.delivered(worker, op, now_ns))

    def _acknowledged(self, worker: int, op: int) -> Callable[[float], Any]:
        return lambda now_ns: self._take(worker, self._workers[worker].acknowledged(op, now_ns))

    def _request(self, server: Server, worker: int, step: int) -> Callable[[float], Any]:
        return lambda now_ns: self._answer(server.requested(worker, step, now_ns))

    def _parameter(self, worker: int, op: int) -> Callable[[float], Any]:
        return lambda now_ns: self._take(worker, self._workers[worker].delivered(op, now_ns))
