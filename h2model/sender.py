"""Simulation of one connection in a burst: scheduler, frames in the socket buffer, receiver."""

import math
from collections.abc import Callable, Sequence
from typing import Final

from h2model.beside_data import BesideData
from h2model.events import (
    ANSWER,
    ASKED,
    CREDIT,
    ENQUEUE,
    LEFT,
    PING,
    REPLY,
    WAKE,
    At,
)
from h2model.far_end import KINDS as FAR_END
from h2model.far_end import FarEnd
from h2model.grpc_receiver import ALL_STREAMS
from h2model.grpc_receiver import PING as PING_TARGET
from h2model.link import Frame, Queue, SendQueue
from h2model.machine import BLOCKED, Machine
from h2model.own_heads import OwnHeads
from h2model.packet_way_back import PacketWayBack
from h2model.protocol import FRAME_HEADER_BYTES, PING_FRAME_BYTES, WINDOW_UPDATE_BYTES
from h2model.pushed_calls import Reader
from h2model.reading import HandOverRuns
from h2model.receiver import Account
from h2model.records import (
    Grant,
    Heads,
    LinkModel,
    Schedule,
    StreamPlan,
)
from h2model.schedule_recorder import ScheduleRecorder
from h2model.segments import SegmentQueue
from h2model.socket_room import SocketRoom
from h2model.standstill import StandstillError
from h2model.tcp.frames import TcpQueue
from h2model.way_back import WayBack, requests_of

