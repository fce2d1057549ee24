"""The clock of link work: a burst's time without the cuts for pauses of the machine."""

from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import accumulate
from typing import Self

from netcosim.trace import StreamRow

Connection = tuple[str, int, int]
"""Cell, burst and connection: each has a clock of its own."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkClock:
    """Map from a burst's wall clock to the clock of link work; it stands still in every cut.

    `starts_ns` and `ends_ns` of the cuts rise and do not overlap.
    """

    starts_ns: Sequence[int] = ()
    ends_ns: Sequence[int] = ()
    _before_ns: Sequence[int] = field(init=False)

    def __post_init__(self) -> None:
        lengths = (end - start for start, end in zip(self.starts_ns, self.ends_ns, strict=True))
        object.__setattr__(self, "_before_ns", (0, *accumulate(lengths)))

    @classmethod
    def without(cls, cuts: Iterable[tuple[int, int]]) -> Self:
        """The clock without these spans of (start, end)."""
        spans = sorted(cuts)
        return cls(starts_ns=[a for a, _ in spans], ends_ns=[b for _, b in spans])

    @property
    def cut_ns(self) -> int:
        """The time cut out in all."""
        return self._before_ns[-1]

    def at(self, time_ns: int) -> int:
        """The time on the clock of link work."""
        place = bisect_right(self.ends_ns, time_ns)
        within = max(0, time_ns - self.starts_ns[place]) if place < len(self.starts_ns) else 0
        return time_ns - self._before_ns[place] - within


def on_work_clock(
    rows: Iterable[StreamRow], clocks: Mapping[Connection, WorkClock]
) -> list[StreamRow]:
    """Measured rows with all their times on the clocks of their connections."""
    return [
        _mapped(row, clock) if (clock := clocks.get((row.cell, row.burst, row.connection))) else row
        for row in rows
    ]


def _mapped(row: StreamRow, clock: WorkClock) -> StreamRow:
    at = clock.at
    return replace(
        row,
        asked_ns=None if row.asked_ns is None else at(row.asked_ns),
        requested_ns=None if row.requested_ns is None else at(row.requested_ns),
        ready_ns=at(row.ready_ns),
        start_ns=at(row.start_ns),
        wire_end_ns=at(row.wire_end_ns),
        delivered_ns=None if row.delivered_ns is None else at(row.delivered_ns),
        services=tuple(
            replace(s, start_ns=at(s.start_ns), end_ns=at(s.end_ns)) for s in row.services
        ),
        stalls=tuple(replace(s, start_ns=at(s.start_ns), end_ns=at(s.end_ns)) for s in row.stalls),
    )
