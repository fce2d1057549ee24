"""Simulation of one connection in a burst: scheduler, frames in the socket buffer, receiver."""

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from h2model.events import (
    ACCEPT,
    ANSWER,
    CALL,
    CREDIT,
    ENQUEUE,
    LEFT,
    LOOK,
    PING,
    READ,
    WAKE,
    WHOLE,
    At,
)
from h2model.grpc_receiver import ALL_STREAMS, Update
from h2model.grpc_receiver import PING as PING_TARGET
from h2model.link import Frame, SendQueue
from h2model.machine import BLOCKED, Machine
from h2model.protocol import FRAME_HEADER_BYTES
from h2model.pushed_calls import Calls, Reader
from h2model.receiver import Account
from h2model.records import (
    REST_NS,
    Arriving,
    Grant,
    Heads,
    Interval,
    LinkModel,
    Schedule,
    StreamPlan,
)
from h2model.segments import SegmentQueue

PIECE_BYTES: Final = 16384
"""Size of the pieces in which a kernel takes a large frame."""

WRITE_CALL_NS: Final = 100_000
"""Least duration of a call that hands the kernel a write: room that comes meanwhile is used."""

LEAST_BYTES: Final = 1448
"""One segment: a kernel that has no room for it is full."""

FREED_BYTES: Final = 2 * LEAST_BYTES
"""Bytes that an acknowledgement frees: the third that wakes a sender is a multiple of them."""

NOBODY: Final = -1
NO_HEADS: Final = Heads()


