"""Simulation of one connection in a burst: scheduler, frames in the socket buffer, receiver."""

import math
from collections.abc import Sequence
from typing import Final

from h2model.beside_data import BesideData
from h2model.events import (
    ACCEPT,
    ANSWER,
    ASKED,
    CALL,
    CREDIT,
    ENQUEUE,
    LEFT,
    LOOK,
    PING,
    READ,
    REPLY,
    WAKE,
    WHOLE,
    At,
)
from h2model.grpc_receiver import ALL_STREAMS, Update
from h2model.grpc_receiver import PING as PING_TARGET
from h2model.link import Frame, SendQueue
from h2model.machine import BLOCKED, Machine
from h2model.protocol import FRAME_HEADER_BYTES, PING_FRAME_BYTES
from h2model.pushed_calls import Calls, Reader
from h2model.receiver import Account
from h2model.records import (
    REST_NS,
    Arriving,
    Grant,
    Heads,
    LinkModel,
    Schedule,
    StreamPlan,
)
from h2model.schedule_recorder import ScheduleRecorder
from h2model.segments import SegmentQueue
from h2model.socket_room import SocketRoom
from h2model.way_back import requests_come_ns

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
    next_ns
        When the next burst begins, if that is known.
    starts
        True for the first burst of a connection.
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
        next_ns: int | None = None,
        starts: bool = False,
    ) -> None:
        self.queue: SegmentQueue | SendQueue = (
            SegmentQueue(link, rate_bps, starts=starts)
            if link.segment_bytes
            else SendQueue(link, rate_bps)
        )
        self._machine = machine
        self._account = account if grants is None else None
        self._reader = reader if grants is None else None
        self._calls: Calls | None = None
        self._link = link
        self._frame_bytes = frame_bytes
        self._polled = polled
        self._room = SocketRoom(self.queue, link, polled=polled, frame_bytes=frame_bytes)
        self._frame_open = (NOBODY, 0)
        self._asked = False
        self._plans = plans
        self._grants = grants or ()
        self._messages = {plan.stream: plan.size_bytes for plan in plans}
        self._unsent = dict(self._messages)
        self._beside = BesideData(machine, heads, self._messages)
        self._version = 0
        self._leaving = False  # whether the end of the first frame's way is an event to come
        self._wake_at = -1.0
        self._blocked_at = -1.0
        self._over_ns: float | None = None
        self._next_ns = next_ns
        self._record = ScheduleRecorder()

    def begin(self, at: At) -> None:
        """Schedule the events that are known before the burst."""
        self._at = at
        if self._account is not None:
            self._open(self._account)
            self._calls = self._calls_to(self._account, at)
        for plan in self._plans:
            at(float(plan.ready_ns), ENQUEUE, plan.stream, plan.priority)
        for time_ns in requests_come_ns(
            self._link, self.queue.rate_bps, self._plans, self._beside.heads.request
        ):
            at(time_ns, ASKED)
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
        if kind in (ASKED, REPLY):
            self._acknowledges(now, requests=kind == ASKED)
            return False
        if kind == LEFT and value != self._version:
            return False
        if kind == LEFT:
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

    def _acknowledges(self, now: float, *, requests: bool) -> None:
        """Acknowledge a segment of the other direction, which takes its part of the link."""
        if requests:
            self._beside.requests_came()
        self.queue.charge(now)
        self._plan_again(now)

    def pump(self, now: float) -> None:
        """Decide as long as the kernel has room; else wake up when it will have."""
        full = self._decide(now)
        # Our own sender has TCP wait for a full segment while it waits for room.
        # What is handed over in one write stays together up to its end.
        if not full or (self._polled and not self._room.in_memory):
            self.queue.push(now)
        self._next_leaves()

    def _decide(self, now: float) -> bool:
        """Hand frames to the kernel; True if it is full, False if there is nothing to send."""
        while not self._machine.idle:
            if self._polled:
                self._written()
                self._gather(now)
                self._answer_if_written(now)
                self._gathered(now)
            room_at = self._room.at(now, self._before_bytes)
            if room_at > now:
                self._wake(self._looks_at(room_at, now))
                return True
            budget = self._room.piece(now, self._before_bytes, self._frame_open[1])
            stream, size = self._machine.next(budget, round(now))
            self._answer_if_written(now)
            if stream == BLOCKED:
                if self._blocked_at < 0:
                    self._blocked_at = now
                return False
            self._machine.sent(stream, size, round(now))
            self._let_go(stream, size, now)
        return False

    def _gather(self, now: float) -> None:
        emitting, heads = self._machine.emitting, self._machine.heads
        self._machine.prepare(round(now))
        if self._room.in_memory and not emitting and self._machine.emitting:
            self.queue.push(now)  # the end of the write before
            self._beside.write_begins(heads)

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

    @property
    def _before_bytes(self) -> int:
        """Bytes that leave before those of the next piece: of a new frame its headers."""
        if not self._room.in_memory:
            return FRAME_HEADER_BYTES
        if self._frame_open[1]:
            return 0
        return FRAME_HEADER_BYTES + self._beside.ahead_bytes

    def share(self, rate_bps: float, now: float, keep: float) -> None:
        """Change the connection's share of its path; it keeps that part of what its bucket has."""
        self.queue.replan(rate_bps, now, keep)
        self._plan_again(now)

    def _plan_again(self, now: float) -> None:
        self._version += 1
        head = self.queue.head()
        self._leaving = head is not None
        if head is not None:
            self._at(head.end_ns, LEFT, 0, self._version)
        if self._wake_at >= 0:
            self._wake(self._room.at(now, self._before_bytes))

    def finish(self) -> Schedule:
        """End the burst and return its schedule.

        Raises
        ------
        RuntimeError
            The credit never let it finish.
        """
        self._machine.forget_credit()
        if self._account is not None and (rested_ns := self._rested_ns()) is not None:
            self._account.rest(rested_ns)
        if any(self._unsent.values()):
            unsent = sum(self._unsent.values())
            raise RuntimeError(f"out of flow-control credit, with {unsent} bytes unsent")
        return self._record.schedule()

    def _rested_ns(self) -> float | None:
        """Time at which the next burst begins; None as long as this one is not over."""
        if self._over_ns is None:
            return None
        return self._over_ns + REST_NS if self._next_ns is None else float(self._next_ns)

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
        self._room.handed_over(now)
        counted_bytes = self._counted_bytes(stream, size)
        beside = self._beside.take(stream, size)
        frame = self.queue.put(stream, size, now, counted_bytes, beside_bytes=beside)
        frame.answers = self._beside.take_answers()
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
            if self._beside.heads.updates:
                self._at(arrival + self._link.delay_ns, REPLY)
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
        if frame.answers:
            self._answer_ahead(frame, arrival)
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

    def _tell(self, updates: Sequence[Update], now: float) -> None:
        for target, grant in updates:
            kind = PING if target == PING_TARGET else CREDIT
            self._at(now + self._link.credit_latency_ns, kind, target, grant)

    def _answer_if_written(self, now: float) -> None:
        """Send the answer to a PING once a rule that gathers writes has put it into one."""
        if not self._asked or self._machine.control:
            return
        if self._link.flight_segments and self._machine.emitting:
            self._asked = False
            self._beside.answer()
        else:
            self._answer(now)

    def _answer_ahead(self, frame: Frame, arrival: float) -> None:
        """Hear an answer that is ahead of a frame: what is parsed of one segment counts before."""
        ahead_ns = frame.ahead_ns + self._link.delay_ns
        first = self._account is not None and self._account.answer_first
        if first or ahead_ns < arrival:
            self._hear(ahead_ns, ANSWER)
        else:
            self._at(ahead_ns, ANSWER)

    def _answer(self, now: float) -> None:
        """Send the answer to a PING, behind what is in the socket buffer."""
        self._asked = False
        self.queue.put_control(PING_FRAME_BYTES, now)
        leaves_ns = max(now, self.queue.free_ns)
        # The frame behind it counts when it begins to leave, and that is the same moment.
        first = self._account is not None and self._account.answer_first
        self._at(leaves_ns - 1 if first else leaves_ns + self._link.delay_ns, ANSWER)

    def _hear(self, now: float, kind: int) -> None:
        if self._account is None:
            return
        if kind == LOOK:
            rested_ns = self._rested_ns()
            if rested_ns is not None and now > rested_ns:
                return
            self._tell(self._account.look_again(now), now)
            return
        look_ns, updates = self._account.answered(now)
        self._tell(updates, now)
        self._at(look_ns, LOOK)
