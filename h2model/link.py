"""Path of one connection's frames from its scheduler to the receiver, at a rate that may change.

A frame that the scheduler has let go waits in the sender's kernel, leaves at the connection's
share of the link, and is acknowledged byte by byte. Its times are planned when it is let go; a new
share plans what is not yet on the wire anew.
"""

import math
from collections import deque
from collections.abc import Sized
from dataclasses import dataclass
from typing import Protocol

from h2model.protocol import FRAME_HEADER_BYTES
from h2model.records import LinkModel

LINE_BPS = 1e10
"""Rate at which a virtual link passes what its bucket allows; nothing depends on it closely."""


@dataclass(slots=True)
class Frame:
    """A frame in the socket buffer; the `left_bytes` of it leave from `since_ns` to `end_ns`.

    Where it empties the bucket, `fast_bytes` of them leave at line speed until `fast_ns`. Times are
    at the sender's end of the link. `start_ns` is when its first byte left; once it has `begun`, a
    new plan does not move that. `counted_bytes` is the length that its header tells, 0 for a later
    piece of a large frame. Where segments leave, `header_ns` is when that of its header has, with
    `come_bytes` of its payload (`soon_bytes` within `SOON_NS`), while others follow each `step_ns`;
    `ahead_ns` is when a PING's answer has left, if one is ahead of it (`answers`); `behind_ns` when
    what was put with it has, 0 if that is not known.
    """

    stream: int
    size_bytes: int
    left_bytes: float
    start_ns: float = 0.0
    since_ns: float = 0.0
    end_ns: float = 0.0
    counted_bytes: int = 0
    begun: bool = False
    fast_bytes: float = 0.0
    fast_ns: float = 0.0
    header_ns: float = 0.0
    ahead_ns: float = 0.0
    behind_ns: float = 0.0
    answers: bool = False
    come_bytes: int = 0
    soon_bytes: int = 0
    step_ns: float = 0.0


class Queue(Protocol):
    """A connection's queue of frames in the kernel and on the wire.

    Attributes
    ----------
    rate_bps : the connection's share of its path now
    """

    rate_bps: float

    @property
    def waiting(self) -> Sized:
        """Frames whose last byte has not left, in order."""

    @property
    def free_ns(self) -> float:
        """Time at which the last byte that may leave will have left."""

    def put(
        self,
        stream: int,
        size_bytes: int,
        now: float,
        counted_bytes: int | None = None,
        beside_bytes: tuple[int, int] = (0, 0),
    ) -> Frame:
        """Put a frame into the socket buffer, or a piece of one: only the first has a header.

        `counted_bytes` is what the header tells; the piece is all of the frame if it is None.
        `beside_bytes` are those of other frames that leave before it and behind it.
        """

    def put_control(self, size_bytes: int, now: float) -> None:
        """Put frames without DATA, a write of their own."""

    def push(self, now: float) -> None:
        """Let the last segment leave though it is not full."""

    def charge(self, now: float) -> None:
        """Let a packet without data pass."""

    def head(self) -> Frame | None:
        """The first waiting frame, if it is known when its last byte leaves."""

    def take(self) -> Frame:
        """The first waiting frame, whose last byte has left."""

    def free_bytes(self, now: float) -> float:
        """Room that there is now for unacknowledged bytes."""

    def room_at(self, size_bytes: int, now: float) -> float:
        """Time at which there is room for so many more; infinite if that is not known."""

    def replan(self, rate_bps: float, now: float, keep: float = 1.0) -> None:
        """Change the share to `rate_bps` from now on; of what the bucket holds `keep` stays."""


