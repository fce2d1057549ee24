"""One simulated HTTP/2 connection: a sender's machine, a receiver's credit, a link between them.

The connection outlives a burst: write targets, connection credit and the receiver's account carry
over, as they do on a real one.
"""

import heapq
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from h2model.credit import load as load_credit
from h2model.machine import BLOCKED, Machine

FRAME_HEADER_BYTES = 9
UNLIMITED_BYTES = 2**31 - 1


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamPlan:
    """A message: flow-controlled bytes, and when its sender's application hands it over."""

    stream: int
    size_bytes: int
    ready_ns: int = 0
    priority: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class SenderModel:
    """The discipline with its parameters, and the largest frame it writes."""

    discipline: str
    options: Mapping[str, int | bool | str] = field(default_factory=dict)
    frame_bytes: int = 16384


@dataclass(frozen=True, slots=True, kw_only=True)
class ReceiverModel:
    """The receiver's windows and its credit rule; `credit` None means windows never bind."""

    window_bytes: int = UNLIMITED_BYTES
    connection_window_bytes: int = UNLIMITED_BYTES
    credit: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class LinkModel:
    """The path as calibrated before the burst.

    `rate_bps` is TCP goodput (frame headers included, TCP/IP headers not). `delay_ns` is one way;
    `credit_latency_ns` runs from a frame's last byte at the receiver to its credit at the sender.
    `past_bytes` is how much may be past the scheduler: in the sender's kernel, in queues and
    on the wire, not yet acknowledged.
    """

    rate_bps: float
    delay_ns: int = 0
    credit_latency_ns: int = 0
    past_bytes: int = 65536


@dataclass(frozen=True, slots=True, kw_only=True)
class Interval:
    """A stream's uninterrupted service: payload bytes on the wire from when to when."""

    stream: int
    start_ns: int
    end_ns: int
    size_bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Schedule:
    """What was predicted of one burst, times on the burst's clock.

    `stalls` are the times in which the link idled because nothing with data had credit.
    """

    end_ns: Mapping[int, int]
    intervals: tuple[Interval, ...]
    stalls: tuple[tuple[int, int], ...]

    @property
    def order(self) -> tuple[int, ...]:
        """The streams in the order of service, one entry an interval."""
        return tuple(i.stream for i in self.intervals)


class Connection:
    """Simulates the bursts of one connection, one after the other.

    Raises
    ------
    ValueError
        An unknown discipline, option or credit rule.
    """

    def __init__(self, sender: SenderModel, receiver: ReceiverModel, link: LinkModel) -> None:
        self.link = link
        self._frame = sender.frame_bytes
        self._machine = Machine(
            sender.discipline,
            options=sender.options,
            initial_window=receiver.window_bytes,
            connection_window=receiver.connection_window_bytes,
        )
        self._account = _ReceiverAccount(receiver)

    def burst(self, plans: Sequence[StreamPlan]) -> Schedule:
        """Predict one burst; `ready_ns` and all results count from the burst's own zero.

        Raises
        ------
        RuntimeError
            The credit rule never lets the burst finish.
        """
        return _Run(self._machine, self._account, self.link, self._frame).play(plans)


class _ReceiverAccount:
    """What the receiver has got and granted, per stream and for the connection."""

    def __init__(self, receiver: ReceiverModel) -> None:
        self._receiver = receiver
        self._grant: Callable[[int, int, int, int], int] | None = (
            None if receiver.credit is None else load_credit(receiver.credit)
        )
        self._received: dict[int, int] = {}
        self._granted: dict[int, int] = {}
        self._connection_pending = 0

    def frame(self, stream: int, size: int, message: int) -> list[tuple[int, int]]:
        """Account for a frame; return the WINDOW_UPDATEs as (stream, bytes)."""
        updates = []
        window = self._receiver.connection_window_bytes
        self._connection_pending += size
        if 2 * self._connection_pending >= window or window == UNLIMITED_BYTES:
            updates.append((0, self._connection_pending))
            self._connection_pending = 0
        received = self._received[stream] = self._received.get(stream, 0) + size
        if self._grant is None:
            updates.append((stream, size))
        elif received < message:
            granted = self._granted.get(stream, self._receiver.window_bytes)
            grant = self._grant(received, granted, self._receiver.window_bytes, message)
            if grant > 0:
                self._granted[stream] = granted + grant
                updates.append((stream, grant))
        if received >= message:
            del self._received[stream]
            self._granted.pop(stream, None)
        return updates


@dataclass(slots=True)
class _InFlight:
    """A frame past the scheduler; its acknowledgements come evenly from `first` to `last`."""

    first: float
    last: float
    size: int


