"""Frames of one connection on their way through TCP, as its sender's simulation knows them."""

import math
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass

from h2model.link import Frame
from h2model.protocol import FRAME_HEADER_BYTES, PING_FRAME_BYTES
from h2model.records import SOON_NS, LinkModel
from h2model.segments import SEGMENT_MEMORY_BYTES, room_bytes
from h2model.tcp.connection import TcpWay

Came = Callable[[float], None]
"""Takes a time."""


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

    Parameters
    ----------
    link, way
        The path, and how packets go it.
    begins_early
        True if frames are told of when they begin to come, with an estimate of their ends.

    Attributes
    ----------
    waiting : frames whose last byte has not come, in order
    rate_bps : of the path alone
    """

    def __init__(self, link: LinkModel, way: TcpWay, *, begins_early: bool = False) -> None:
        self.begins_early = begins_early
        self.rate_bps = link.rate_bps
        self.waiting: deque[_Placed] = deque()
        self._link = link
        self._way = way
        self._limit_bytes = link.send_memory_bytes or link.past_bytes
        self._extra_bytes = SEGMENT_MEMORY_BYTES if link.send_memory_bytes else 0
        self._coming: deque[tuple[int, float]] = deque()
        self._left_ns = 0.0
        self._controls: deque[tuple[int, Came]] = deque()  # last bytes of frames without DATA

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

    def put_control(self, size_bytes: int, now: float, came: Came | None = None) -> None:
        """Put frames without DATA, a write of their own.

        `came` is told when they have come, less the delay, once `look` finds that they have.
        """
        self._way.write(size_bytes)
        if came is not None:
            self._controls.append((self._way.written_bytes, came))
        self._way.push(now)

    def at(self, time_ns: float, act: Came) -> None:
        """Let something happen at a time."""
        self._way.at(time_ns, act)

    def look(self) -> None:
        """Tell of frames without DATA that have come; to be called when the way has moved."""
        self._take_coming()
        while self._controls:
            last_byte, came = self._controls[0]
            time_ns = self._comes_ns(last_byte)
            if math.isinf(time_ns):
                break
            self._controls.popleft()
            came(time_ns)
        self._forget()

    def push(self, now: float) -> None:
        """Let the last segment leave though it is not full."""
        self._way.push(now)

    def charge(self, now: float) -> None:
        """Do nothing: acknowledgements are packets of their own."""

    def replan(self, rate_bps: float, now: float, keep: float = 1.0) -> None:
        """Do nothing: nobody tells TCP its rate."""

    def head(self) -> Frame | None:
        """The first waiting frame, if it is known when its last byte will have come."""
        frame = self._first()
        if frame is None or math.isinf(end_ns := self._comes_ns(frame.last_byte)):
            return None
        frame.end_ns = end_ns
        if not frame.begun:
            self._place(frame)
        return frame

    def begins(self) -> Frame | None:
        """The first waiting frame, if it is known when its header comes, and was not told of."""
        frame = self._first()
        if frame is None or frame.begun or math.isinf(self._comes_ns(frame.header_byte)):
            return None
        frame.end_ns = self._comes_ns(frame.last_byte)
        if math.isinf(frame.end_ns):
            come_ns, come_bytes = self._coming[-1][1], frame.last_byte - self._coming[-1][0]
            steps = -(-come_bytes // self._link.segment_bytes)
            frame.end_ns = come_ns - self._link.delay_ns + steps * self._way.segment_ns
        self._place(frame)
        return frame

    def _first(self) -> _Placed | None:
        self._take_coming()
        return self.waiting[0] if self.waiting else None

    def _take_coming(self) -> None:
        self._coming.extend(self._way.coming)
        self._way.coming.clear()

    def _place(self, frame: _Placed) -> None:
        frame.begun = True
        frame.step_ns = self._step_ns
        first_ns = self._comes_ns(frame.first_byte + 1)
        frame.start_ns = max(self._left_ns, first_ns - frame.step_ns)
        frame.header_ns = self._comes_ns(frame.header_byte)
        frame.ahead_ns = min(frame.end_ns, self._comes_ns(frame.first_byte + PING_FRAME_BYTES))
        frame.come_bytes = self._payload_bytes(frame, frame.header_ns)
        frame.soon_bytes = self._payload_bytes(frame, frame.header_ns + SOON_NS)

    @property
    def _step_ns(self) -> float:
        if self.begins_early:
            return self._way.segment_ns
        return 8e9 / self.rate_bps * self._link.segment_bytes

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
        frame.behind_ns = frame.end_ns + self._step_ns if math.isinf(behind_ns) else behind_ns
        self._forget()
        return frame

    def _forget(self) -> None:
        """Drop what was come of before the first frame that waits."""
        known_byte = self.waiting[0].first_byte if self.waiting else self._way.written_bytes
        if self._controls:
            known_byte = min(known_byte, self._controls[0][0] - 1)
        while self._coming and self._coming[0][0] <= known_byte:
            self._coming.popleft()

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
