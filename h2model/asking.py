"""Calls that ask for messages, on a connection of their own: their bytes take part of its links."""

from collections import deque
from collections.abc import Callable, Sequence
from typing import Final

from h2model.events import ENQUEUE, LEFT, At
from h2model.link import Queue
from h2model.reading import WAKING_NS, ReadTogether
from h2model.records import LinkModel
from h2model.segments import SegmentQueue
from h2model.tcp.frames import TcpQueue

Came = Callable[[int, float], None]
"""Takes a call's number, when it has arrived."""

CALL_NS: Final = 7
"""Time from a call to the next one made at the same moment, where each is a write of its own: most
of gRPC's in a guest (1.85.1; 6 to 8 ns)."""

_NO_PAYLOAD: Final = 0


def spacing_ns(*, writes_each: bool) -> int:
    """Time between two calls that are made at one moment."""
    return CALL_NS if writes_each else 0


class Asking:
    """A connection's calls in the event loop; they need no credit, and leave in their order.

    Parameters
    ----------
    link
        The path of the calls.
    writes_each
        True if each call is a write of its own, also of those that are made at one moment.
    came
        Told of each call when it has arrived.
    queue
        The kernel's, where it goes through TCP packet by packet.
    """

    def __init__(
        self,
        link: LinkModel,
        *,
        writes_each: bool,
        came: Came,
        queue: TcpQueue | None = None,
    ) -> None:
        self.queue: Queue = queue or SegmentQueue(link, link.rate_bps)
        self._packets = queue
        self._delay_ns = link.delay_ns
        self._writes_each = writes_each
        self._came = came
        self._made = 0
        self._waiting: deque[tuple[int, int]] = deque()  # numbers and sizes
        self._version = 0
        self._read = ReadTogether()
        self._leaving = False

    def begin(self, at: At) -> None:
        """Take the scheduler of its events; there are none yet."""
        self._at = at

    def ask(self, call_bytes: Sequence[int], now: float) -> range:
        """Make calls of so many bytes each, with all of their frames; their numbers."""
        numbers = range(self._made, self._made + len(call_bytes))
        self._made = numbers.stop
        apart_ns = spacing_ns(writes_each=self._writes_each)
        for place, number in enumerate(numbers):
            self._at(now + place * apart_ns, ENQUEUE, number, call_bytes[place])
        return numbers

    @property
    def has_messages(self) -> bool:
        """True if there are calls that were not handed to the kernel."""
        return bool(self._waiting)

    def apply(self, now: float, kind: int, stream: int, value: int) -> bool:
        """Take an event; True if calls are to be written."""
        if kind == ENQUEUE:
            self._waiting.append((stream, value))
            return True
        if value == self._version:
            self._leaving = False
            frame = self.queue.take()
            self._came(frame.stream, self._read_at(frame.end_ns + self._delay_ns))
            self._next_leaves()
        return False

    def _read_at(self, arrives_ns: float) -> float:
        """Time at which a call is read: with those that come while its reader wakes up."""
        if not self._writes_each:
            return arrives_ns
        return self._read.first_ns(arrives_ns) + WAKING_NS

    def pump(self, now: float) -> None:
        """Write the calls that were made."""
        while self._waiting:
            number, call_bytes = self._waiting.popleft()
            self.queue.put(number, call_bytes, now, counted_bytes=_NO_PAYLOAD)
            if self._writes_each:
                self.queue.push(now)
        self.queue.push(now)
        self._next_leaves()

    def share(self, rate_bps: float, now: float, keep: float) -> None:
        """Change the connection's share of its path; it keeps that part of what its bucket has."""
        self.queue.replan(rate_bps, now, keep)
        self._version += 1
        self._leaving = False
        self._next_leaves()

    def moved(self, now: float) -> None:
        """Learn that packets have come, or were acknowledged."""
        if self._packets is not None:
            self._packets.look()
        self._next_leaves()

    def _next_leaves(self) -> None:
        if self._leaving or (head := self.queue.head()) is None:
            return
        self._leaving = True
        self._at(head.end_ns, LEFT, 0, self._version)
