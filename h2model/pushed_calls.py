"""Pushed calls at their receiver: they arrive, are accepted, are read, and are answered.

What a reader wants of a message counts only once the application has accepted the call and reads.
Until then the stream has its initial window and nothing beyond.
"""

import math
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from typing import Final

from h2model.events import ACCEPT, CALL, READ, WHOLE, At
from h2model.grpc_receiver import Update
from h2model.machine import Machine
from h2model.receiver import Account
from h2model.records import ReceiverModel

_NEXT_NS: Final = 0.1
"""Step that orders what an application does at one instant."""

_ANSWER_NS: Final = 1_030
"""Time from one answer to the next in a guest: its loop turns once for each (1.85.1)."""

Tell = Callable[[Sequence[Update], float], None]
"""Takes the updates that the receiver writes, and the time."""


class Reader:
    """The application behind a receiver of pushed calls; it outlives a burst.

    With `one_reader` it takes the calls in turn: the next one is accepted when the one before it is
    answered.
    """

    def __init__(self, receiver: ReceiverModel) -> None:
        self._acceptance = receiver.acceptance
        self._in_turn = receiver.one_reader
        self._overhead = receiver.overhead
        self._bursts = 0
        self._calls = 0
        self._reads = False
        self._waiting: deque[int] = deque()
        self._accepted: set[int] = set()
        self._whole: set[int] = set()

    def begin(self) -> None:
        """Begin a burst: the application has to wake up for its first call."""
        self._bursts += 1
        self._calls = 0
        self._reads = False
        self._waiting.clear()
        self._accepted.clear()
        self._whole.clear()

    def called(self, stream: int) -> int | None:
        """Take a new call: nanoseconds until it is accepted; None if it has to wait."""
        self._calls += 1
        if self._in_turn and self._reads:
            self._waiting.append(stream)
            return None
        self._reads = True
        first = self._calls == 1
        return self._acceptance.first_ns if first else self._acceptance.later_ns

    def accepted(self, stream: int) -> bool:
        """Begin to read a call; True if its message is there already."""
        self._accepted.add(stream)
        return stream in self._whole

    def whole(self, stream: int) -> bool:
        """Note that a message is there; True if it is being read."""
        self._whole.add(stream)
        return stream in self._accepted

    def read(self) -> int | None:
        """End the reading of a message; return the call that waited for that, if there is one."""
        self._reads = False
        if not self._waiting:
            return None
        self._reads = True
        return self._waiting.popleft()

    def takes_ns(self, size_bytes: int, *, busy: bool) -> int | None:
        """Time from the last byte, or from the acceptance, to the reply; None if not known."""
        if self._overhead is None:
            return None
        line = self._overhead.first if self._bursts == 1 else self._overhead.later
        return line.ns(size_bytes, self._overhead.stretch if busy else 1.0)


class Calls:
    """Pushed calls of a burst: turns events at the receiver into the updates that it writes.

    Parameters
    ----------
    account, reader
        The receiver and the application behind it.
    at, tell
        Note an event; pass on what the receiver writes.
    messages
        Bytes by stream.
    least_ns
        Least duration of an answer: all of it where the receiver's overhead is not known. None
        where processors take no time: then the first call of an instant is accepted before what is
        whole is answered, one by one, and the others after that.
    busy
        Whether DATA is arriving.
    """

    def __init__(
        self,
        account: Account,
        reader: Reader,
        *,
        at: At,
        tell: Tell,
        messages: Mapping[int, int],
        least_ns: int | None,
        busy: Callable[[], bool],
    ) -> None:
        self._account = account
        self._reader = reader
        self._at = at
        self._tell = tell
        self._messages = messages
        self._least_ns = least_ns
        self._busy = busy
        self._headed: set[int] = set()
        self._bare: list[int] = []
        self._noted: set[int] = set()
        self._called_at = (-1.0, 0)
        self._answers_ns = -math.inf
        reader.begin()

    def gathered(self, machine: Machine) -> None:
        """Look for HEADERS in the last write whose stream has no DATA there: they end it."""
        for stream in machine.headed():
            if stream not in self._headed:
                self._headed.add(stream)
                if not machine.planned(stream):
                    self._bare.append(stream)

    def written(self, time_ns: float) -> None:
        """Note when the last byte of the last write will be at the receiver."""
        for stream in self._bare:
            self.arrives(stream, time_ns)
        self._bare.clear()

    def arrives(self, stream: int, time_ns: float) -> None:
        """Note when the stream's HEADERS will be at the receiver, if these are its first bytes."""
        if stream not in self._noted:
            self._noted.add(stream)
            self._at(time_ns, CALL, stream)

    def apply(self, now: float, kind: int, stream: int) -> None:
        """Take an event."""
        if kind == CALL:
            wait_ns = self._reader.called(stream)
            if wait_ns is not None:
                self._at(now + wait_ns + self._after_others_ns(now), ACCEPT, stream)
        elif kind == ACCEPT and self._answers_ns > now + 1:
            self._at(self._answers_ns + _NEXT_NS, ACCEPT, stream)
        elif kind == ACCEPT:
            self._tell(self._account.accepted(stream, now), now)
            if self._reader.accepted(stream):
                self._reads(stream, now)
        elif kind == WHOLE:
            if self._reader.whole(stream):
                self._reads(stream, now)
        elif kind == READ:
            self._tell(self._account.replied(stream, now), now)
            following = self._reader.read()
            if following is not None:
                self._at(now, ACCEPT, following)

    def _after_others_ns(self, now: float) -> float:
        """Time by which a call's acceptance follows those of its instant."""
        if self._least_ns is not None:
            return 0.0
        instant, before = self._called_at
        before = before + 1 if instant == now else 0
        self._called_at = now, before
        return 2 * before * _NEXT_NS

    def _reads(self, stream: int, now: float) -> None:
        if self._least_ns is None:
            self._answers_ns = max(now + _NEXT_NS, self._answers_ns + _ANSWER_NS)
            self._at(self._answers_ns, READ, stream)
            return
        takes_ns = self._reader.takes_ns(self._messages[stream], busy=self._busy())
        self._at(now + (self._least_ns if takes_ns is None else takes_ns), READ, stream)
