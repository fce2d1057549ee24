"""Work that is left of a sweep: which numbers are to be resolved, which runs to be made."""

from collections import deque
from dataclasses import dataclass, field
from typing import Final

import numpy as np

from ray_sweeps.evaluation import Items, Points, joined
from ray_sweeps.key_set import RUN_BYTES, KeySet, keys_of, runs_of

TASK_S: Final = 1.0
"""Time that a task is to take."""

_FIRST_POINTS: Final = 64
_MOST_POINTS: Final = 5_000
_FIRST_RUNS: Final = 4
_MOST_RUNS: Final = 5_000
_FADING: Final = 0.7


@dataclass(slots=True)
class Pace:
    """Pace of work, from measurements of which later ones count more."""

    work: float = 0.0
    seconds: float = 0.0

    def measured(self, work: float, seconds: float) -> None:
        """Add a measurement."""
        self.work = _FADING * self.work + work
        self.seconds = _FADING * self.seconds + seconds

    def units_in(self, seconds: float) -> float | None:
        """Work that is done in so many seconds; None before anything was measured."""
        return seconds * self.work / self.seconds if self.seconds > 0 else None


@dataclass(slots=True, kw_only=True)
class Work:
    """Work of a sweep, done and left.

    Attributes
    ----------
    numbers : how many the space has
    runs : of each point
    taken : keys of runs that were made before
    resolved : numbers that were resolved and taken in
    wanted : runs of the points that were resolved
    known : those of them that were done before
    twice : points that another number stands for, too
    left_work, done_work : of runs that were resolved and are not made, of those made now
    spent_s : time that the latter took, of all processors together
    """

    numbers: int
    runs: int
    taken: KeySet = field(default_factory=lambda: KeySet(RUN_BYTES))
    resolved: int = 0
    wanted: int = 0
    known: int = 0
    twice: int = 0
    left_work: float = 0.0
    done_work: float = 0.0
    spent_s: float = 0.0
    _points: KeySet = field(default_factory=lambda: KeySet(RUN_BYTES - 4))
    _next: int = 0
    _waiting: dict[int, tuple[range, Points]] = field(default_factory=dict)
    _pending: deque[Items] = field(default_factory=deque)
    _pending_runs: int = 0
    _pending_work: float = 0.0
    _apart: deque[Items] = field(default_factory=deque)
    _resolving: Pace = field(default_factory=Pace)
    _evaluating: Pace = field(default_factory=Pace)

    @property
    def pending(self) -> int:
        """Runs that can be handed out."""
        return self._pending_runs + sum(map(len, self._apart))

    @property
    def all_handed_to_resolve(self) -> bool:
        """True if no numbers are left to be resolved."""
        return self._next >= self.numbers

    @property
    def all_resolved(self) -> bool:
        """True if all points are known."""
        return self.resolved >= self.numbers

    def take_numbers(self) -> range:
        """Hand out numbers to be resolved in about the time of a task."""
        count = self._resolving.units_in(TASK_S / 2)
        count = _FIRST_POINTS if count is None else min(max(1.0, count), _MOST_POINTS)
        begin = self._next
        self._next = min(self.numbers, begin + int(count))
        return range(begin, self._next)

    def points_resolved(self, numbers: range, points: Points) -> None:
        """Take in points; in the order of their numbers, whatever the order in which they come."""
        self._resolving.measured(len(numbers), points.seconds)
        self._waiting[numbers.start] = (numbers, points)
        while (found := self._waiting.pop(self.resolved, None)) is not None:
            self._take_in(*found)

    def _take_in(self, numbers: range, points: Points) -> None:
        self.resolved = numbers.stop
        if not len(points.numbers):
            return
        keys = keys_of(list(points.keys))
        new = self._points.add(keys)
        self.twice += int((~new).sum())
        found = Items(
            np.repeat(points.numbers[new], self.runs),
            np.repeat(keys[new], self.runs),
            np.tile(np.arange(self.runs, dtype=np.int64), int(new.sum())),
            np.repeat(points.work[new], self.runs),
        )
        left = ~self.taken.has(runs_of(found.keys, found.runs))
        self.wanted += len(found)
        self.known += int((~left).sum())
        items = found.chosen(left)
        self.left_work += float(items.work.sum())
        self._add(items)

    def enough_for(self, tasks: int) -> bool:
        """True if so many tasks can be handed out, each of its full length."""
        if self._apart:
            return True
        units = self._evaluating.units_in(TASK_S)
        return self.pending > 0 if units is None else self._pending_work >= tasks * units

    def take_runs(self, at_most: float = 1.0) -> Items:
        """Hand out runs that take about the time of a task, or `at_most` of what is pending."""
        if self._apart:
            return self._apart.popleft()
        units = self._evaluating.units_in(TASK_S)
        bound = min(_MOST_RUNS, max(1, int(at_most * self.pending)))
        if units is None:
            return self._popped(min(bound, _FIRST_RUNS), np.inf)
        return self._popped(bound, units)

    def _popped(self, count: int, units: float) -> Items:
        """So many runs from the front, of so much work together; at least one."""
        parts: list[Items] = []
        while self._pending and count > 0 and units > 0:
            first = self._pending.popleft()
            fits = int(np.searchsorted(np.cumsum(first.work), units, side="right"))
            size = min(count, len(first), max(fits, 0 if parts else 1))
            if size:
                parts.append(first.part(0, size))
                self._count(parts[-1], -1)
            if size < len(first):
                self._pending.appendleft(first.part(size))
                break
            count -= size
            units -= float(first.work.sum())
        return joined(parts)

    def put_apart(self, *parts: Items) -> None:
        """Take back runs that were handed out together; each part is handed out by itself."""
        self._apart += parts

    def put_back(self, items: Items) -> None:
        """Take back runs that were handed out and not made; they are the next ones."""
        if len(items):
            self._pending.appendleft(items)
            self._count(items, 1)

    def _add(self, items: Items) -> None:
        if len(items):
            self._pending.append(items)
            self._count(items, 1)

    def _count(self, items: Items, sign: int) -> None:
        self._pending_runs += sign * len(items)
        self._pending_work += sign * float(items.work.sum())

    def runs_made(self, items: Items, seconds: float) -> None:
        """Note that runs were made, and how long they took."""
        work = float(items.work.sum())
        self._evaluating.measured(work, seconds)
        self.left_work -= work
        self.done_work += work
        self.spent_s += seconds

    def left_s(self, processors: float) -> float | None:
        """Time that the runs left will take, about; None if it can't be told yet.

        By the pace of all runs made now: that of the last ones jumps from one kind to another.
        """
        if not self.done_work or not self.resolved:
            return None
        all_work = (self.left_work + self.done_work) * self.numbers / self.resolved
        left = max(0.0, all_work - self.done_work)
        return left * self.spent_s / self.done_work / processors
