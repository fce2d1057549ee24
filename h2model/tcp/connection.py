"""Sending end of one way of a TCP connection: segments, what is lost, and what is sent again.

Modelled is what Linux does (net/ipv4/tcp_input.c, tcp_output.c, tcp_recovery.c): what was sent
before something that has come is lost (RFC 8985, RACK), a quarter of a round trip later while fewer
than three segments have overtaken it; windows shrink in proportion (`reduction`); where nothing
comes any more a probe of the tail goes out, or a timeout repairs all (RFC 6298).
"""

import heapq
import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Final, Literal, Protocol

from h2model.segments import PACKET_HEADER_BYTES
from h2model.tcp.cubic import Cubic
from h2model.tcp.network import PacketNetwork, Port
from h2model.tcp.receiver import Receiver
from h2model.tcp.reduction import Reduction
from h2model.tcp.timer import Reason, Timer

MOST_OVERTAKEN: Final = 3
"""Segments that overtake one in the network before it counts as lost at once."""

LEAST_TIMEOUT_NS: Final = 200_000_000
PROBE_MORE_NS: Final = 20_000_000
"""Two ticks of a kernel's clock, beyond two round trips."""

_ROUNDING_NS: Final = 1.0


@dataclass(slots=True)
class _Segment:
    """A segment that was sent; `again`: once more, and not yet taken for lost since."""

    number: int
    end_byte: int
    size_bytes: int
    sent_ns: float
    delivered: bool = False
    lost: bool = False
    again: bool = False
    was_again: bool = False


class Window(Protocol):
    """A congestion window."""

    window: int
    threshold: float

    @property
    def slow_start(self) -> bool:
        """True while the window is below the threshold."""

    def sampled(self, rtt_ns: float, acknowledged: int, sent: int, now: float) -> None:
        """Take a round trip's time; segments below `acknowledged` are, `sent` have been sent."""

    def grow(self, acknowledged: int, now: float) -> None:
        """Grow by what was acknowledged, while the window is what bounds the sender."""

    def lost(self) -> int:
        """Note a loss; the threshold that follows from it."""

    def timed_out(self) -> None:
        """Note that a timer ran out."""

    def rested(self, since_ns: float, now: float) -> None:
        """Leave out a rest of the sender."""


