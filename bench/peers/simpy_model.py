"""A job simulated with SimPy: ``python simpy_model.py JOB [--ends]`` prints JSON.

Runs in an environment of its own, and hence uses nothing of this project. Connections, links,
processors and workers are processes; what waits for them is in stores. A link's process sleeps
until the next chunk ends, and is interrupted when somebody joins or leaves.
"""

import heapq
import json
import sys
import time
from collections.abc import Callable, Generator, Iterator
from itertools import count
from pathlib import Path
from typing import Any, NamedTuple

import simpy  # type: ignore[import-not-found]  # in this program's own environment only

Process = Generator[Any, Any, None]


class Operation(NamedTuple):
    """One operation of a step."""

    place: int
    size_bytes: int
    waits: int
    followers: list[int]


class Job(NamedTuple):
    """A job as read from its file; see `bench/peers/job.py`."""

    rate_bps: list[float]
    draws: list[list[int]]
    factors: list[list[float]]
    two_visit: bool
    window_bytes: float
    channels: list[tuple[int, int]]
    processors: list[tuple[bool, int]]
    operations: list[Operation]
    sources: list[list[int]]
    duration_ns: list[list[float]]


class Stream(NamedTuple):
    """A transfer that waits for its connection."""

    operation: int
    left_bytes: int
    visited: bool


def read_job(path: Path) -> Job:
    """Read a job's text."""
    words = iter(path.read_text(encoding="ascii").split())
    (version,) = _heads(words, "job")
    if version != 1:
        raise SystemExit(f"{path}: job {version}: must be 1")
    (servers,) = _heads(words, "servers")
    rates = [float(next(words)) for _ in range(servers)]
    (workers,) = _heads(words, "workers")
    (steps,) = _heads(words, "steps")
    draws = [_ints(words, steps) for _ in range(workers)]
    (factors,) = _heads(words, "factors")
    factor = [[float(next(words)) for _ in range(factors)] for _ in range(workers)]
    _skip(words, "sending")
    rule, window = next(words), int(next(words))
    (channels,) = _heads(words, "channels")
    channel = [(int(next(words)), int(next(words))) for _ in range(channels)]
    (processors,) = _heads(words, "processors")
    processor = [(bool(a), c) for a, _, c in (_ints(words, 3) for _ in range(processors))]
    (operations,) = _heads(words, "operations")
    operation = [_operation(words) for _ in range(operations)]
    recorded, sources = _heads(words, "recorded", 2)
    source, durations = [], []
    for _ in range(recorded):
        source.append(_ints(words, sources))
        durations.append([float(next(words)) for _ in range(operations)])
    bound = float("inf") if window < 0 else window
    two_visit = rule == "two_visit"
    return Job(
        rates, draws, factor, two_visit, bound, channel, processor, operation, source, durations
    )


def _skip(words: Iterator[str], name: str) -> None:
    found = next(words, "the end")
    if found != name:
        raise SystemExit(f"job: {found}: must be {name}")


def _heads(words: Iterator[str], name: str, numbers: int = 1) -> list[int]:
    _skip(words, name)
    return _ints(words, numbers)


def _ints(words: Iterator[str], numbers: int) -> list[int]:
    return [int(next(words)) for _ in range(numbers)]


def _operation(words: Iterator[str]) -> Operation:
    place, size_bytes, waits, followers = _ints(words, 4)
    return Operation(place, size_bytes, waits, _ints(words, followers))


class Link:
    """A link shared by all connections that have a chunk: each gets 1/n.

    Its clock counts what one member alone would have been served, in ns at full rate.
    """

    def __init__(self, env: Any, rate_bps: float) -> None:
        self.env = env
        self.ns_per_byte = 8e9 / rate_bps
        self.members = 0
        self.clock = self.since = 0.0
        self.ends: list[tuple[float, int, Any]] = []
        self.number = count()
        self.disturbed = False
        self.process = env.process(self.serve())

    def send(self, size_bytes: int, *, joins: bool) -> Any:
        """Put a chunk on the link; return the event that it has been sent."""
        self.settle()
        self.members += joins
        sent = self.env.event()
        chunk = (self.clock + size_bytes * self.ns_per_byte, next(self.number), sent)
        heapq.heappush(self.ends, chunk)
        if joins or self.ends[0] is chunk:
            self.disturb()
        return sent

    def leave(self) -> None:
        """Remove one member."""
        self.settle()
        self.members -= 1
        if self.ends:
            self.disturb()

    def settle(self) -> None:
        """Bring the clock up to now."""
        now = self.env.now
        if self.members:
            self.clock += (now - self.since) / self.members
        self.since = now

    def disturb(self) -> None:
        """Interrupt the link's process, so that it looks again."""
        if not self.disturbed:
            self.disturbed = True
            self.process.interrupt()

    def serve(self) -> Process:
        """End one chunk after the other."""
        while True:
            try:
                if self.ends:
                    left_ns = (self.ends[0][0] - self.clock) * self.members
                    yield self.env.timeout(max(0.0, self.since + left_ns - self.env.now))
                    self.settle()
                    heapq.heappop(self.ends)[2].succeed()
                else:
                    yield self.env.event()
            except simpy.Interrupt:
                self.disturbed = False


