"""Idle times of a direction with data, and whether flow control explains them.

At every moment of an idle time one of these holds, by what the capture shows later:

- nothing to send: no stream that the sender has opened has data left;
- out of connection credit, or every stream with data left is out of its own credit;
- free to send: then the idle time is unexplained, and a burst with one can't be trusted.

A grant counts from a round trip after its departure: data that it allows can't come sooner.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

import numpy as np

from emu.capture.arrays import Ints
from emu.capture.frames import Frames, Kind
from emu.capture.timing import Chunks
from emu.capture.windows import ALL_STREAMS, CONNECTION, Grants
from h2model.protocol import DEFAULT_WINDOW_BYTES


class Cause(StrEnum):
    """Cause of a direction's idle time."""

    CONNECTION_CREDIT = "connection credit"
    STREAM_CREDIT = "stream credit"
    UNEXPLAINED = "unexplained"


@dataclass(frozen=True, slots=True, kw_only=True)
class Gap:
    """An idle time of a direction with data left; `streams` are those that had some."""

    start_ns: int
    end_ns: int
    cause: Cause
    streams: tuple[int, ...]


@dataclass(slots=True)
class _Span:
    cause: Cause | None  # None: nothing to send
    start_ns: int
    end_ns: int
    streams: tuple[int, ...]

    @property
    def length_ns(self) -> int:
        return self.end_ns - self.start_ns


_ENDLESS = 1 << 60

# Order of what happens at one time: a gap ends before the frame that ends it counts, and one
# begins after all that came with the last packet before it.
_GAP_END, _GRANT, _OPEN, _SEND, _GAP_START = range(5)


def find_gaps(
    *,
    frames: Frames,
    head_ns: Ints,
    chunks: Chunks,
    grants: Grants,
    gap_ns: int,
    round_trip_ns: int,
    credit_known: bool = True,
) -> tuple[Gap, ...]:
    """List idle times of over `gap_ns` in which there was something to send.

    One that credit explains is a stall; it reaches to the next byte of data unless the sender
    stayed idle for more than `gap_ns` after the credit could have reached it. Where the
    windows are not known no credit explains anything.
    """
    sender = _Sender(frames, DEFAULT_WINDOW_BYTES if credit_known else _ENDLESS)
    found: list[Gap] = []
    spans: list[_Span] | None = None
    whole_frame = True
    for now_ns, what, subject, amount in _events(
        frames, head_ns, chunks, grants, gap_ns, round_trip_ns
    ):
        if spans is not None:
            spans[-1].end_ns = now_ns
        if what == _GAP_END:
            found += _judge(spans or [], gap_ns)
            spans = None
            continue
        if what == _GAP_START:
            spans, whole_frame = [], not amount
        else:
            sender.take(what, subject, amount)
        if spans is not None:
            spans.append(_Span(*sender.state(whole_frame=whole_frame, now_ns=now_ns)))
    return tuple(found)


class _Sender:
    """Sender's remaining data and credit over time, as the capture shows them."""

    def __init__(self, frames: Frames, window: int) -> None:
        data = frames.of(Kind.DATA)
        self._left: dict[int, int] = {}
        for stream, size in zip(
            frames.stream[data].tolist(), frames.length[data].tolist(), strict=True
        ):
            self._left[stream] = self._left.get(stream, 0) + size
        self._own: dict[int, int] = {}  # a stream's credit, less the initial window
        self._initial = self._connection = window
        self._pending: dict[int, None] = {}  # in the order of opening

    def take(self, what: int, subject: int, amount: int) -> None:
        if what == _OPEN:
            self._own.setdefault(subject, 0)
            if self._left.get(subject):
                self._pending[subject] = None
        elif what == _SEND:
            self._connection -= amount
            self._own[subject] = self._own.get(subject, 0) - amount
            self._left[subject] -= amount
            if not self._left[subject]:
                self._pending.pop(subject, None)
            else:
                self._pending[subject] = None  # its HEADERS may have come before the capture
        elif subject == CONNECTION:
            self._connection += amount
        elif subject == ALL_STREAMS:
            self._initial += amount
        else:
            self._own[subject] = self._own.get(subject, 0) + amount

    def state(
        self, *, whole_frame: bool, now_ns: int
    ) -> tuple[Cause | None, int, int, tuple[int, ...]]:
        """Cause of idling now, as a span's fields; inside a frame its credit was taken already."""
        cause: Cause | None = Cause.UNEXPLAINED
        if not self._pending and whole_frame:
            cause = None
        elif whole_frame and self._connection <= 0:
            cause = Cause.CONNECTION_CREDIT
        elif whole_frame and all(
            self._initial + self._own[stream] <= 0 for stream in self._pending
        ):
            cause = Cause.STREAM_CREDIT
        return cause, now_ns, now_ns, tuple(self._pending)


