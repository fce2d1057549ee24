"""Path of one connection's frames, segment by segment, through a link that is never late.

`h2model.link` lets bytes flow. Here they leave as a kernel in virtual time sends them: in segments,
each when the link's token bucket is not overdrawn (HTB charges a packet after it has left), and
acknowledged one by one. All frames that end in a segment are received at its time. A segment that
is not full leaves only when it is pushed, and takes what comes until then.
"""

from collections import deque
from dataclasses import dataclass
from typing import Final

from h2model.link import Frame
from h2model.protocol import FRAME_HEADER_BYTES
from h2model.records import LinkModel

PACKET_HEADER_BYTES: Final = 66
"""Ethernet, IP and TCP with timestamps."""

_ROUNDING: Final = 1e-6


@dataclass(slots=True)
class Batch:
    """Segments of equal size that leave at equal distances: `count` from number `first` on."""

    first: int
    count: int
    since_ns: float
    step_ns: float
    size_bytes: int

    def time_ns(self, number: int) -> float:
        """Time at which a segment of the batch leaves."""
        return self.since_ns + (number - self.first) * self.step_ns

    def left_by(self, now: float) -> int:
        """Number of the batch's segments that have left."""
        if now < self.since_ns:
            return 0
        if self.count == 1:
            return 1
        return min(self.count, int((now - self.since_ns) / self.step_ns + _ROUNDING) + 1)


@dataclass(slots=True)
class _Placed(Frame):
    """A frame with the numbers of its first and last segment, and of that with its header's end.

    The header ends at `offset` of its segment; 0 is the end of one that it fills.
    """

    first: int = 0
    last: int = 0
    header: int = 0
    offset: int = 0