Told = Callable[[int, float, float], None]
"""Takes a message's stream, when its last byte is there, and when what is behind it is."""

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
    writes_each
        True if it writes the first message of a moment before it knows of the others.
    told
        Told of each message when its last byte, and when what is sent behind it, is there.
    queue
        The kernel's, where it goes through TCP packet by packet; else one of the link's is made.
    back
        That of the connection's other way then.
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
        writes_each: bool = False,
        told: Told | None = None,
        queue: TcpQueue | None = None,
        back: TcpQueue | None = None,
    ) -> None:
        self.queue: Queue = queue or (
            SegmentQueue(link, rate_bps, starts=starts)
            if link.segment_bytes
            else SendQueue(link, rate_bps)
        )
        self._machine = machine
        keeps = account if grants is None else None
        way_back = WayBack(link, rate_bps) if back is None else PacketWayBack(link, back)
        self._back = back
        self._far_end = FarEnd(keeps, reader, link, way_back, plans, next_ns)
        self._link = link
        self._told = told
        self._writes_each = writes_each
        self._frame_bytes = frame_bytes
        self._polled = polled
        # One program fills its connections frame by frame in turns, which decides what is dropped.
        self._in_turns = queue is not None and not polled
        self._packets = queue
        self._room = SocketRoom(self.queue, link, polled=polled, frame_bytes=frame_bytes)
        self._frame_open = (NOBODY, 0)
        self._asked = False
        self._plans = plans
        self._grants = grants or ()
        self._heads = OwnHeads(plans)
        self._probes = account.sender_probes
        guest = link.segment_bytes > 0
        self._runs = HandOverRuns(p.ready_ns for p in plans if guest and p.ready_ns is not None)
        self._messages = {plan.stream: plan.size_bytes for plan in plans}
        self._unsent = dict(self._messages)
        self._head_bytes = _pushed_head_bytes(plans) if heads.pushed else {}
        self._beside = BesideData(machine, heads, self._messages, self._head_bytes)
        self._version = 0
        self._leaving = False  # whether the end of the first frame's way is an event to come
        self._wake_at = -1.0
        self._looked_ns = 0.0
        self._blocked_at = -1.0
        self._record = ScheduleRecorder()

    def begin(self, at: At) -> None:
        """Schedule the events that are known before the burst."""
        self._at = at
        with_credit = self._far_end.begin(
            at, self._machine.credit, lambda: bool(self.queue.waiting)
        )
        if not self._beside.heads.pushed:
            requests = requests_of(self._link, self.queue.rate_bps, self._plans, with_credit)
            self._far_end.asks(requests)
            for came in requests.came:
                at(came.time_ns, ASKED, 0, came.cut)
        for plan in self._plans:
            if plan.ready_ns is not None:
                at(float(plan.ready_ns), ENQUEUE, plan.stream, plan.priority)
        # What turning bytes into credit takes is spent half at either end.
        way_ns = (self._link.delay_ns + self._link.credit_latency_ns) / 2
        for time_ns, target, size_bytes in self._grants:
            at(time_ns + way_ns, PING if target == PING_TARGET else CREDIT, target, size_bytes)

    def hand_over(
        self, stream: int, priority: int, time_ns: float, head_bytes: int | None = None
    ) -> None:
        """Schedule the hand-over of a message whose plan has no time; of its HEADERS, if known."""
        if head_bytes is not None:
            self._heads.are(stream, head_bytes)
        self._at(time_ns, ENQUEUE, stream, priority)

    def apply(self, now: float, kind: int, stream: int, value: int) -> bool:
        """Take an event; True if a decision may follow from it."""
        if kind in FAR_END:
            self._far_end.apply(now, kind, stream)
        elif kind in (ASKED, REPLY):
            self._acknowledges(now, cut=value if kind == ASKED else None)
        elif kind == LEFT:
            if value == self._version:
                self._leaving = False
                self._left(self.queue.take())
        else:
            self._take(now, kind, stream, value)
            return True
        return False

    def _take(self, now: float, kind: int, stream: int, value: int) -> None:
        """Take an event from which a decision may follow."""
        if kind in (PING, CREDIT) and (read_ns := self._runs.read_ns(now)) > now:
            self._at(read_ns, kind, stream, value)
        elif kind == ENQUEUE:
            self._machine.enqueue(
                stream,
                self._messages[stream],
                round(now),
                priority=value,
                head_bytes=self._head_bytes.get(stream, 0),
            )
            self._heads.handed_over(stream)
            if self._writes_each:
                self._write_whole(now)
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

    def _acknowledges(self, now: float, *, cut: int | None) -> None:
        """Acknowledge a segment of the other direction, which takes its part of the link.

        It has requests, some of which are `cut`, or replies (None).
        """
        if cut is not None:
            self._beside.requests_came(cut=cut)
            self._probe(now)
        self.queue.charge(now)
        self._plan_again(now)

    def _probe(self, now: float) -> None:
        """Send a PING of its own at a burst's first requests, and acknowledge its answer.

        Both count as packets without data, though a PING has 17 bytes.
        """
        if self._probes:
            self._probes = False
            if self._packets is not None and self._back is not None:
                back = self._back
                self._packets.put_control(
                    PING_FRAME_BYTES, now, lambda at_ns: back.put_control(PING_FRAME_BYTES, at_ns)
                )
                return
            for _ in range(2):
                self.queue.charge(now)

    def pump(self, now: float) -> None:
        """Decide as long as the kernel has room; else wake up when it will have."""
        self._heads.write(self.queue, now)
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
                self._far_end.written(self._machine, self.queue.free_ns)
                self._gather(now)
                self._answer_if_written(now)
                self._far_end.gathered(self._machine, max(now, self.queue.free_ns))
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
            if self._in_turns and not self._machine.idle:
                self._wake(now)
                return True
        if self._asked and self._polled:  # an answer that waited for the last write
            self._machine.prepare(round(now))
            self._answer(now)
        return False

    def _write_whole(self, now: float) -> None:
        """Hand writes over that the kernel takes whole at once; gather the first that it does not.

        What is handed over at the same moment is known to the writes behind.
        """
        room = self.queue.free_bytes(now)
        while not self._machine.idle and not self._machine.write_bytes:
            self._gather(now)
            room -= self._machine.write_bytes
            if room < 0:
                return
            while self._machine.emitting:
                budget = self._room.piece(now, self._before_bytes, self._frame_open[1])
                stream, size = self._machine.next(budget, round(now))
                self._machine.sent(stream, size, round(now))
                self._let_go(stream, size, now)

    def _gather(self, now: float) -> None:
        emitting, heads = self._machine.emitting, self._machine.heads
        self._machine.prepare(round(now))
        if self._room.in_memory and not emitting and self._machine.emitting:
            self.queue.push(now)  # the end of the write before
            self._beside.write_begins(heads)

    def _looks_at(self, room_at: float, now: float) -> float:
        """Time at which the sender sees that there is room: it looks at intervals."""
        poll_ns = 0 if self._polled else self._link.poll_ns
        if not poll_ns or math.isinf(room_at):
            self._looked_ns = now
            return room_at
        return now + math.ceil((room_at - now) / poll_ns) * poll_ns

    @property
    def _before_bytes(self) -> int:
        """Bytes that leave before those of the next piece: of a new frame its headers."""
        if not self._room.in_memory:
            return FRAME_HEADER_BYTES
        if self._frame_open[1]:
            return 0
        return FRAME_HEADER_BYTES + self._beside.ahead_bytes

    @property
    def has_messages(self) -> bool:
        """True if the scheduler has something that was not handed to the kernel."""
        return not self._machine.idle

    def share(self, rate_bps: float, now: float, keep: float) -> None:
        """Change the connection's share of its path; it keeps that part of what its bucket has."""
        self.queue.replan(rate_bps, now, keep)
        self._plan_again(now)

    def moved(self, now: float) -> None:
        """Learn that packets have come, or were acknowledged."""
        if self._packets is not None:
            self._packets.look()
        self._next_leaves()
        if math.isinf(self._wake_at):
            room_at = self._room.at(now, self._before_bytes)
            if not math.isinf(room_at):
                self._wake(self._looks_at(room_at, self._looked_ns))

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
        StandstillError
            The credit never let it finish.
        """
        self._machine.forget_credit()
        self._far_end.rest()
        if any(self._unsent.values()):
            unsent = sum(self._unsent.values())
            raise StandstillError(f"out of flow-control credit, with {unsent} bytes unsent")
        return self._record.schedule()

    def _wake(self, time_ns: float) -> None:
        if self._wake_at < 0 or time_ns < self._wake_at:
            self._wake_at = time_ns
            if not math.isinf(time_ns):
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
        early = self._packets is not None and self._packets.begins_early
        begun = self._packets.begins() if self._packets is not None and early else None
        if not self._leaving and (head := self.queue.head()) is not None:
            self._leaving = True
            self._at(head.end_ns, LEFT, 0, self._version)
            begun = begun if early else head
        if begun is not None:
            self._far_end.begins(begun)

    def _left(self, frame: Frame) -> None:
        stream, size = frame.stream, frame.size_bytes
        arrival = frame.end_ns + self._link.delay_ns
        self._unsent[stream] -= size
        self._record.served(stream, frame.start_ns + self._link.delay_ns, arrival, size)
        whole = self._unsent[stream] == 0
        if whole:
            self._record.ends[stream] = round(arrival)
            if self._beside.heads.pushed:
                self._at(arrival + self._link.delay_ns, REPLY)
            if self._told is not None:
                behind_ns = (frame.behind_ns or frame.end_ns) + self._link.delay_ns
                self._told(stream, arrival, behind_ns)
        self._far_end.left(frame, whole=whole, over=len(self._record.ends) == len(self._plans))
        self._next_leaves()

    def _counted_bytes(self, stream: int, size: int) -> int:
        """Length in the header of a frame that begins with these bytes; 0 if they continue one."""
        whose, room = self._frame_open
        if whose == stream and room >= size:
            self._frame_open = (stream, room - size)
            return 0
        whole = min(self._frame_bytes, size + self._machine.rest_of_frame_bytes(stream))
        self._frame_open = (stream, whole - size)
        return whole

    def _answer_if_written(self, now: float) -> None:
        """Send the answer to a PING once a rule that gathers writes has put it into one."""
        if not self._asked or self._machine.control:
            return
        if self._link.flight_segments and self._machine.emitting:
            self._asked = False
            self._beside.answer()
        else:
            self._answer(now)

    def _answer(self, now: float) -> None:
        """Send the answer to a PING, behind what is in the socket buffer."""
        self._asked = False
        if self._packets is not None:
            self._packets.put_control(PING_FRAME_BYTES, now, self._answered)
        else:
            self.queue.put_control(PING_FRAME_BYTES, now)
            self._answered(max(now, self.queue.free_ns))

    def _answered(self, leaves_ns: float) -> None:
        # The frame behind it counts when it begins to leave, and that is the same moment.
        first = self._far_end.answer_first
        self._at(leaves_ns - 1 if first else leaves_ns + self._link.delay_ns, ANSWER)


def _pushed_head_bytes(plans: Sequence[StreamPlan]) -> dict[int, int]:
    """Bytes of each pushed message's HEADERS, with the credit for its reply."""
    return {p.stream: p.call_bytes + WINDOW_UPDATE_BYTES for p in plans if p.call_bytes}