class _Run:
    """The event loop of one burst."""

    def __init__(self, machine: Machine, account: _ReceiverAccount, link: LinkModel, frame: int):
        self._machine = machine
        self._account = account
        self._link = link
        self._frame = frame
        self._events: list[tuple[float, int, int, int, int]] = []
        self._count = 0
        self._link_free = 0.0
        self._in_flight: deque[_InFlight] = deque()
        self._wake_at = -1.0
        self._messages: dict[int, int] = {}
        self._unsent: dict[int, int] = {}
        self._intervals: list[tuple[int, float, float, int]] = []
        self._ends: dict[int, int] = {}
        self._stalls: list[tuple[int, int]] = []
        self._stalled = False

    def play(self, plans: Sequence[StreamPlan]) -> Schedule:
        for plan in plans:
            self._messages[plan.stream] = self._unsent[plan.stream] = plan.size_bytes
            self._at(float(plan.ready_ns), _ENQUEUE, plan.stream, plan.priority)
        while self._events:
            now = self._events[0][0]
            # What happens at one instant is known before the next decision falls.
            while self._events and self._events[0][0] == now:
                self._apply(*heapq.heappop(self._events))
            if self._machine.unfinished:
                self._pump(now)
        self._machine.forget_credit()
        if any(self._unsent.values()):
            raise RuntimeError("the credit rule leaves the burst unfinished")
        return self._schedule()

    def _apply(self, now: float, _: int, kind: int, stream: int, value: int) -> None:
        if kind == _ENQUEUE:
            self._machine.enqueue(stream, self._messages[stream], round(now), priority=value)
        elif kind == _CREDIT:
            self._machine.credit(stream, value, round(now))
        else:
            self._wake_at = -1.0

    def _at(self, time: float, kind: int, stream: int = 0, value: int = 0) -> None:
        heapq.heappush(self._events, (time, self._count, kind, stream, value))
        self._count += 1

    def _pump(self, now: float) -> None:
        """Decide as long as the kernel has room; else wake up when it will have."""
        while self._machine.unfinished:
            room_at = self._room_at(now)
            if room_at > now:
                if self._wake_at < 0 or room_at < self._wake_at:
                    self._wake_at = room_at
                    self._at(room_at, _WAKE)
                return
            stream, size = self._machine.next(self._frame, round(now))
            if stream == BLOCKED:
                self._stalled = True
                return
            self._machine.sent(stream, size, round(now))
            self._transmit(stream, size, now)

    def _room_at(self, now: float) -> float:
        """When the bytes past the scheduler leave room for one more frame."""
        while self._in_flight and self._in_flight[0].last <= now:
            self._in_flight.popleft()
        outstanding = 0.0
        for f in self._in_flight:
            part = 1.0 if now <= f.first else (f.last - now) / (f.last - f.first)
            outstanding += f.size * part
        excess = outstanding + self._frame + FRAME_HEADER_BYTES - self._link.past_bytes
        if excess <= 1e-6 or not self._in_flight:
            return now
        time = now
        for f in self._in_flight:
            start = max(now, f.first)
            left = f.size * (f.last - start) / (f.last - f.first)
            if excess <= left:
                return max(start + excess * (f.last - f.first) / f.size, now + 1e-3)
            excess -= left
            time = f.last
        return time

    def _transmit(self, stream: int, size: int, now: float) -> None:
        link = self._link
        if self._stalled and now > self._link_free:
            self._stalls.append((round(self._link_free), round(now)))
        self._stalled = False
        start = max(now, self._link_free)
        self._link_free = start + (size + FRAME_HEADER_BYTES) * 8e9 / link.rate_bps
        arrival = self._link_free + link.delay_ns
        back = link.delay_ns
        self._in_flight.append(
            _InFlight(start + link.delay_ns + back, arrival + back, size + FRAME_HEADER_BYTES)
        )
        self._serve(stream, start + link.delay_ns, arrival, size)
        for target, grant in self._account.frame(stream, size, self._messages[stream]):
            self._at(arrival + link.credit_latency_ns, _CREDIT, target, grant)

    def _serve(self, stream: int, start: float, end: float, size: int) -> None:
        self._unsent[stream] -= size
        if self._unsent[stream] == 0:
            self._ends[stream] = round(end)
        last = self._intervals[-1] if self._intervals else None
        if last is not None and last[0] == stream and start - last[2] < 1.0:
            self._intervals[-1] = (stream, last[1], end, last[3] + size)
        else:
            self._intervals.append((stream, start, end, size))

    def _schedule(self) -> Schedule:
        intervals = tuple(
            Interval(stream=s, start_ns=round(a), end_ns=round(b), size_bytes=n)
            for s, a, b, n in self._intervals
        )
        return Schedule(end_ns=self._ends, intervals=intervals, stalls=tuple(self._stalls))


_ENQUEUE = 0
_CREDIT = 1
_WAKE = 2