class SegmentQueue:
    """One connection's unacknowledged segments and its token bucket, like `h2model.link.SendQueue`.

    Attributes
    ----------
    waiting : frames whose last byte has not left, in order
    rate_bps : the connection's share of its path now, of payload
    """

    def __init__(self, link: LinkModel, rate_bps: float) -> None:
        self.rate_bps = rate_bps
        self.waiting: deque[_Placed] = deque()
        self._link = link
        self._full_bytes = link.segment_bytes
        self._packet_bytes = link.segment_bytes + PACKET_HEADER_BYTES
        # When a link without a bucket would be free: the bucket is ahead of it by its bytes.
        self._due_ns = 0.0
        self._last_ns = 0.0
        self._number = 0  # of the segment that is being filled
        self._filled_bytes = 0
        self._pushed_ns: float | None = None  # when that segment leaves
        self._batches: deque[Batch] = deque()  # those not wholly acknowledged
        self._past_bytes = 0
        self._left_ns = 0.0

    @property
    def free_ns(self) -> float:
        """Time at which the last byte that may leave will have left."""
        if self._pushed_ns is not None:
            return self._pushed_ns
        return self._last_ns

    def put(
        self,
        stream: int,
        size_bytes: int,
        now: float,
        counted_bytes: int | None = None,
        beside_bytes: tuple[int, int] = (0, 0),
    ) -> None:
        """Put a frame into the socket buffer, or a piece of one: only the first has a header.

        `counted_bytes` is what the header tells; the piece is all of the frame if it is None.
        `beside_bytes` are those of other frames that leave before it and behind it.
        """
        self._close(now)
        counted = size_bytes if counted_bytes is None else counted_bytes
        header_bytes = FRAME_HEADER_BYTES if counted else 0
        whole = size_bytes + header_bytes + sum(beside_bytes)
        frame = _Placed(stream, size_bytes, whole, counted_bytes=counted)
        frame.first = self._number
        header, frame.offset = divmod(
            self._filled_bytes + beside_bytes[0] + header_bytes, self._full_bytes
        )
        frame.header = self._number + header - (frame.offset == 0 and header > 0)
        self._past_bytes += whole
        self._fill(whole, now)
        frame.last = self._number - (self._filled_bytes == 0)
        self.waiting.append(frame)

    def push(self, now: float) -> None:
        """Let the last segment leave though it is not full."""
        self._close(now)
        if self._filled_bytes and self._pushed_ns is None:
            self._pushed_ns = max(now, self._last_ns, self._due_ns - self._ahead_ns)

    def head(self) -> Frame | None:
        """The first waiting frame, if it is known when its last byte leaves."""
        if not self.waiting:
            return None
        frame = self.waiting[0]
        end_ns = self._time_ns(frame.last)
        if end_ns is None:
            return None
        frame.end_ns = end_ns
        if not frame.begun:
            begin_ns = self._time_ns(frame.first)
            assert begin_ns is not None
            frame.start_ns = max(self._left_ns, begin_ns - self._step_ns)
            self._place_header(frame, end_ns)
            frame.begun = True
        return frame

    def _place_header(self, frame: "_Placed", end_ns: float) -> None:
        """Tell when the segment of a frame's header leaves, and how much of the frame with it."""
        header_ns = self._time_ns(frame.header)
        frame.header_ns = end_ns if header_ns is None else header_ns
        together = 1
        while (
            frame.header + together <= frame.last
            and self._time_ns(frame.header + together) == frame.header_ns
        ):
            together += 1
        room = together * self._full_bytes - (frame.offset or self._full_bytes)
        frame.come_bytes = min(frame.size_bytes, room)
        frame.step_ns = self._step_ns

    def take(self) -> Frame:
        """The first waiting frame, whose last byte has left."""
        frame = self.waiting.popleft()
        self._left_ns = frame.end_ns
        return frame

    def free_bytes(self, now: float) -> float:
        """Room that there is now for unacknowledged bytes."""
        self._forget(now)
        return self._link.past_bytes - self._past_bytes + self._acknowledged_bytes(now)

    def room_at(self, size_bytes: int, now: float) -> float:
        """Time at which there is room for so many more unacknowledged bytes, as planned now."""
        self._forget(now)
        excess = self._past_bytes + size_bytes - self._link.past_bytes
        time = now - self._round_trip_ns
        for batch in self._batches:
            if excess <= 0:
                break
            needed = min(batch.count, -(-excess // batch.size_bytes))
            excess -= needed * batch.size_bytes
            time = batch.time_ns(batch.first + needed - 1)
        if excess > 0 and self._filled_bytes:
            self.push(now)  # nothing else could make room
            time = self.free_ns
        return max(now, time + self._round_trip_ns)

    def replan(self, rate_bps: float, now: float, keep: float = 1.0) -> None:
        """Change the share to `rate_bps` from now on: plan anew what has not left.

        Of what the bucket holds, the connection keeps the part `keep`.
        """
        self._close(now)
        again = self._take_back(now)
        lacking = max(0.0, self._due_ns - now) / self._ns_per_byte
        lacking += (1 - keep) * max(0.0, self._link.bucket_bytes - lacking)
        self.rate_bps = rate_bps
        self._due_ns = now + lacking * self._ns_per_byte
        self._last_ns = min(self._last_ns, now)
        self._plan(again, now)
        if self._pushed_ns is not None:
            self._pushed_ns = None
            self.push(now)

    @property
    def _ns_per_byte(self) -> float:
        """Time of a byte of a packet, its headers among them."""
        return 8e9 / self.rate_bps * self._full_bytes / self._packet_bytes

    @property
    def _step_ns(self) -> float:
        return 8e9 / self.rate_bps * self._full_bytes

    @property
    def _ahead_ns(self) -> float:
        return self._link.bucket_bytes * self._ns_per_byte

    @property
    def _round_trip_ns(self) -> int:
        return 2 * self._link.delay_ns

    def _fill(self, size_bytes: int, now: float) -> None:
        whole, self._filled_bytes = divmod(self._filled_bytes + size_bytes, self._full_bytes)
        if whole:
            self._pushed_ns = None
            first = self._number
            self._number += whole
            self._plan(range(first, self._number), now)

    def _plan(self, segments: range, now: float) -> None:
        """Plan when these full segments leave: at once as far as the bucket allows, then evenly."""
        step = self._step_ns
        for number in segments:
            even_ns = self._due_ns - self._ahead_ns
            since_ns = max(now, self._last_ns, even_ns)
            count = segments.stop - number if since_ns == even_ns else 1
            self._batches.append(Batch(number, count, since_ns, step, self._full_bytes))
            self._due_ns = max(since_ns, self._due_ns) + count * step
            self._last_ns = since_ns + (count - 1) * step
            if number + count == segments.stop:
                return

    def _take_back(self, now: float) -> range:
        """Take the plans of full segments back that have not left; return their numbers."""
        stop = first = self._number
        while self._batches:
            batch = self._batches[-1]
            kept = batch.left_by(now)
            first = batch.first + kept
            self._due_ns -= (batch.count - kept) * self._step_ns
            if kept:
                batch.count = kept
                break
            self._batches.pop()
        return range(first, stop)

    def _close(self, now: float) -> None:
        """Begin another segment if the pushed one has left."""
        if self._pushed_ns is None or self._pushed_ns > now:
            return
        size, since_ns = self._filled_bytes, self._pushed_ns
        self._batches.append(Batch(self._number, 1, since_ns, 0.0, size))
        self._due_ns = (
            max(since_ns, self._due_ns) + (size + PACKET_HEADER_BYTES) * self._ns_per_byte
        )
        self._last_ns = since_ns
        self._number += 1
        self._filled_bytes = 0
        self._pushed_ns = None

    def _time_ns(self, number: int) -> float | None:
        """Time at which a segment leaves, None if that is not known yet."""
        if number == self._number:
            return self._pushed_ns
        for batch in self._batches:
            if number < batch.first + batch.count:
                return batch.time_ns(number)
        return self._last_ns

    def _acknowledged_bytes(self, now: float) -> int:
        known_ns = now - self._round_trip_ns
        return sum(batch.left_by(known_ns) * batch.size_bytes for batch in self._batches)

    def _forget(self, now: float) -> None:
        """Drop batches that are acknowledged and whose frames have left."""
        self._close(now)
        known_ns = now - self._round_trip_ns
        needed = self.waiting[0].first if self.waiting else self._number
        while self._batches:
            batch = self._batches[0]
            stop = batch.first + batch.count
            if batch.time_ns(stop - 1) > known_ns or stop > needed:
                return
            self._past_bytes -= batch.count * batch.size_bytes
            self._batches.popleft()
