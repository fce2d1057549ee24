"""TCP reassembly of one direction of a connection, without copying its bytes.

What is kept is a map: which stretch of the byte stream lies where in the capture file, and with
which record it came. The first arrival of a byte wins, as in a receiver; what came again is
counted and compared. The walk over HTTP/2 frames then reads only the bytes that it needs.
"""

from bisect import bisect_left, bisect_right
from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from emu.capture.arrays import Bytes, Ints, ints
from emu.capture.segment_map import WRAP, Layout, lay_out, signed
from emu.capture.segments import ACK, FIN, SYN, Segments


@dataclass(frozen=True, slots=True, kw_only=True)
class ByteStream:
    """The bytes of one direction, as pieces in stream order.

    Stream offset 0 is the first byte after the SYN, or the first byte captured where the SYN
    was not (`from_start` False). Pieces are disjoint and without a gap from 0 to `end`; what
    lies behind the first hole is not among them, unless holes were to be bridged: then each is
    a piece too, of unknown bytes.

    Attributes
    ----------
    start, length : stream offset and bytes of each piece
    at : its place in the capture file; `UNKNOWN` of a bridged hole
    arrived : record of the capture that first brought it
    available : record of the capture with which all bytes up to this piece were there
    holes : (from, to) stream offsets never seen, though later ones were seen or acknowledged
    beyond_bytes : seen bytes behind the first hole, of no use
    early_bytes : bytes from before offset 0, of no use
    cut_bytes : payload that the capture did not keep (snapshot length)
    reordered_segments : came after a later one: reordered, or lost before the capture and resent
    conflicting_segments : came again with other bytes
    conflict_at : stream offset of the first of those
    """

    start: Ints
    length: Ints
    at: Ints
    arrived: Ints
    available: Ints
    end: int
    from_start: bool
    finished: bool
    holes: tuple[tuple[int, int], ...]
    beyond_bytes: int
    early_bytes: int
    cut_bytes: int
    segments: int
    retransmitted_segments: int
    retransmitted_bytes: int
    reordered_segments: int
    conflicting_segments: int
    conflict_at: int

    def whole_until_ns(self, offset: int, time_ns: Ints) -> int:
        """Until when no byte from a stream offset on was there; `time_ns` is each record's time.

        Where the byte at the offset was captured that ends right before it came, but not before
        the byte in front of it did; else it ends with the last byte that was captured.
        """
        if offset <= 0 or not self.end:
            return 0
        before, at = np.searchsorted(self.start, [offset - 1, offset], side="right") - 1
        before_ns, at_ns = time_ns[self.available[[before, at]]].tolist()
        return int(before_ns if offset >= self.end else max(before_ns, at_ns - 1))


@dataclass(frozen=True, slots=True, kw_only=True)
class Flaw:
    """Something wrong with a direction's bytes, from stream offset `at` on; 0: with all of them."""

    at: int
    text: str


UNKNOWN: Final = -1


class Reader:
    """Reads bytes of a stream by their stream offset; quickest in ascending order.

    Bytes in a bridged hole read as zeros.
    """

    def __init__(self, data: Bytes, stream: ByteStream) -> None:
        self._view = data.data
        bridged = np.flatnonzero(stream.at == UNKNOWN)
        self._holes: list[int] = stream.start[bridged].tolist()
        self._hole_ends: list[int] = (stream.start + stream.length)[bridged].tolist()
        self._starts: list[int] = stream.start.tolist()
        self._at: list[int] = stream.at.tolist()
        self._end = stream.end
        self._piece = 0

    def read(self, offset: int, size: int) -> bytes:
        """Up to `size` bytes from `offset` on; fewer where the stream ends."""
        size = min(size, self._end - offset)
        if size <= 0:
            return b""
        # Ascending reads search only forward of the last piece.
        low = self._piece if self._starts[self._piece] <= offset else 0
        piece = self._piece = bisect_right(self._starts, offset, low) - 1
        at = self._at[piece] + offset - self._starts[piece]
        if offset + size <= self._piece_end(piece):
            return self._bytes(piece, at, size)
        parts, end = [], offset + size
        while offset < end:
            at = self._at[piece] + offset - self._starts[piece]
            upto = min(end, self._piece_end(piece))
            parts.append(self._bytes(piece, at, upto - offset))
            offset, piece = upto, piece + 1
        return b"".join(parts)

    def hole_within(self, offset: int, size: int) -> int:
        """End of the last hole that [offset, offset + size) touches; 0 if it touches none."""
        place = bisect_left(self._holes, offset + size) - 1
        return self._hole_ends[place] if place >= 0 and self._hole_ends[place] > offset else 0

    def _bytes(self, piece: int, at: int, size: int) -> bytes:
        if self._at[piece] == UNKNOWN:
            return bytes(size)
        return self._view[at : at + size].tobytes()

    def _piece_end(self, piece: int) -> int:
        return self._starts[piece + 1] if piece + 1 < len(self._starts) else self._end