def _judge(spans: list[_Span], gap_ns: int) -> list[Gap]:
    """Turn the spans of one idle time into stalls and unexplained gaps."""
    merged: list[_Span] = []
    for span in spans:
        if merged and merged[-1].cause == span.cause:
            merged[-1].end_ns = span.end_ns
        elif span.length_ns:
            merged.append(span)
    busy = [span for span in merged if span.cause is not None]
    if sum(span.length_ns for span in busy) <= gap_ns:
        return []
    free = [s for s in busy if s.cause is Cause.UNEXPLAINED and s.length_ns > gap_ns]
    blocked = [s for s in busy if s.cause is not Cause.UNEXPLAINED]
    gaps = [_gap(span, span.end_ns, Cause.UNEXPLAINED) for span in free]
    if blocked:
        last = busy[-1]
        end_ns = blocked[-1].end_ns if last in free else last.end_ns
        longest = max(blocked, key=lambda span: span.length_ns)
        gaps.append(_gap(blocked[0], end_ns, longest.cause))
    elif not free:
        gaps.append(_gap(busy[0], busy[-1].end_ns, Cause.UNEXPLAINED))
    return sorted(gaps, key=lambda gap: gap.start_ns)


def _gap(span: _Span, end_ns: int, cause: Cause | None) -> Gap:
    return Gap(
        start_ns=span.start_ns,
        end_ns=end_ns,
        cause=cause or Cause.UNEXPLAINED,
        streams=span.streams,
    )


def _events(
    frames: Frames,
    head_ns: Ints,
    chunks: Chunks,
    grants: Grants,
    gap_ns: int,
    round_trip_ns: int,
) -> Iterator[tuple[int, int, int, int]]:
    """Sorted events: time, kind, stream (or nothing), bytes (of a gap: 1 inside a frame)."""
    data, heads = frames.of(Kind.DATA), frames.of(Kind.HEADERS)
    after = np.flatnonzero(np.diff(chunks.time_ns) > gap_ns) + 1
    inside = chunks.frame[after] == chunks.frame[after - 1]
    columns = [
        (chunks.time_ns[after], _GAP_END, 0, 0),
        (grants.time_ns + round_trip_ns, _GRANT, grants.stream, grants.amount),
        (head_ns[heads], _OPEN, frames.stream[heads], 0),
        (head_ns[data], _SEND, frames.stream[data], frames.length[data]),
        (chunks.time_ns[after - 1], _GAP_START, 0, inside),
    ]
    parts: list[list[Any]] = [[], [], [], []]
    for row in columns:
        for part, column in zip(parts, row, strict=True):
            part.append(np.broadcast_to(column, row[0].shape))
    time_ns, what, subject, amount = (np.concatenate(part).astype(np.int64) for part in parts)
    order = np.lexsort((what, time_ns))
    ordered = (column[order].tolist() for column in (time_ns, what, subject, amount))
    return zip(*ordered, strict=True)
