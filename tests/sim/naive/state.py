"""State of the naive twin: jobs, connections, processors, and events to come."""

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

from tests.sim.naive.disciplines import Scheduler
from tests.sim.naive.shares import Key


@dataclass(eq=False)
class Job:
    """One operation of one step of one worker."""

    worker: int
    step: int
    operation: int
    waits_for: int
    ready_ns: float = -1.0
    start_ns: float = -1.0
    unsent_bytes: int = 0


@dataclass
class Chunk:
    """Bytes of a stream that are on the link."""

    stream: int
    size_bytes: int
    start_ns: float


class Connection:
    """A worker's connection with a server, one direction: a scheduler and at most one chunk."""

    def __init__(self, key: Key, scheduler: Scheduler) -> None:
        self.key = key
        self.scheduler = scheduler
        self.jobs: dict[int, Job] = {}  # by stream
        self.chunk: Chunk | None = None
        self.ahead: deque[tuple[int, int]] = deque()  # chosen chunks: streams and bytes
        self.on_link = False


class Processor:
    """A resource, or a worker's part of it: places, and a queue before them."""

    def __init__(self, capacity: int) -> None:
        self.capacity = capacity
        self.queue: deque[Job] = deque()
        self.running: dict[int, tuple[Job, float]] = {}  # by place, with the end


class Event(NamedTuple):
    """Something that will happen; of those at one time, the lowest order is first."""

    at_ns: float
    order: tuple[float, ...]
    happen: Callable[[], None]