class Worker:
    """A worker goes through its steps; `places` are the stores of its channels and processors."""

    def __init__(self, env: Any, job: Job, links: list[Link], number: int) -> None:
        self.env = env
        self.job = job
        self.draws = job.draws[number]
        self.factors = job.factors[number]
        self.duration_ns: list[float] = []
        self.factor = 1.0
        self.waits: list[int] = []
        self.left = 0
        self.ended = env.event()
        self.ends_ns: list[float] = []
        self.channels = len(job.channels)
        places = self.channels + len(job.processors)
        self.places = [simpy.Store(env) for _ in range(places)]
        for place, (server, direction) in enumerate(job.channels):
            link = links[2 * server + direction]
            window = job.window_bytes if job.two_visit else float("inf")
            env.process(connection(env, link, window, self.places[place], self.finish))
        for place, (at_worker, capacity) in enumerate(job.processors, self.channels):
            for _ in range(capacity):
                env.process(self.processor(self.places[place], at_worker))

    def run(self) -> Process:
        """Run step after step."""
        for number, recorded in enumerate(self.draws):
            self.duration_ns = self.job.duration_ns[recorded]
            self.factor = self.factors[number if len(self.factors) > 1 else 0]
            self.waits = [operation.waits for operation in self.job.operations]
            self.left = len(self.waits)
            self.ended = self.env.event()
            for operation in self.job.sources[recorded]:
                self.hand_over(operation)
            yield self.ended
            self.ends_ns.append(self.env.now)

    def hand_over(self, operation: int) -> None:
        """Hand over an operation that waits for nothing any more."""
        about = self.job.operations[operation]
        if about.place < self.channels:
            self.places[about.place].put(Stream(operation, about.size_bytes, False))
        else:
            self.places[about.place].put(operation)

    def finish(self, operation: int) -> None:
        """End an operation, and hand over those that waited for it last."""
        for follower in self.job.operations[operation].followers:
            self.waits[follower] -= 1
            if self.waits[follower] == 0:
                self.hand_over(follower)
        self.left -= 1
        if self.left == 0:
            self.ended.succeed()

    def processor(self, queue: Any, at_worker: bool) -> Process:
        """Serve one place of a processor."""
        while True:
            operation = yield queue.get()
            factor = self.factor if at_worker else 1.0
            yield self.env.timeout(self.duration_ns[operation] * factor)
            self.finish(operation)


def connection(
    env: Any, link: Link, window_bytes: float, queue: Any, finish: Callable[[int], None]
) -> Process:
    """Serve streams in turn: at most a window on the first visit, the rest on the second."""
    member = False
    while True:
        if member and not queue.items:
            link.leave()
            member = False
        stream = yield queue.get()
        size_bytes = stream.left_bytes
        if not stream.visited and size_bytes > window_bytes:
            size_bytes = int(window_bytes)
            queue.put(Stream(stream.operation, stream.left_bytes - size_bytes, True))
        sent = link.send(size_bytes, joins=not member)
        member = True
        yield sent
        if size_bytes == stream.left_bytes:
            finish(stream.operation)


def main(arguments: list[str]) -> None:
    """Simulate a job and print its results."""
    if not arguments:
        raise SystemExit("usage: simpy_model.py JOB [--ends]")
    try:
        job = read_job(Path(arguments[0]))
    except (OSError, StopIteration, ValueError) as problem:
        raise SystemExit(f"{arguments[0]}: can't be read as a job: {problem!r}") from None
    env = simpy.Environment()
    links = [Link(env, rate) for rate in job.rate_bps for _ in range(2)]
    workers = [Worker(env, job, links, number) for number in range(len(job.draws))]
    ended = env.all_of([env.process(worker.run()) for worker in workers])
    begin = time.perf_counter()
    env.run(until=ended)
    wall_s = time.perf_counter() - begin
    ends_ns = [worker.ends_ns for worker in workers]
    said: dict[str, Any] = {"release": simpy.__version__, "wall_s": wall_s}
    said["steps"] = sum(len(ends) for ends in ends_ns)
    if "--ends" in arguments:
        said["ends_ns"] = ends_ns
    print(json.dumps(said))


if __name__ == "__main__":
    main(sys.argv[1:])
