"""Map from TCP segments to the stretches of the byte stream they bring, in any order.

Segments that follow one another without a gap are laid out as one run, all at once; a run that
starts before the furthest byte seen is taken segment by segment, and only what is new counts.
"""

from bisect import bisect_left, bisect_right
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np

from emu.capture.arrays import Ints, ints

WRAP = 1 << 32  # of TCP sequence numbers

Columns = tuple[Ints, Ints, Ints, Ints]


def signed(difference: int) -> int:
    """Distance between two sequence numbers, the short way round."""
    return (difference + WRAP // 2) % WRAP - WRAP // 2


@dataclass(slots=True)
class Layout:
    """Disjoint pieces of a byte stream in order of arrival, and the repeated segments.

    A piece is its stream offset, length, place in the file and record. `repeated` has stream
    offset, length and place of each repeated segment; `reach` is the furthest byte seen.
    """

    pieces: list[Columns] = field(default_factory=list)
    repeated: list[tuple[int, int, int]] = field(default_factory=list)
    retransmitted_bytes: int = 0
    reordered_segments: int = 0
    early_bytes: int = 0
    reach: int = 0

    def in_order(self) -> Columns:
        """All pieces in stream order: offset, length, place, record."""
        if not self.pieces:
            return ints(), ints(), ints(), ints()
        start, length, at, arrived = (
            np.concatenate(column) for column in zip(*self.pieces, strict=True)
        )
        if (np.diff(start) < 0).any():
            order = np.argsort(start)
            return start[order], length[order], at[order], arrived[order]
        return start, length, at, arrived


def lay_out(*, sequence: Ints, length: Ints, at: Ints, arrived: Ints) -> Layout:
    """Lay out the segments of one direction.

    Parameters
    ----------
    sequence
        Sequence numbers modulo 2**32, less that of stream offset 0.
    length, at, arrived
        Bytes (none zero), place in the file and record of each segment.
    """
    layout, seen = Layout(), _Seen()
    total = np.concatenate([[0], np.cumsum(length)])
    breaks = np.flatnonzero((sequence[:-1] + length[:-1]) % WRAP != sequence[1:]) + 1
    bounds = [0, *breaks.tolist(), sequence.size]
    for first, last in pairwise(bounds):
        if first == last:
            continue
        start = layout.reach + signed(int(sequence[first]) - layout.reach)
        offsets = start + total[first:last] - total[first]
        run = offsets, length[first:last], at[first:last], arrived[first:last]
        if start >= layout.reach:
            layout.pieces.append(run)
            layout.reach = start + int(total[last] - total[first])
            seen.add(start, layout.reach)
        else:
            for segment in zip(*(column.tolist() for column in run), strict=True):
                _place(layout, seen, *segment)
    return layout


def _place(layout: Layout, seen: "_Seen", start: int, length: int, at: int, arrived: int) -> None:
    """Add the new bytes of one segment, and count those that came again."""
    early = min(length, max(0, -start))
    layout.early_bytes += early
    start, length, at = start + early, length - early, at + early
    if not length:
        return
    new = seen.missing(start, start + length)
    if length == 1 and not new and start == layout.reach - 1:
        return  # a keep-alive, whose byte is no data (RFC 9293, section 3.8.4)
    repeated = length - sum(to - since for since, to in new)
    if repeated:
        layout.repeated.append((start, length, at))
        layout.retransmitted_bytes += repeated
    if new and start < layout.reach:
        layout.reordered_segments += 1
    if new:
        since = ints([piece[0] for piece in new])
        size = ints([piece[1] for piece in new]) - since
        layout.pieces.append((since, size, at + since - start, np.full(since.size, arrived)))
    seen.add(start, start + length)
    layout.reach = max(layout.reach, start + length)


class _Seen:
    """Set of the stretches seen so far: disjoint, ascending, merged where they touch."""

    def __init__(self) -> None:
        self._starts: list[int] = []
        self._ends: list[int] = []

    def missing(self, start: int, end: int) -> list[tuple[int, int]]:
        """Stretches of [start, end) not seen yet."""
        found = []
        for place in range(bisect_right(self._ends, start), len(self._starts)):
            if self._starts[place] >= end:
                break
            if self._starts[place] > start:
                found.append((start, self._starts[place]))
            start = self._ends[place]
        if start < end:
            found.append((start, end))
        return found

    def add(self, start: int, end: int) -> None:
        """Mark [start, end) as seen."""
        low, high = bisect_left(self._ends, start), bisect_right(self._starts, end)
        if low < high:
            start, end = min(start, self._starts[low]), max(end, self._ends[high - 1])
        self._starts[low:high] = [start]
        self._ends[low:high] = [end]