class Sender:
    """A connection's sender in the event loop: takes events in `apply`, decides in `pump`.

    Parameters
    ----------
    machine, account, reader
        State of the connection; they outlive the burst. Only pushed calls have a reader.
    link, rate_bps
        The path, and its rate until `share` says otherwise.
    frame_bytes, polled
        The largest frame; how the kernel is filled, see `SenderModel`.
    plans
        The burst's messages.
    grants
        Credit as the receiver gave it, and its PINGs, instead of the account's rule.
    heads
        What each message takes on the wire beside DATA; `first` is for the first of these.
    """

    def __init__(
        self,
        machine: Machine,
        account: Account,
        link: LinkModel,
        *,
        rate_bps: float,
        frame_bytes: int,
        polled: bool,
        plans: Sequence[StreamPlan],
        grants: Sequence[Grant] | None,
        reader: Reader | None = None,
        heads: Heads = NO_HEADS,
    ) -> None:
        queue = SegmentQueue if link.segment_bytes else SendQueue
        self.queue = queue(link, rate_bps)
        self._machine = machine
        self._account = account if grants is None else None
        self._reader = reader if grants is None else None
        self._calls: Calls | None = None
        self._link = link
        self._frame_bytes = frame_bytes
        self._polled = polled
        self._full = False
        self._third_bytes = -(-link.past_bytes // (3 * FREED_BYTES)) * FREED_BYTES
        self._piece_bytes = min(frame_bytes, PIECE_BYTES)
        self._frame_open = (NOBODY, 0)
        self._asked = False
        self._plans = plans
        self._grants = grants or ()
        self._messages = {plan.stream: plan.size_bytes for plan in plans}
        self._unsent = dict(self._messages)
        self._heads = heads
        self._headless = list(self._messages)
        self._heads_seen = machine.heads
        self._heads_ahead = 0
        self._to_decide = dict(self._messages)
        self._version = 0
        self._leaving = False  # whether the end of the first frame's way is an event to come
        self._wake_at = -1.0
        self._blocked_at = -1.0
        self._call_ends_ns = -1.0
        self._over_ns: float | None = None
        self._record = _Recorder()

    def begin(self, at: At) -> None:
        """Schedule the events that are known before the burst."""
        self._at = at
        if self._account is not None:
            self._open(self._account)
            self._calls = self._calls_to(self._account, at)
        for plan in self._plans:
            at(float(plan.ready_ns), ENQUEUE, plan.stream, plan.priority)
        # What turning bytes into credit takes is spent half at either end.
        way_ns = (self._link.delay_ns + self._link.credit_latency_ns) / 2
        for time_ns, target, size_bytes in self._grants:
            at(time_ns + way_ns, PING if target == PING_TARGET else CREDIT, target, size_bytes)

    def _open(self, account: Account) -> None:
        if account.look_ns is not None:
            self._at(max(0.0, account.look_ns), LOOK)
        asked = {plan.stream: plan.asked_ns for plan in self._plans}
        for stream, size_bytes in account.begin(list(asked)):
            if asked.get(stream, 0) <= 0:
                self._machine.credit(stream, size_bytes, 0)
                if stream:
                    self._machine.credit(0, size_bytes, 0)
            else:
                self._at(asked[stream], CREDIT, stream, size_bytes)
                self._at(asked[stream], CREDIT, 0, size_bytes)

    def _calls_to(self, account: Account, at: At) -> Calls | None:
        if self._reader is None:
            return None
        return Calls(
            account,
            self._reader,
            at=at,
            tell=self._tell,
            messages=self._messages,
            least_ns=self._link.credit_latency_ns,
            busy=lambda: bool(self.queue.waiting),
        )

    def apply(self, now: float, kind: int, stream: int, value: int) -> bool:
        """Take an event; True if a decision may follow from it."""
        if kind in (ANSWER, LOOK):
            self._hear(now, kind)
            return False
        if kind in (CALL, ACCEPT, WHOLE, READ):
            if self._calls is not None:
                self._calls.apply(now, kind, stream)
            return False
        if kind == LEFT:
            if value == self._version:
                self._leaving = False
                self._left(self.queue.take())
            return False
        if kind == ENQUEUE:
            self._machine.enqueue(stream, self._messages[stream], round(now), priority=value)
        elif kind == CREDIT and stream == ALL_STREAMS:
            self._machine.widen(value, round(now))
        elif kind == CREDIT:
            self._machine.credit(stream, value, round(now))
        elif kind == PING:
            self._asked = True
            self._machine.ping()
            if self._machine.idle:
                self._answer(now)
        else:
            self._wake_at = -1.0
        return True

    def pump(self, now: float) -> None:
        """Decide as long as the kernel has room; else wake up when it will have."""
        full = self._decide(now)
        # Our own sender has TCP wait for a full segment while it waits for room.
        if self._polled or not full:
            self.queue.push(now)
        self._next_leaves()

    def _decide(self, now: float) -> bool:
        """Hand frames to the kernel; True if it is full, False if there is nothing to send."""
        while not self._machine.idle:
            if self._polled:
                self._written()
                self._machine.prepare(round(now))
                self._answer_if_written(now)
                self._gathered(now)
            room_at = self._room_at(now)
            if room_at > now:
                self._wake(self._looks_at(room_at, now))
                return True
            stream, size = self._machine.next(self._budget_bytes(now), round(now))
            self._answer_if_written(now)
            if stream == BLOCKED:
                if self._blocked_at < 0:
                    self._blocked_at = now
                return False
            self._machine.sent(stream, size, round(now))
            self._let_go(stream, size, now)
        return False

    def _looks_at(self, room_at: float, now: float) -> float:
        """Time at which the sender sees that there is room: it looks at intervals."""
        poll_ns = 0 if self._polled else self._link.poll_ns
        return now + math.ceil((room_at - now) / poll_ns) * poll_ns if poll_ns else room_at

    def _written(self) -> None:
        if self._calls is not None and not self._machine.emitting:
            self._calls.written(self.queue.free_ns + self._link.delay_ns)

    def _gathered(self, now: float) -> None:
        if self._calls is None:
            return
        self._calls.gathered(self._machine)
        if not self._machine.emitting:
            self._calls.written(max(now, self.queue.free_ns) + self._link.delay_ns)

    def _budget_bytes(self, now: float) -> int:
        """Most bytes of the next piece: it crosses no frame, nor what the kernel takes."""
        if not self._polled:
            return self._piece_bytes
        room = int(self.queue.free_bytes(now)) - FRAME_HEADER_BYTES
        rest = self._frame_open[1] or self._piece_bytes
        return max(1, min(self._piece_bytes, rest, room))

    def _room_at(self, now: float) -> float:
        """Time at which the kernel takes more."""
        if self._full:
            room_at = self.queue.room_at(self._third_bytes, now)
            self._full = room_at > now
            return room_at
        piece = (LEAST_BYTES if self._polled else self._piece_bytes) + FRAME_HEADER_BYTES
        room_at = self.queue.room_at(piece, now)
        if self._polled and room_at > max(now, self._call_ends_ns):
            self._full = True
            return self._room_at(now)
        return room_at

    def share(self, rate_bps: float, now: float, keep: float) -> None:
        """Change the connection's share of its path; it keeps that part of what its bucket has."""
        self.queue.replan(rate_bps, now, keep)
        self._version += 1
        head = self.queue.head()
        self._leaving = head is not None
        if head is not None:
            self._at(head.end_ns, LEFT, 0, self._version)
        if self._wake_at >= 0:
            self._wake(self._room_at(now))

    def finish(self) -> Schedule:
        """End the burst and return its schedule.

        Raises
        ------
        RuntimeError
            The credit never let it finish.
        """
        self._machine.forget_credit()
        if self._account is not None and self._over_ns is not None:
            self._account.rest(self._over_ns + REST_NS)
        if any(self._unsent.values()):
            unsent = sum(self._unsent.values())
            raise RuntimeError(f"out of flow-control credit, with {unsent} bytes unsent")
        return self._record.schedule()

    def _wake(self, time_ns: float) -> None:
        if self._wake_at < 0 or time_ns < self._wake_at:
            self._wake_at = time_ns
            self._at(time_ns, WAKE)

    def _let_go(self, stream: int, size: int, now: float) -> None:
        if self._blocked_at >= 0:
            idle_from = round(max(self._blocked_at, self.queue.free_ns) + self._link.delay_ns)
            idle_to = round(now + self._link.delay_ns)
            if idle_to > idle_from:
                self._record.stalls.append((idle_from, idle_to))
            self._blocked_at = -1.0
        if now > self._call_ends_ns:
            self._call_ends_ns = now + WRITE_CALL_NS
        counted_bytes = self._counted_bytes(stream, size)
        self.queue.put(stream, size, now, counted_bytes, beside_bytes=self._beside(stream, size))
        self._next_leaves()

    def _next_leaves(self) -> None:
        """See to it that the end of the first frame's way is an event, once it is known."""
        if self._leaving or (head := self.queue.head()) is None:
            return
        self._leaving = True
        self._at(head.end_ns, LEFT, 0, self._version)
        self._begins(head)

    def _left(self, frame: Frame) -> None:
        stream, size = frame.stream, frame.size_bytes
        arrival = frame.end_ns + self._link.delay_ns
        self._unsent[stream] -= size
        self._record.served(stream, frame.start_ns + self._link.delay_ns, arrival, size)
        if self._unsent[stream] == 0:
            self._record.ends[stream] = round(arrival)
            if self._calls is not None:
                self._at(arrival, WHOLE, stream)
            if len(self._record.ends) == len(self._plans):
                self._over_ns = arrival
        if self._account is not None and not self._account.at_start:
            self._tell(self._account.frame(stream, size, self._messages[stream], arrival), arrival)
        self._next_leaves()

    def _begins(self, frame: Frame) -> None:
        """Take a frame that begins to leave."""
        if self._calls is not None:
            self._calls.arrives(frame.stream, frame.start_ns + self._link.delay_ns)
        if self._account is None or not self._account.at_start or not frame.counted_bytes:
            return
        stream, size = frame.stream, frame.counted_bytes
        lasts_ns = (frame.end_ns - frame.start_ns) * size / frame.size_bytes
        message, arriving, begun_ns = self._messages[stream], None, frame.start_ns
        if frame.step_ns:
            begun_ns = frame.header_ns
            lasts_ns = frame.end_ns - frame.header_ns
            arriving = Arriving(
                come_bytes=frame.come_bytes,
                step_ns=frame.step_ns,
                step_bytes=self._link.segment_bytes,
            )
        arrival = begun_ns + self._link.delay_ns
        updates = self._account.frame(stream, size, message, arrival, lasts_ns, arriving)
        self._tell(updates, arrival)

    def _counted_bytes(self, stream: int, size: int) -> int:
        """Length in the header of a frame that begins with these bytes; 0 if they continue one."""
        whose, room = self._frame_open
        if whose == stream and room >= size:
            self._frame_open = (stream, room - size)
            return 0
        whole = min(self._frame_bytes, size + self._machine.rest_of_frame_bytes(stream))
        self._frame_open = (stream, whole - size)
        return whole

    def _beside(self, stream: int, size: int) -> tuple[int, int]:
        """Bytes of other frames that leave before these of a stream, and behind them."""
        left = self._to_decide[stream]
        self._to_decide[stream] = left - size
        self._see_heads(stream)
        if stream in self._headless:
            self._send_head(stream)
        before, self._heads_ahead = self._heads_ahead, 0
        return before, 0 if left > size else self._heads.tail

    def _see_heads(self, stream: int) -> None:
        """Take HEADERS that left in a gathered write without DATA, as credit was lacking."""
        if self._machine.heads == self._heads_seen:
            return
        self._heads_seen = self._machine.heads
        for other in list(self._headless):
            alone = other != stream and self._machine.has_headed(other)
            if alone and not self._machine.planned(other):
                self._send_head(other)

    def _send_head(self, stream: int) -> None:
        self._headless.remove(stream)
        self._heads_ahead += self._heads.first
        if self._heads.first != self._heads.each:
            self._heads = replace(self._heads, first=self._heads.each)

    def _tell(self, updates: Sequence[Update], now: float) -> None:
        for target, grant in updates:
            kind = PING if target == PING_TARGET else CREDIT
            self._at(now + self._link.credit_latency_ns, kind, target, grant)

    def _answer_if_written(self, now: float) -> None:
        """Send the answer to a PING once a rule that gathers writes has put it into one."""
        if self._asked and not self._machine.control:
            self._answer(now)

    def _answer(self, now: float) -> None:
        """Send the answer to a PING, behind what is in the socket buffer."""
        self._asked = False
        leaves_ns = max(now, self.queue.free_ns)
        # The frame behind it counts when it begins to leave, and that is the same moment.
        first = self._account is not None and self._account.answer_first
        self._at(leaves_ns - 1 if first else leaves_ns + self._link.delay_ns, ANSWER)

    def _hear(self, now: float, kind: int) -> None:
        if self._account is None:
            return
        if kind == LOOK:
            if self._over_ns is not None and now > self._over_ns + REST_NS:
                return
            self._tell(self._account.look_again(now), now)
            return
        look_ns, updates = self._account.answered(now)
        self._tell(updates, now)
        self._at(look_ns, LOOK)


class _Recorder:
    """Collects a schedule."""

    def __init__(self) -> None:
        self.ends: dict[int, int] = {}
        self.stalls: list[tuple[int, int]] = []
        self._intervals: list[tuple[int, float, float, int]] = []
        self._carried: list[tuple[float, int]] = [(0.0, 0)]

    def served(self, stream: int, start: float, end: float, size: int) -> None:
        before_ns, so_far = self._carried[-1]
        if start > before_ns:  # nothing came meanwhile
            self._carried.append((start, so_far))
        self._carried.append((end, so_far + size))
        last = self._intervals[-1] if self._intervals else None
        if last is not None and last[0] == stream and start - last[2] < 1.0:
            self._intervals[-1] = (stream, last[1], end, last[3] + size)
        else:
            self._intervals.append((stream, start, end, size))

    def schedule(self) -> Schedule:
        intervals = tuple(
            Interval(stream=s, start_ns=round(a), end_ns=round(b), size_bytes=n)
            for s, a, b, n in self._intervals
        )
        return Schedule(
            end_ns=self.ends,
            intervals=intervals,
            stalls=tuple(self.stalls),
            carried=tuple(self._carried),
        )
