"""Processors of a node: computations wait first in, first out, and end as their work says."""

import heapq
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Generic, TypeVar

T = TypeVar("T")

EndOf = Callable[[float], float]
"""From the time at which a computation begins to that of its end, in ns."""


@dataclass(frozen=True, slots=True)
class Ended(Generic[T]):
    """A computation that has ended: when it was ready, began and ended."""

    what: T
    ready_ns: float
    begin_ns: float
    end_ns: float


@dataclass(slots=True)
class _Line(Generic[T]):
    """Queue of one processor, and the numbers of its free places."""

    free: list[int]
    waiting: deque[tuple[T, EndOf, float]] = field(default_factory=deque)


class Processors(Generic[T]):
    """Processors of these capacities; `T` is what a computation is known by."""

    def __init__(self, capacities: Sequence[int]) -> None:
        self._lines: list[_Line[T]] = []
        self._line_of: list[int] = []
        self._running: list[tuple[float, int, Ended[T]]] = []
        for line, capacity in enumerate(capacities):
            first = len(self._line_of)
            self._lines.append(_Line(list(range(first, first + capacity))))
            self._line_of += [line] * capacity

    @property
    def next_ns(self) -> float:
        """Time of the next end of a computation; infinite if none runs."""
        return self._running[0][0] if self._running else float("inf")

    def enter(self, processor: int, what: T, end_of: EndOf, now_ns: float) -> None:
        """Begin a computation if a place is free, the first such one; else queue it."""
        line = self._lines[processor]
        if line.free:
            self._begin(heapq.heappop(line.free), what, end_of, now_ns, now_ns)
        else:
            line.waiting.append((what, end_of, now_ns))

    def end_next(self) -> Ended[T]:
        """End the earliest computation, the lowest place's of several; the next in line begins."""
        now_ns, place, ended = heapq.heappop(self._running)
        line = self._lines[self._line_of[place]]
        if line.waiting:
            self._begin(place, *line.waiting.popleft(), now_ns)
        else:
            heapq.heappush(line.free, place)
        return ended

    def _begin(self, place: int, what: T, end_of: EndOf, ready_ns: float, now_ns: float) -> None:
        end_ns = end_of(now_ns)
        heapq.heappush(self._running, (end_ns, place, Ended(what, ready_ns, now_ns, end_ns)))