class TcpWay:
    """One way of a connection, whose bytes a sender writes.

    Parameters
    ----------
    network, forth, back
        Where packets go, and the ports that they cross.
    segment_bytes
        Of a full segment's payload.
    position
        By which the network tells when acknowledgements have made room, or it is known when bytes
        will have come.
    class_id
        Class of its packets in ports that serve these in turns.
    window
        The congestion window; None: CUBIC's.

    Attributes
    ----------
    congestion : its congestion window
    written_bytes : all that was written
    coming : ends of segments, and when all bytes up to there are at the receiver: those that are
        known since they were last taken
    """

    def __init__(
        self,
        network: PacketNetwork,
        forth: tuple[Port, ...],
        back: tuple[Port, ...],
        *,
        segment_bytes: int,
        position: int,
        class_id: int = 0,
        window: Window | None = None,
    ) -> None:
        # A handshake, SETTINGS and their acknowledgements have found the path empty.
        self._srtt_ns = self._least_rtt_ns = float(sum(p.delay_ns for p in (*forth, *back)))
        self.congestion: Window = Cubic(self._least_rtt_ns) if window is None else window
        self.written_bytes = 0
        self.coming: list[tuple[int, float]] = []
        self._network = network
        self._forth = forth
        self._class_id = class_id
        self._segment_bytes = segment_bytes
        self._position = position
        self._receiver = Receiver(network, back, self)
        self._timer = Timer(network, self._runs_out)
        self._pushed_bytes = self._sent_bytes = self._acknowledged_bytes = 0
        self._segments: list[_Segment] = []
        self._first = self._next = 0  # numbers: not acknowledged, not sent
        self._overtook = self._lost = self._again = 0  # segments between the two
        self._to_send_again: list[int] = []
        self._seen = 0  # of what has come to the receiver
        self._newest = (-math.inf, -1)  # sending time and number of the last sent that has come
        self._newest_rtt_ns = 0.0
        self._state: Literal["open", "recovery", "timed out"] = "open"
        self._repaired = 0  # number up to which a recovery lasts
        self._reduction = Reduction(1, 1)
        self._limited, self._most_out, self._limited_until = False, 0, 0
        self._last_sent_ns = -math.inf
        self._timeouts = 0
        self._probe: int | None = None
        self._comes_ns: list[float] = []  # by number; nan while it is not known
        self._known = 0
        self._whole_ns = 0.0

    def write(self, size_bytes: int) -> None:
        """Take bytes; `send` sends full segments of them."""
        self.written_bytes += size_bytes

    def push(self, now: float) -> None:
        """Let all that was written leave."""
        self._pushed_bytes = self.written_bytes
        self.send(now)

    def at(self, time_ns: float, act: Callable[[float], None]) -> None:
        """Let something happen at a time, or now if that is over."""
        self._network.at(max(time_ns, self._network.now_ns), act)

    @property
    def unsent_bytes(self) -> int:
        """Bytes that were written and not sent."""
        return self.written_bytes - self._sent_bytes

    @property
    def unacknowledged_bytes(self) -> int:
        """Bytes that were written and not acknowledged."""
        return self.written_bytes - self._acknowledged_bytes

    @property
    def unacknowledged_segments(self) -> int:
        """Segments that were not acknowledged, those of unsent bytes among them."""
        return self._next - self._first - (-self.unsent_bytes // self._segment_bytes)

    def send(self, now: float) -> None:
        """Send what the window allows: first again what was lost."""
        sent = False
        while self._in_flight < self.congestion.window:
            if self._to_send_again:
                segment = self._segments[heapq.heappop(self._to_send_again)]
                if segment.lost and not segment.delivered and not segment.again:
                    self._send_again(segment, now)
            elif size := self._sendable_bytes():
                self._send_new(size, now)
                sent = True
            else:
                break
        self._note_use(sent=sent)
        if sent:
            self._set_timer(now)

    def _sendable_bytes(self) -> int:
        """Size of the next segment; 0 if none may leave."""
        if self.unsent_bytes >= self._segment_bytes:
            return self._segment_bytes
        return self.unsent_bytes if self._pushed_bytes > self._sent_bytes else 0

    @property
    def _in_flight(self) -> int:
        return self._next - self._first - self._overtook - self._lost + self._again

    def _send_new(self, size_bytes: int, now: float) -> None:
        if self._in_flight == 0:
            self.congestion.rested(self._last_sent_ns, now)
        self._sent_bytes += size_bytes
        segment = _Segment(self._next, self._sent_bytes, size_bytes, now)
        self._segments.append(segment)
        self._comes_ns.append(math.nan)
        self._next += 1
        self._transmit(segment, now)

    def _send_again(self, segment: _Segment, now: float) -> None:
        self._again += not segment.again
        segment.again = segment.was_again = True
        segment.sent_ns = now
        self._transmit(segment, now)

    def _transmit(self, segment: _Segment, now: float) -> None:
        self._reduction.sends()
        self._last_sent_ns = now
        size_bytes = segment.size_bytes + PACKET_HEADER_BYTES
        self._network.send(
            self._forth, size_bytes, segment.number, self._receiver, now, self._class_id
        )

    def _note_use(self, *, sent: bool) -> None:
        """Remember whether the window is what bounds the sender."""
        limited = self._in_flight >= self.congestion.window
        out = self._next - self._first
        if (sent or limited) and (
            limited
            or self._first >= self._limited_until
            or (not self._limited and out > self._most_out)
        ):
            self._limited, self._most_out, self._limited_until = limited, out, self._next

    @property
    def _may_grow(self) -> bool:
        slow_start = self.congestion.slow_start and self.congestion.window < 2 * self._most_out
        return self._limited or slow_start

    def expects(self, number: int, time_ns: float) -> None:
        """Do nothing: when an acknowledgement will come is of no use before."""

    def will_come(self, number: int, time_ns: float) -> None:
        """Learn when a segment will be at the receiver."""
        if not math.isnan(self._comes_ns[number]):
            return
        self._comes_ns[number] = time_ns
        if number != self._known:
            return
        while self._known < self._next and not math.isnan(self._comes_ns[self._known]):
            self._whole_ns = max(self._whole_ns, self._comes_ns[self._known])
            self.coming.append((self._segments[self._known].end_byte, self._whole_ns))
            self._known += 1
        if time_ns > self._network.now_ns:
            self._network.moved(self._position, self._network.now_ns)
        else:  # others may come at this moment
            self._network.at(time_ns, partial(self._network.moved, self._position))

    @property
    def segment_ns(self) -> float:
        """Time from a full segment to the next one, while those share its path that do now."""
        size_bytes = self._segment_bytes + PACKET_HEADER_BYTES
        return max(port.segment_ns(self._class_id, size_bytes) for port in self._forth)

    def arrives(self, number: int, now: float) -> None:
        """Take an acknowledgement: of so many as had come when it was sent."""
        came = self._receiver.came[self._seen : number]
        self._seen = max(self._seen, number)
        before = self._first
        delivered = self._take(came, now)
        while self._first < self._next and self._segments[self._first].delivered:
            self._acknowledged_bytes = self._segments[self._first].end_byte
            self._first += 1
            self._overtook -= 1
        self._react(delivered, now, advanced=self._first > before)
        self.send(now)
        if self._first > before:
            self._network.moved(self._position, now)

    def _take(self, came: list[int], now: float) -> int:
        """Note what has come; how many segments are new."""
        delivered, rtt_ns = 0, math.nan
        for number in came:
            segment = self._segments[number]
            if segment.delivered:
                continue
            segment.delivered = True
            delivered += 1
            self._overtook += 1
            self._lost -= segment.lost
            self._again -= segment.again
            took_ns = now - segment.sent_ns
            if not segment.was_again:
                rtt_ns = took_ns
            elif took_ns < self._least_rtt_ns:
                continue  # the answer to what was sent before
            if (segment.sent_ns, number) > self._newest:
                self._newest, self._newest_rtt_ns = (segment.sent_ns, number), took_ns
        if not math.isnan(rtt_ns):
            self._sample(rtt_ns, now)
        return delivered

    def _sample(self, rtt_ns: float, now: float) -> None:
        self._least_rtt_ns = min(self._least_rtt_ns, rtt_ns)
        self._srtt_ns += (rtt_ns - self._srtt_ns) / 8
        first = self._first
        while first < self._next and self._segments[first].delivered:
            first += 1
        self.congestion.sampled(rtt_ns, first, self._next, now)

    def _react(self, delivered: int, now: float, *, advanced: bool) -> None:
        """Change window and state behind an acknowledgement."""
        if advanced:
            self._timeouts = 0
            self._end_probe()
        if self._state != "open" and self._first >= self._repaired:
            if self._state == "recovery":
                self.congestion.window = int(self.congestion.threshold)
            self._state = "open"
        lost = self._find_lost(now) if self._overtook or self._state != "open" else 0
        if lost and self._state == "open":
            self._begin_recovery()
        if delivered and self._state == "recovery":
            self._reduce(delivered, repairs=advanced and not lost)
        elif delivered and self._may_grow and (advanced or self._state == "timed out"):
            self.congestion.grow(delivered, now)
        if advanced:
            self._set_timer(now)

    def _end_probe(self) -> None:
        """A probe that was a segment sent again, and was needed, tells of a loss."""
        if self._probe is not None and self._first > self._probe:
            if self._state == "open" and self._segments[self._probe].was_again:
                self.congestion.window = self.congestion.lost()
            self._probe = None

    def _find_lost(self, now: float) -> int:
        """Take for lost what was sent before something that has come, and has had its time."""
        patience_ns = 0.0
        if self._state == "open" and self._overtook < MOST_OVERTAKEN:
            patience_ns = min(self._least_rtt_ns / 4, self._srtt_ns / 8)
        found, longest_ns = 0, 0.0
        for segment in self._segments[self._first : self._next]:
            if segment.delivered or (segment.lost and not segment.again):
                continue
            if (segment.sent_ns, segment.number) >= self._newest:
                continue
            left_ns = self._newest_rtt_ns + patience_ns - (now - segment.sent_ns)
            if left_ns <= _ROUNDING_NS:
                self._lose(segment)
                found += 1
            else:
                longest_ns = max(longest_ns, left_ns)
        if longest_ns > 0:
            self._timer.arm("reordering", now + longest_ns)
        return found

    def _lose(self, segment: _Segment) -> None:
        self._again -= segment.again
        self._lost += not segment.lost
        segment.lost, segment.again = True, False
        heapq.heappush(self._to_send_again, segment.number)

    def _begin_recovery(self) -> None:
        self._state, self._repaired = "recovery", self._next
        before = self.congestion.window
        self._reduction = Reduction(before, self.congestion.lost())

    def _reduce(self, delivered: int, *, repairs: bool) -> None:
        self.congestion.window = self._reduction.window(delivered, self._in_flight, repairs=repairs)

    def _set_timer(self, now: float) -> None:
        """Arm the timer for a probe, or else for a timeout."""
        out = self._next - self._first
        if not out:
            self._timer.stop()
            return
        timeout_ns = (self._srtt_ns + LEAST_TIMEOUT_NS) * 2**self._timeouts
        probe_ns = 2 * self._srtt_ns + (LEAST_TIMEOUT_NS if out == 1 else PROBE_MORE_NS)
        probes = self._state == "open" and not self._overtook and self._probe is None
        if probes and probe_ns < timeout_ns:
            self._timer.arm("probe", now + probe_ns)
        else:
            self._timer.arm("timeout", now + timeout_ns)

    def _runs_out(self, reason: Reason, now: float) -> None:
        if reason == "reordering":
            if self._find_lost(now) and self._state == "open":
                self._begin_recovery()
                self._reduce(1, repairs=False)
            self.send(now)
        elif reason == "probe":
            self._probe_tail(now)
        else:
            self._time_out(now)
        if not self._timer.armed:
            self._set_timer(now)

    def _probe_tail(self, now: float) -> None:
        """Send a segment more, or the last one again: what has come of it shows what is lost."""
        if size := self._sendable_bytes():
            self._send_new(size, now)
        elif not self._segments[self._next - 1].delivered:
            self._send_again(self._segments[self._next - 1], now)
        self._probe = self._next - 1

    def _time_out(self, now: float) -> None:
        """Take all for lost that has not come, and begin again with one segment."""
        if self._state == "open":
            self.congestion.lost()
        self.congestion.timed_out()
        self._state, self._repaired = "timed out", self._next
        for segment in self._segments[self._first : self._next]:
            if not segment.delivered and (segment.again or not segment.lost):
                self._lose(segment)
        self.congestion.window = self._in_flight + 1
        self._timeouts += 1
        self.send(now)
