"""Path of one connection's frames, segment by segment, through a link that is never late.

`h2model.link` lets bytes flow. Here they leave as a kernel in virtual time sends them: in segments,
each when the link's token bucket is not overdrawn (HTB charges a packet after it has left), and
acknowledged one by one. All frames that end in a segment are received at its time. A segment that
is not full waits until it is pushed. Then it goes to the link's queue, where nothing is added to it
any more: at once, or as soon as fewer segments are under way than may be
(`LinkModel.flight_segments`).

A socket buffer has room as long as its memory is not used up, of which each segment takes more than
its bytes; where a sender keeps to a bound of its own, bytes count.
"""

import math
from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from h2model.link import Frame
from h2model.protocol import FRAME_HEADER_BYTES, PING_FRAME_BYTES
from h2model.records import SOON_NS, LinkModel
from h2model.slow_start import SlowStart

PACKET_HEADER_BYTES: Final = 66
"""Ethernet, IP and TCP with timestamps."""

SEGMENT_MEMORY_BYTES: Final = 832
"""Memory of a segment beside its bytes (sk_buff and its head), as SO_MEMINFO tells on 64 bits."""

FREED_NS: Final = 1_024
"""Time after which a segment that has left makes room in TCP: four readings of a guest's clock."""

_ROUNDING: Final = 1e-6
_SAME_NS: Final = 1e-3


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

    What was put with it ends in segment `behind`, and a PING's answer would in `ahead`. The header
    ends at `offset` of its segment; 0 is the end of one that it fills.
    """

    first: int = 0
    last: int = 0
    behind: int = 0
    header: int = 0
    ahead: int = 0
    offset: int = 0


class SegmentQueue:
    """One connection's unacknowledged segments and its token bucket: an `h2model.link.Queue`.

    Attributes
    ----------
    waiting : frames whose last byte has not left, in order
    rate_bps : the connection's share of its path now, of payload

    Parameters
    ----------
    link, rate_bps
        The path, and the share of it at first.
    starts
        True for the first burst of a connection: TCP's window is still to be widened.
    """

    def __init__(self, link: LinkModel, rate_bps: float, *, starts: bool = False) -> None:
        self.rate_bps = rate_bps
        self.waiting: deque[_Placed] = deque()
        self._link = link
        self._full_bytes = link.segment_bytes
        self._packet_bytes = link.segment_bytes + PACKET_HEADER_BYTES
        # When a link without a bucket would be free: the bucket is ahead of it by its bytes.
        self._due_ns = -math.inf
        self._last_ns = 0.0
        self._start = SlowStart(2 * link.delay_ns) if starts else None
        self._number = 0  # of the segment that is being filled
        self._filled_bytes = 0
        self._open_ns: float | None = None  # until when that takes what comes, once it is pushed
        self._batches: deque[Batch] = deque()  # those not wholly acknowledged
        self._limit_bytes = link.send_memory_bytes or link.past_bytes
        self._extra_bytes = SEGMENT_MEMORY_BYTES if link.send_memory_bytes else 0
        self._used_bytes = 0  # by the batches
        self._forgotten_ns = 0.0  # when the last of those left that are in no batch any more
        self._left_ns = 0.0

    @property
    def free_ns(self) -> float:
        """Time at which the last byte that may leave will have left."""
        return self._last_ns if self._open_ns is None else self._leaves_ns(self._open_ns)

    def put(
        self,
        stream: int,
        size_bytes: int,
        now: float,
        counted_bytes: int | None = None,
        beside_bytes: tuple[int, int] = (0, 0),
    ) -> Frame:
        """Put a frame into the socket buffer; see `h2model.link.Queue.put`."""
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
        frame.ahead = self._number + (self._filled_bytes + PING_FRAME_BYTES - 1) // self._full_bytes
        self._fill(whole - beside_bytes[1], now)
        frame.last = self._number - (self._filled_bytes == 0)
        if beside_bytes[1]:
            self._fill(beside_bytes[1], now)
        frame.behind = self._number - (self._filled_bytes == 0)
        self.waiting.append(frame)
        return frame

    def put_control(self, size_bytes: int, now: float) -> None:
        """Put frames without DATA, a write of their own."""
        self._close(now)
        self._fill(size_bytes, now)
        self.push(now)

    def push(self, now: float) -> None:
        """Let the last segment leave though it is not full."""
        self._close(now)
        if self._filled_bytes and self._open_ns is None:
            self._open_ns = max(now, self._queued_ns())
            self._close(now)

    def _queued_ns(self) -> float:
        """Time from which the segment that is being filled may go into the link's queue."""
        if self._start is not None:
            return self._start.allowed_ns(self._number)
        return max(0.0, self._acknowledged_ns())

    def _acknowledged_ns(self) -> float:
        """Time from which TCP has few enough segments in flight for the next one."""
        flight = self._link.flight_segments
        if not flight or self._number < flight:
            return -math.inf
        return (self._time_ns(self._number - flight) or 0.0) + self._round_trip_ns

    def _leaves_ns(self, now: float) -> float:
        """Time at which the next segment leaves if it is there by now."""
        leaves_ns, room_ns = self._passes_ns(now), self._acknowledged_ns()
        return leaves_ns if leaves_ns > room_ns + _SAME_NS else room_ns + FREED_NS

    def _passes_ns(self, now: float) -> float:
        """Time at which the bucket lets a packet pass."""
        return max(now, self._last_ns, self._due_ns - self._ahead_ns)

    def _close(self, now: float) -> None:
        """Put the pushed segment into the link's queue if its time has come."""
        if self._open_ns is None or self._open_ns > now + _SAME_NS:
            return
        self._plan([(1, self._filled_bytes)], self._open_ns)
        self._filled_bytes, self._open_ns = 0, None

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
        ahead_ns = self._time_ns(frame.ahead)
        frame.ahead_ns = end_ns if ahead_ns is None else ahead_ns
        frame.come_bytes = self._payload_bytes(frame, frame.header_ns)
        frame.soon_bytes = self._payload_bytes(frame, frame.header_ns + SOON_NS)
        frame.step_ns = self._step_ns

    def _payload_bytes(self, frame: "_Placed", until_ns: float) -> int:
        """Payload of a frame in the segments that have left by then, of which the first has."""
        count = 1
        while (
            frame.header + count <= frame.last
            and (time_ns := self._time_ns(frame.header + count)) is not None
            and time_ns <= until_ns
        ):
            count += 1
        room = count * self._full_bytes - (frame.offset or self._full_bytes)
        return min(frame.size_bytes, room)

    def take(self) -> Frame:
        """The first waiting frame, whose last byte has left."""
        frame = self.waiting.popleft()
        self._left_ns = frame.end_ns
        behind_ns = self._time_ns(frame.behind)
        frame.behind_ns = frame.end_ns + self._step_ns if behind_ns is None else behind_ns
        return frame

    def free_bytes(self, now: float) -> float:
        """Room that there is now for bytes: a segment that is begun may be filled."""
        self._forget(now)
        used = self._used_bytes - self._acknowledged_bytes(now)
        if not self._extra_bytes:
            return self._limit_bytes - used - self._filled_bytes
        free = self._limit_bytes - used - self._cost(self._filled_bytes)
        return room_bytes(free, self._filled_bytes, self._full_bytes)

    def room_at(self, size_bytes: int, now: float) -> float:
        """Time at which so much of what bounds it is free, bytes or memory, as planned now."""
        self._forget(now)
        filled = self._cost(self._filled_bytes)
        excess = self._used_bytes + filled + size_bytes - self._limit_bytes
        time = now - self._round_trip_ns
        for batch in self._batches:
            if excess <= 0:
                break
            each = self._cost(batch.size_bytes)
            needed = min(batch.count, -(-excess // each))
            excess -= needed * each
            time = batch.time_ns(batch.first + int(needed) - 1)
        if excess > 0 and self._filled_bytes:
            self.push(now)  # nothing else could make room
            time = self.free_ns
        return max(now, time + self._round_trip_ns)

    def charge(self, now: float) -> None:
        """Let a packet without data pass, behind the segments that are in the link's queue."""
        self._close(now)
        again: list[tuple[int, int]] = []
        if self._link.flight_segments:
            ahead, again = _split(self._take_back(now), self._link.flight_segments)
            self._last_ns = min(self._last_ns, now)
            self._plan(ahead, now)
        leaves_ns = self._passes_ns(now)
        self._due_ns = max(leaves_ns, self._due_ns) + PACKET_HEADER_BYTES * self._ns_per_byte
        self._last_ns = leaves_ns
        self._plan(again, now)

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
        if self._open_ns is not None:
            self._open_ns = max(now, self._queued_ns())

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

    def _cost(self, size_bytes: int) -> int:
        """Part of the socket buffer that a segment of so many bytes takes."""
        return size_bytes + self._extra_bytes if size_bytes else 0

    def _fill(self, size_bytes: int, now: float) -> None:
        whole, self._filled_bytes = divmod(self._filled_bytes + size_bytes, self._full_bytes)
        if whole:
            self._open_ns = None
            self._plan([(whole, self._full_bytes)], now)

    def _plan(self, groups: Iterable[tuple[int, int]], now: float) -> None:
        """Plan when segments leave, so many of a size: as far as the bucket allows, then evenly."""
        for count, size_bytes in groups:
            self._used_bytes += count * self._cost(size_bytes)
            self._plan_group(count, size_bytes, now)

    def _plan_group(self, left: int, size_bytes: int, now: float) -> None:
        step = (size_bytes + PACKET_HEADER_BYTES) * self._ns_per_byte
        while left:
            even_ns = self._due_ns - self._ahead_ns
            since_ns = max(self._leaves_ns(now), self._allowed_ns())
            count = left if since_ns == even_ns and self._start is None else 1
            self._add(Batch(self._number, count, since_ns, step, size_bytes))
            if self._start is not None:
                self._start.leaves(self._number, since_ns)
            self._number += count
            self._due_ns = max(since_ns, self._due_ns) + count * step
            self._last_ns = since_ns + (count - 1) * step
            left -= count

    def _add(self, batch: Batch) -> None:
        """Add a batch, to the one before if it goes on evenly."""
        last = self._batches[-1] if self._batches else None
        if (
            last is not None
            and (last.size_bytes, last.step_ns) == (batch.size_bytes, batch.step_ns)
            and abs(last.time_ns(batch.first) - batch.since_ns) <= _SAME_NS
        ):
            last.count += batch.count
        else:
            self._batches.append(batch)

    def _allowed_ns(self) -> float:
        """Time from which TCP's window allows the next segment, until it covers the path."""
        if self._start is None:
            return 0.0
        path = (self._round_trip_ns + self._ahead_ns) / self._step_ns
        if self._start.window(self._number) > path + 1:
            self._start = None
            return 0.0
        return self._start.allowed_ns(self._number)

    def _take_back(self, now: float) -> list[tuple[int, int]]:
        """Take the plans of segments back that have not left; how many of which size."""
        groups: deque[tuple[int, int]] = deque()
        while self._batches:
            batch = self._batches[-1]
            kept = batch.left_by(now)
            taken = batch.count - kept
            self._due_ns -= taken * batch.step_ns
            self._number -= taken
            self._used_bytes -= taken * self._cost(batch.size_bytes)
            if taken:
                groups.appendleft((taken, batch.size_bytes))
            if kept:
                batch.count = kept
                break
            self._batches.pop()
        return list(groups)

    def _time_ns(self, number: int) -> float | None:
        """Time at which a segment leaves, None if that is not known yet."""
        if number == self._number:
            return None if self._open_ns is None else self._leaves_ns(self._open_ns)
        for batch in self._batches:
            if number < batch.first:
                break
            if number < batch.first + batch.count:
                return batch.time_ns(number)
        return self._forgotten_ns

    def _acknowledged_bytes(self, now: float) -> int:
        known_ns = now - self._round_trip_ns
        return sum(b.left_by(known_ns) * self._cost(b.size_bytes) for b in self._batches)

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
            self._used_bytes -= batch.count * self._cost(batch.size_bytes)
            self._forgotten_ns = batch.time_ns(stop - 1)
            self._batches.popleft()


def room_bytes(free_bytes: int, begun_bytes: int, full_bytes: int) -> int:
    """Bytes that a socket takes while so much of its memory is free.

    A segment that is begun may be filled, and one more begun as long as any memory is left then.
    """
    rest = full_bytes - begun_bytes if begun_bytes else 0
    cost = full_bytes + SEGMENT_MEMORY_BYTES
    return rest + max(0, -(-(free_bytes - rest) // cost)) * full_bytes


def _split(groups: list[tuple[int, int]], count: int) -> tuple[list[tuple[int, int]], ...]:
    """The first so many segments of groups, and the others."""
    first, others = [], []
    for number, size_bytes in groups:
        taken = min(number, count)
        count -= taken
        if taken:
            first.append((taken, size_bytes))
        if number > taken:
            others.append((number - taken, size_bytes))
    return first, others
