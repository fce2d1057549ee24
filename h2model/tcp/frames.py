"""Frames of one connection on their way through TCP, as its sender's simulation knows them."""

import math
from collections import deque
from dataclasses import dataclass

from h2model.link import Frame
from h2model.protocol import FRAME_HEADER_BYTES, PING_FRAME_BYTES
from h2model.records import SOON_NS, LinkModel
from h2model.segments import SEGMENT_MEMORY_BYTES, room_bytes
from h2model.tcp.connection import TcpWay


@dataclass(slots=True)
class _Placed(Frame):
    """A frame, by where it lies in the connection's bytes."""

    first_byte: int = 0
    header_byte: int = 0
    last_byte: int = 0
    behind_byte: int = 0


class TcpQueue:
    """Frames in the socket buffer of one way of a TCP connection: an `h2model.link.Queue`.

    Times of a frame are known when nothing can be in the way of its last segment any more; they
    are those at the receiver less the path's delay. One queue serves all bursts of a connection.

    Attributes
    ----------
    waiting : frames whose last byte has not come, in order
    rate_bps : of the path alone
    """

    def __init__(self, link: LinkModel, way: TcpWay) -> None:
        self.rate_bps = link.rate_bps
        self.waiting: deque[_Placed] = deque()
        self._link = link
        self._way = way
        self._limit_bytes = link.send_memory_bytes or link.past_bytes
        self._extra_bytes = SEGMENT_MEMORY_BYTES if link.send_memory_bytes else 0
        self._coming: deque[tuple[int, float]] = deque()
        self._left_ns = 0.0

    @property
    def free_ns(self) -> float:
        """Time of the last frame that was taken: when others will have left is not known."""
        return self._left_ns

    def put(
        self,
        stream: int,
        size_bytes: int,
        now: float,
        counted_bytes: int | None = None,
        beside_bytes: tuple[int, int] = (0, 0),
    ) -> Frame:
        """Put a frame into the socket buffer; see `h2model.link.Queue.put`."""
        counted = size_bytes if counted_bytes is None else counted_bytes
        header_bytes = FRAME_HEADER_BYTES if counted else 0
        whole = size_bytes + header_bytes + sum(beside_bytes)
        frame = _Placed(stream, size_bytes, whole, counted_bytes=counted)
        frame.first_byte = self._way.written_bytes
        frame.header_byte = frame.first_byte + beside_bytes[0] + header_bytes
        frame.behind_byte = frame.first_byte + whole
        frame.last_byte = frame.behind_byte - beside_bytes[1]
        self._way.write(whole)
        self.waiting.append(frame)
        self._way.send(now)
        return frame

    def put_control(self, size_bytes: int, now: float) -> None:
        """Put frames without DATA, a write of their own."""
        self._way.write(size_bytes)
        self._way.push(now)

    def push(self, now: float) -> None:
        """Let the last segment leave though it is not full."""
        self._way.push(now)

    def charge(self, now: float) -> None:
        """Do nothing: acknowledgements are packets of their own."""

    def replan(self, rate_bps: float, now: float, keep: float = 1.0) -> None:
        """Do nothing: nobody tells TCP its rate."""

    def head(self) -> Frame | None:
        """The first waiting frame, if it is known when its last byte will have come."""
        if not self.waiting:
            return None
        self._coming.extend(self._way.coming)
        self._way.coming.clear()
        frame = self.waiting[0]
        end_ns = self._comes_ns(frame.last_byte)
        if math.isinf(end_ns):
            return None
        if not frame.begun:
            self._place(frame, end_ns)
        return frame

    def _place(self, frame: _Placed, end_ns: float) -> None:
        frame.begun = True
        frame.end_ns = end_ns
        frame.step_ns = 8e9 / self.rate_bps * self._link.segment_bytes
        first_ns = self._comes_ns(frame.first_byte + 1)
        frame.start_ns = max(self._left_ns, first_ns - frame.step_ns)
        frame.header_ns = self._comes_ns(frame.header_byte)
        frame.ahead_ns = min(end_ns, self._comes_ns(frame.first_byte + PING_FRAME_BYTES))
        frame.come_bytes = self._payload_bytes(frame, frame.header_ns)
        frame.soon_bytes = self._payload_bytes(frame, frame.header_ns + SOON_NS)

    def _comes_ns(self, byte: int) -> float:
        """Time at which all up to a byte has come, less the delay; infinite if it is not known."""
        for end_bytes, time_ns in self._coming:
            if end_bytes >= byte:
                return time_ns - self._link.delay_ns
        return math.inf

    def _payload_bytes(self, frame: _Placed, until_ns: float) -> int:
        """Payload of a frame that has come by then."""
        come = frame.header_byte
        for end_bytes, time_ns in self._coming:
            if time_ns - self._link.delay_ns > until_ns:
                break
            come = end_bytes
        return max(0, min(frame.size_bytes, come - frame.header_byte))

    def take(self) -> Frame:
        """The first waiting frame, whose last byte has come."""
        frame = self.waiting.popleft()
        self._left_ns = frame.end_ns
        behind_ns = self._comes_ns(frame.behind_byte)
        frame.behind_ns = frame.end_ns + frame.step_ns if math.isinf(behind_ns) else behind_ns
        while self._coming and self._coming[0][0] <= frame.last_byte:
            self._coming.popleft()
        return frame

    def free_bytes(self, now: float) -> float:
        """Room that there is now for bytes: a segment that is begun may be filled."""
        free, begun = self._free(), self._begun_bytes
        if not self._extra_bytes:
            return free
        return room_bytes(free, begun, self._link.segment_bytes)

    def room_at(self, size_bytes: int, now: float) -> float:
        """Now if so much of what bounds it is free, bytes or memory; else infinite."""
        if self._free() >= size_bytes:
            return now
        if self._begun_bytes:
            self._way.push(now)  # nothing else could make room
        return math.inf

    @property
    def _begun_bytes(self) -> int:
        return self._way.unsent_bytes % self._link.segment_bytes

    def _free(self) -> int:
        used_bytes = self._way.unacknowledged_bytes
        if self._extra_bytes:
            used_bytes += self._way.unacknowledged_segments * self._extra_bytes
        return self._limit_bytes - used_bytes
