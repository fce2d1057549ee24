"""One simulated HTTP/2 connection: a sender's machine, a receiver's credit, a link between them.

The connection outlives a burst: write targets, connection credit and the receiver's account carry
over, as they do on a real one.
"""

import heapq
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from h2model.credit import GrantRule
from h2model.credit import load as load_credit
from h2model.machine import BLOCKED, Machine

FRAME_HEADER_BYTES = 9
UNLIMITED_BYTES = 2**31 - 1
"""A window of this size, the largest there is, stands for one that never binds."""

LINE_BPS = 1e10
"""How fast a virtual link passes what its bucket allows; nothing depends on it closely."""

_NEVER_BINDS = 2**62


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
    on the wire, not yet acknowledged. `bucket_bytes` is what the link's token bucket lets pass at
    line speed after a pause.
    """

    rate_bps: float
    delay_ns: int = 0
    credit_latency_ns: int = 0
    past_bytes: int = 65536
    bucket_bytes: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Interval:
    """A stream's uninterrupted service: payload bytes on the wire from when to when."""

    stream: int
    start_ns: int
    end_ns: int
    size_bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Schedule:
    """What was predicted of one burst, times at the receiver on the burst's clock.

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
            initial_window=_NEVER_BINDS if receiver.credit is None else receiver.window_bytes,
            connection_window=(
                _NEVER_BINDS
                if receiver.connection_window_bytes == UNLIMITED_BYTES
                else receiver.connection_window_bytes
            ),
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
        self._grant: GrantRule | None = (
            None if receiver.credit is None else load_credit(receiver.credit)
        )
        self._received: dict[int, int] = {}
        self._granted: dict[int, int] = {}
        self._connection_pending = 0

    def frame(self, stream: int, size: int, message: int) -> list[tuple[int, int]]:
        """Account for a frame; return the WINDOW_UPDATEs as (stream, bytes)."""
        updates = []
        window = self._receiver.connection_window_bytes
        if window != UNLIMITED_BYTES:
            self._connection_pending += size
            if 2 * self._connection_pending >= window:
                updates.append((0, self._connection_pending))
                self._connection_pending = 0
        if self._grant is not None:
            grant = self._stream_grant(self._grant, stream, size, message)
            if grant > 0:
                updates.append((stream, grant))
        return updates

    def _stream_grant(self, rule: GrantRule, stream: int, size: int, message: int) -> int:
        received = self._received.pop(stream, 0) + size
        window = self._receiver.window_bytes
        granted = self._granted.pop(stream, window)
        if received >= message:
            return 0
        grant = rule(received, granted, window, message)
        self._received[stream] = received
        self._granted[stream] = granted + grant
        return grant


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
        # When a link without a bucket would be free: the bucket is ahead of it by its bytes.
        self._link_due = 0.0
        # Frames past the scheduler: acknowledged evenly from when to when, and their sizes.
        self._in_flight: deque[tuple[float, float, int]] = deque()
        self._past = 0
        self._wake_at = -1.0
        self._messages: dict[int, int] = {}
        self._unsent: dict[int, int] = {}
        self._intervals: list[tuple[int, float, float, int]] = []
        self._ends: dict[int, int] = {}
        self._stalls: list[tuple[int, int]] = []
        self._blocked_at = -1.0

    def play(self, plans: Sequence[StreamPlan]) -> Schedule:
        for plan in plans:
            self._messages[plan.stream] = self._unsent[plan.stream] = plan.size_bytes
            self._at(float(plan.ready_ns), _ENQUEUE, plan.stream, plan.priority)
        while self._events:
            now = self._events[0][0]
            # What happens at one instant is known before the next decision falls.
            while self._events and self._events[0][0] == now:
                self._apply(*heapq.heappop(self._events))
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
        while not self._machine.idle:
            room_at = self._room_at(now)
            if room_at > now:
                if self._wake_at < 0 or room_at < self._wake_at:
                    self._wake_at = room_at
                    self._at(room_at, _WAKE)
                return
            stream, size = self._machine.next(self._frame, round(now))
            if stream == BLOCKED:
                if self._blocked_at < 0:
                    self._blocked_at = now
                return
            self._machine.sent(stream, size, round(now))
            self._transmit(stream, size, now)

    def _room_at(self, now: float) -> float:
        """When the bytes past the scheduler leave room for one more frame."""
        while self._in_flight and self._in_flight[0][1] <= now:
            self._past -= self._in_flight.popleft()[2]
        excess = self._past + self._frame + FRAME_HEADER_BYTES - self._link.past_bytes
        time = now
        for first, last, size in self._in_flight:
            if excess <= 0:
                break
            if excess < size:
                time = first + excess * (last - first) / size
                break
            excess -= size
            time = last
        return max(now, time)

    def _transmit(self, stream: int, size: int, now: float) -> None:
        link = self._link
        if self._blocked_at >= 0:
            idle_from = round(max(self._blocked_at, self._link_free) + link.delay_ns)
            idle_to = round(now + link.delay_ns)
            if idle_to > idle_from:
                self._stalls.append((idle_from, idle_to))
            self._blocked_at = -1.0
        start = max(now, self._link_free)
        wire_bytes = size + FRAME_HEADER_BYTES
        self._link_due = max(now, self._link_due) + wire_bytes * 8e9 / link.rate_bps
        ahead_ns = link.bucket_bytes * 8e9 / link.rate_bps
        self._link_free = max(start + wire_bytes * 8e9 / LINE_BPS, self._link_due - ahead_ns)
        arrival = self._link_free + link.delay_ns
        self._in_flight.append((start + 2 * link.delay_ns, arrival + link.delay_ns, wire_bytes))
        self._past += wire_bytes
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
