"""Receiver of a simulated burst: it hears of frames, and tells what credit it gives."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Final

from h2model.events import ACCEPT, ANSWER, CALL, CREDIT, LOOK, PING, READ, WHOLE, At
from h2model.grpc_receiver import PING as PING_TARGET
from h2model.grpc_receiver import Update
from h2model.link import Frame
from h2model.machine import Machine
from h2model.pushed_calls import Calls, Reader
from h2model.receiver import Account
from h2model.records import REST_NS, Arriving, LinkModel, StreamPlan
from h2model.way_back import Back, Requests

Busy = Callable[[], bool]
"""Whether DATA is arriving."""

KINDS: Final = frozenset({ANSWER, LOOK, CALL, ACCEPT, WHOLE, READ})
"""Events that happen at the receiver."""

_PARSED_NS: Final = 1.0
"""Time behind a segment's in which all frames that begin in it are parsed."""


class FarEnd:
    """The receiver's end in one burst; the account and the reader outlive it.

    Without an account it tells nothing: its credit is an input then.

    Parameters
    ----------
    account, reader
        State of the receiver; only pushed calls have a reader.
    link, back
        The path, and the way of what it writes.
    plans
        The burst's messages.
    next_ns
        When the next burst begins, if that is known.
    """

    def __init__(
        self,
        account: Account | None,
        reader: Reader | None,
        link: LinkModel,
        back: Back,
        plans: Sequence[StreamPlan],
        next_ns: int | None,
    ) -> None:
        self._account = account
        self._reader = reader if account is not None else None
        self._calls: Calls | None = None
        self._link = link
        self._asked_ns = {plan.stream: plan.asked_ns for plan in plans}
        self._messages = {plan.stream: plan.size_bytes for plan in plans}
        self._next_ns = next_ns
        self._over_ns: float | None = None
        self._back = back

    def begin(self, at: At, credit: Callable[[int, int, int], None], busy: Busy) -> set[int]:
        """Give the credit that requests bring; return those that bring some for the connection.

        Parameters
        ----------
        at, credit
            Note an event; give credit at once, as `Machine.credit` does.
        busy
            Whether DATA is arriving.
        """
        self._at = at
        if self._account is None:
            return set(self._asked_ns)
        found = self._open(self._account, credit)
        if self._reader is not None:
            self._calls = Calls(
                self._account,
                self._reader,
                at=at,
                tell=self._tell,
                messages=self._messages,
                least_ns=None if self._link.segment_bytes else self._link.credit_latency_ns,
                busy=busy,
            )
        return found

    def asks(self, requests: Requests) -> None:
        """Take the requests that are on the receiver's way back; its own writes go behind them."""
        self._back.requests = requests

    def _open(self, account: Account, credit: Callable[[int, int, int], None]) -> set[int]:
        if account.look_ns is not None:
            self._at(max(0.0, account.look_ns), LOOK)
        updates = account.begin(list(self._asked_ns))
        if not updates:  # windows that never bind are raised with each request
            return set(self._asked_ns)
        request, found = 0, set()
        for target, size_bytes in updates:
            if target:
                request = target
            elif request:
                found.add(request)
            asked_ns = self._asked_ns.get(request, 0)
            if asked_ns <= 0:
                credit(target, size_bytes, 0)
            else:
                self._at(asked_ns, CREDIT, target, size_bytes)
        return found

    def apply(self, now: float, kind: int, stream: int) -> None:
        """Take an event of `KINDS`."""
        if kind == ANSWER:
            self.answered(now)
        elif kind == LOOK:
            self._look(now)
        elif self._calls is not None:
            self._calls.apply(now, kind, stream)

    @property
    def answer_first(self) -> bool:
        """True if a PING's answer is taken before the frame that follows it is counted."""
        return self._account is not None and self._account.answer_first

    def answered(self, now: float) -> None:
        """Take the answer to a PING."""
        if self._account is None:
            return
        look_ns, updates = self._account.answered(now)
        self._tell(updates, now)
        self._at(look_ns, LOOK)

    def _look(self, now: float) -> None:
        rested_ns = self._rested_ns()
        if self._account is not None and (rested_ns is None or now <= rested_ns):
            self._tell(self._account.look_again(now), now)

    def gathered(self, machine: Machine, leaves_ns: float) -> None:
        """Look for the HEADERS of a gathered write, whose last byte leaves then if it is whole."""
        if self._calls is not None:
            self._calls.gathered(machine)
            self.written(machine, leaves_ns)

    def written(self, machine: Machine, leaves_ns: float) -> None:
        """Note when the last byte of a write leaves, if it is whole."""
        if self._calls is not None and not machine.emitting:
            self._calls.written(leaves_ns + self._link.delay_ns)

    def begins(self, frame: Frame) -> None:
        """Take a frame that begins to leave."""
        if self._calls is not None:
            self._calls.arrives(frame.stream, frame.start_ns + self._link.delay_ns)
        if self._account is None or not self._account.at_start or not frame.counted_bytes:
            return
        stream, size = frame.stream, frame.counted_bytes
        lasts_ns = (frame.end_ns - frame.start_ns) * size / frame.size_bytes
        arriving, begun_ns = None, frame.start_ns
        if frame.step_ns:
            begun_ns = frame.header_ns
            lasts_ns = frame.end_ns - frame.header_ns
            arriving = _arriving(frame, self._link)
        arrival = begun_ns + self._link.delay_ns
        if frame.answers:
            self._answer_ahead(frame, arrival)
        message = self._messages[stream]
        updates = self._account.frame(stream, size, message, arrival, lasts_ns, arriving)
        self._tell(updates, arrival)

    def _answer_ahead(self, frame: Frame, arrival: float) -> None:
        """Hear an answer that is ahead of a frame: what is parsed of one segment counts before."""
        ahead_ns = frame.ahead_ns + self._link.delay_ns
        if self.answer_first or ahead_ns < arrival:
            self.answered(ahead_ns)
        else:
            self._at(ahead_ns + _PARSED_NS, ANSWER)

    def left(self, frame: Frame, *, whole: bool, over: bool) -> None:
        """Take a frame that has left: its message may be whole, and the burst over."""
        stream, arrival = frame.stream, frame.end_ns + self._link.delay_ns
        if whole and self._calls is not None:
            self._at(arrival, WHOLE, stream)
        if over:
            self._over_ns = arrival
        if self._account is None:
            return
        if whole and frame.behind_ns:
            self._account.closed(stream, frame.behind_ns + self._link.delay_ns)
        if not self._account.at_start:
            message = self._messages[stream]
            self._tell(self._account.frame(stream, frame.size_bytes, message, arrival), arrival)

    def rest(self) -> None:
        """End the burst: the next one's zero is known, or assumed."""
        rested_ns = self._rested_ns()
        if self._account is not None and rested_ns is not None:
            self._account.rest(rested_ns)

    def _rested_ns(self) -> float | None:
        """Time at which the next burst begins; None as long as this one is not over."""
        if self._over_ns is None:
            return None
        return self._over_ns + REST_NS if self._next_ns is None else float(self._next_ns)

    def _tell(self, updates: Sequence[Update], now: float) -> None:
        if not updates:
            return
        self._back.write(now, len(updates), partial(self._are_there, updates))

    def _are_there(self, updates: Sequence[Update], there_ns: float) -> None:
        for target, grant in updates:
            if target == PING_TARGET:
                self._at(there_ns + grant, PING, target, 0)
            else:
                self._at(there_ns, CREDIT, target, grant)


def _arriving(frame: Frame, link: LinkModel) -> Arriving:
    return Arriving(
        come_bytes=frame.come_bytes,
        soon_bytes=frame.soon_bytes,
        step_ns=frame.step_ns,
        step_bytes=link.segment_bytes,
    )