def assemble(
    data: Bytes, segments: Segments, reverse: Segments, *, bridged: bool = False
) -> ByteStream:
    """Reassemble the byte stream of one direction.

    Parameters
    ----------
    data
        The capture file's bytes.
    segments
        The direction's segments, in capture order.
    reverse
        The other direction's: what they acknowledge shows bytes that the capture lacks.
    bridged
        Whether to go on behind holes.
    """
    sequence = (segments.raw_sequence + (segments.flags & SYN != 0)) % WRAP
    carrying = np.flatnonzero(segments.length > 0)
    opening = np.flatnonzero(segments.flags & SYN)
    first = opening[:1] if opening.size else carrying[:1]
    base = int(sequence[first[0]]) if first.size else 0
    layout = lay_out(
        sequence=(sequence[carrying] - base) % WRAP,
        length=segments.length[carrying],
        at=segments.at[carrying],
        arrived=segments.record[carrying],
    )
    if first.size:
        layout.reach = _known_end(layout.reach, base, segments, sequence, reverse)
    return _join(data, layout, segments, from_start=bool(opening.size), bridged=bridged)


def _known_end(seen: int, base: int, segments: Segments, sequence: Ints, reverse: Segments) -> int:
    """End of the stream, as far as FIN and the other side's acknowledgements show it."""
    fins = np.flatnonzero(segments.flags & FIN)
    for place in fins.tolist():
        size = int(segments.length[place] + segments.missing[place])
        offset = int(sequence[place]) + size - base
        seen = max(seen, seen + signed(offset - seen))
    answers = reverse.acknowledged[reverse.flags & ACK != 0]
    if not answers.size:
        return seen
    # Unwrapped step by step from the start: acknowledgements only ever move a little.
    steps = np.diff(answers, prepend=base)
    steps = (steps + WRAP // 2) % WRAP - WRAP // 2
    furthest = int(np.cumsum(steps).max()) - bool(fins.size)  # a FIN is acknowledged as a byte
    return max(seen, furthest)


def _join(
    data: Bytes, layout: Layout, segments: Segments, *, from_start: bool, bridged: bool
) -> ByteStream:
    start, length, at, arrived = layout.in_order()
    ends = start + length
    before = np.concatenate([[0], ends])
    after = np.concatenate([start, [layout.reach]])
    gaps = np.flatnonzero(after > before)
    holes = tuple(zip(before[gaps].tolist(), after[gaps].tolist(), strict=True))
    if bridged:
        # What follows a hole tells when its bytes were there; behind the last byte nothing does.
        inner = gaps[gaps < start.size]
        length = np.insert(length, inner, after[inner] - before[inner])
        at, arrived = np.insert(at, inner, UNKNOWN), np.insert(arrived, inner, arrived[inner])
        start = np.insert(start, inner, before[inner])
        ends = start + length
        gaps = ints()
    whole = int(gaps[0]) if gaps.size else start.size  # pieces before the first hole
    end = int(ends[whole - 1]) if whole else 0
    stream = ByteStream(
        start=start[:whole],
        length=length[:whole],
        at=at[:whole],
        arrived=arrived[:whole],
        available=np.maximum.accumulate(arrived[:whole]),
        end=end,
        from_start=from_start,
        finished=bool((segments.flags & FIN).any()),
        holes=holes,
        beyond_bytes=int(length[whole:].sum()),
        early_bytes=layout.early_bytes,
        cut_bytes=int(segments.missing.sum()),
        segments=int((segments.length > 0).sum()),
        retransmitted_segments=len(layout.repeated),
        retransmitted_bytes=layout.retransmitted_bytes,
        reordered_segments=layout.reordered_segments,
        conflicting_segments=0,
        conflict_at=0,
    )
    conflicts = _conflicts(data, stream, layout)
    return replace(
        stream, conflicting_segments=len(conflicts), conflict_at=min(conflicts, default=0)
    )


def _conflicts(data: Bytes, stream: ByteStream, layout: Layout) -> list[int]:
    """Stream offsets of repeated segments whose bytes differ from those that came first."""
    if not layout.repeated:
        return []
    reader = Reader(data, stream)
    found = []
    for offset, size, at in layout.repeated:
        first = reader.read(offset, size)
        if first != data[at : at + len(first)].tobytes():
            found.append(offset)
    return found