class SendQueue:
    """One connection's unacknowledged frames and its token bucket.

    Attributes
    ----------
    waiting : frames whose last byte has not left, in order
    free_ns : when the last byte of all of them will have left
    rate_bps : the connection's share of its path now
    """

    def __init__(self, link: LinkModel, rate_bps: float) -> None:
        self.rate_bps = rate_bps
        self.free_ns = 0.0
        self.waiting: deque[Frame] = deque()
        self._link = link
        # When a link without a bucket would be free: the bucket is ahead of it by its bytes.
        self._due_ns = -math.inf
        # Pieces not wholly acknowledged: evenly from when to when, and their bytes.
        self._unacked: deque[tuple[float, float, float]] = deque()
        self._past_bytes = 0.0

    def put(
        self,
        stream: int,
        size_bytes: int,
        now: float,
        counted_bytes: int | None = None,
        beside_bytes: tuple[int, int] = (0, 0),
    ) -> Frame:
        """Put a frame into the socket buffer; see `Queue.put`."""
        counted = size_bytes if counted_bytes is None else counted_bytes
        header_bytes = (FRAME_HEADER_BYTES if counted else 0) + sum(beside_bytes)
        frame = Frame(stream, size_bytes, size_bytes + header_bytes, counted_bytes=counted)
        self._plan(frame, now)
        self.waiting.append(frame)
        self._past_bytes += frame.left_bytes
        return frame

    def put_control(self, size_bytes: int, now: float) -> None:
        """Do nothing: frames without DATA are not counted."""

    def push(self, now: float) -> None:
        """Do nothing: bytes flow."""

    def charge(self, now: float) -> None:
        """Do nothing: packets without data are part of the rate."""

    def head(self) -> Frame | None:
        """The first waiting frame, if there is one."""
        return self.waiting[0] if self.waiting else None

    def take(self) -> Frame:
        """The first waiting frame, whose last byte has left."""
        return self.waiting.popleft()

    def free_bytes(self, now: float) -> float:
        """Room that there is now for unacknowledged bytes."""
        past = self._past_bytes
        for first, last, size in self._unacked:
            if now >= last:
                past -= size
            elif now > first:
                past -= size * (now - first) / (last - first)
        return self._link.past_bytes - past

    def room_at(self, size_bytes: int, now: float) -> float:
        """Time at which there is room for so many more unacknowledged bytes, as planned now."""
        unacked = self._unacked
        while unacked and unacked[0][1] <= now:
            self._past_bytes -= unacked.popleft()[2]
        excess = self._past_bytes + size_bytes - self._link.past_bytes
        time = now
        for first, last, size in unacked:
            if excess <= 0:
                break
            if excess < size:
                time = first + excess * (last - first) / size
                break
            excess -= size
            time = last
        return max(now, time)

    def replan(self, rate_bps: float, now: float, keep: float = 1.0) -> None:
        """Change the share to `rate_bps` from now on: plan anew what has not left.

        Of what the bucket holds, the connection keeps the part `keep`.
        """
        self._cut(now)
        left = sum(frame.left_bytes for frame in self.waiting)
        bucket = self._link.bucket_bytes
        # What the bucket lacks of being full comes back at the new rate.
        lacking = max(0.0, max(0.0, self._due_ns - now) * self.rate_bps / 8e9 - left)
        lacking += (1 - keep) * max(0.0, bucket - lacking)
        self.rate_bps = rate_bps
        self._due_ns = now + lacking * 8e9 / rate_bps
        self.free_ns = min(self.free_ns, now)
        for frame in self.waiting:
            self._plan(frame, now)

    def _plan(self, frame: Frame, now: float) -> None:
        link = self._link
        frame.since_ns = max(now, self.free_ns)
        if not frame.begun:
            frame.start_ns = frame.since_ns
        self._due_ns = max(now, self._due_ns) + frame.left_bytes * 8e9 / self.rate_bps
        ahead_ns = link.bucket_bytes * 8e9 / self.rate_bps
        line_ns = frame.left_bytes * 8e9 / LINE_BPS
        self.free_ns = frame.end_ns = max(frame.since_ns + line_ns, self._due_ns - ahead_ns)
        self._plan_acks(frame)

    def _plan_acks(self, frame: Frame) -> None:
        """Plan acknowledgements: a round trip after the bytes, as fast as those leave."""
        slow_ns, line_ns = 8e9 / self.rate_bps, 8e9 / LINE_BPS
        saved_ns = frame.left_bytes * slow_ns - (frame.end_ns - frame.since_ns)
        fast = saved_ns / (slow_ns - line_ns) if slow_ns > line_ns else 0.0
        frame.fast_bytes = fast if 1.0 < fast < frame.left_bytes - 1.0 else 0.0
        frame.fast_ns = frame.since_ns + frame.fast_bytes * line_ns
        if frame.fast_bytes:
            self._acked(frame.since_ns, frame.fast_ns, frame.fast_bytes)
        self._acked(frame.fast_ns, frame.end_ns, frame.left_bytes - frame.fast_bytes)

    def _acked(self, since_ns: float, until_ns: float, size_bytes: float) -> None:
        """Plan the acknowledgement of bytes that leave evenly, a round trip later."""
        round_trip_ns = 2 * self._link.delay_ns
        self._unacked.append((since_ns + round_trip_ns, until_ns + round_trip_ns, size_bytes))

    def _cut(self, now: float) -> None:
        """Take the plans of the waiting frames back; account for what of the first has left."""
        planned = sum(2 if frame.fast_bytes else 1 for frame in self.waiting)
        kept = min(planned, len(self._unacked))
        for _ in range(kept):
            self._unacked.pop()
        if not self.waiting:
            return
        head = self.waiting[0]
        gone = _gone_bytes(head, now)
        if gone > 0:
            # Of what left at line speed the acknowledgement may have come already.
            acked = head.fast_bytes if kept < planned else 0.0
            self._acked(head.since_ns, now, gone - acked)
            head.left_bytes -= gone
            head.begun = True


def _gone_bytes(frame: Frame, now: float) -> float:
    """Number of a frame's `left_bytes` that have left."""
    if now <= frame.since_ns:
        return 0.0
    if now < frame.fast_ns:
        return frame.fast_bytes * (now - frame.since_ns) / (frame.fast_ns - frame.since_ns)
    part = min(1.0, (now - frame.fast_ns) / (frame.end_ns - frame.fast_ns))
    return frame.fast_bytes + (frame.left_bytes - frame.fast_bytes) * part
