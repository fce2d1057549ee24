"""Packets on their way through ports of links, and ports of one queue."""

import heapq
import math
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, Protocol

from h2model.link import LINE_BPS

_ENTERS: Final = 0
_ARRIVES: Final = 1
_ACTS: Final = 2


class Port(Protocol):
    """One direction of a link.

    Attributes
    ----------
    delay_ns : before a packet is at the queues
    """

    @property
    def delay_ns(self) -> int:
        """Delay before the queues."""

    def enter(self, packet: "Packet", now: float, network: "PacketNetwork") -> None:
        """Take a packet, and let it leave at its time (`PacketNetwork.leaves`), or drop it."""

    def segment_ns(self, class_id: int, size_bytes: int) -> float:
        """Time from a packet of a class to its next one, while those that are busy now are."""


class FifoPort:
    """One direction of a link: its delay, then a queue, which drops what it has no room for.

    Parameters
    ----------
    rate_bps, delay_ns
        Of the link.
    queue_bytes
        Room of the queue, in bytes of frames.
    bucket_bytes
        What leaves at line speed after a rest.
    """

    def __init__(
        self, *, rate_bps: float, delay_ns: int, queue_bytes: int, bucket_bytes: int
    ) -> None:
        self.delay_ns = delay_ns
        self._ns_per_byte = 8e9 / rate_bps
        self._ahead_ns = bucket_bytes * self._ns_per_byte
        self._room_bytes = queue_bytes
        self._waiting: deque[tuple[float, int]] = deque()
        self._due_ns = self._line_ns = -math.inf

    def take(self, size_bytes: int, now: float) -> float | None:
        """Time at which a packet leaves that comes now; None if it is dropped."""
        waiting = self._waiting
        while waiting and waiting[0][0] <= now:
            self._room_bytes += waiting.popleft()[1]
        if size_bytes > self._room_bytes:
            return None
        leaves_ns = max(now, self._line_ns, self._due_ns - self._ahead_ns)
        self._line_ns = leaves_ns + size_bytes * 8e9 / LINE_BPS
        # The bucket is charged for a packet that has left.
        self._due_ns = max(self._due_ns, leaves_ns) + size_bytes * self._ns_per_byte
        if leaves_ns > now:
            waiting.append((leaves_ns, size_bytes))
            self._room_bytes -= size_bytes
        return leaves_ns

    def enter(self, packet: "Packet", now: float, network: "PacketNetwork") -> None:
        """Take a packet, or drop it; see `Port.enter`."""
        leaves_ns = self.take(packet.size_bytes, now)
        if leaves_ns is not None:
            network.leaves(packet, leaves_ns)

    def segment_ns(self, class_id: int, size_bytes: int) -> float:
        """Time from a packet to the next one; see `Port.segment_ns`."""
        return size_bytes * self._ns_per_byte


class End(Protocol):
    """Receiver of packets: an end of a connection."""

    def expects(self, number: int, time_ns: float) -> None:
        """Learn that a packet will come then: nothing can be in its way any more."""

    def arrives(self, number: int, now: float) -> None:
        """Take a packet."""


ACKNOWLEDGES: Final = -1
"""Class of bare acknowledgements."""


@dataclass(slots=True)
class Packet:
    """A packet on its way: `hop` is the number of the port that it enters next.

    `class_id` is its class where a port serves classes in turns, or `ACKNOWLEDGES`.
    """

    route: tuple[Port, ...]
    hop: int
    size_bytes: int
    number: int
    end: End
    class_id: int


class PacketNetwork:
    """Packets on their way, in the order of time, and timers of their senders."""

    def __init__(self) -> None:
        self._events: list[tuple[float, int, int, Packet | Callable[[float], None]]] = []
        self._count = 0
        self.now_ns = 0.0
        self.moved: Callable[[int, float], None] = lambda position, now: None
        """Told which connection's packets have come, or were acknowledged."""

    @property
    def next_ns(self) -> float:
        """Time of the next event; infinite if there is none."""
        return self._events[0][0] if self._events else math.inf

    def send(
        self,
        route: tuple[Port, ...],
        size_bytes: int,
        number: int,
        end: End,
        now: float,
        class_id: int = 0,
    ) -> None:
        """Send a packet through these ports."""
        packet = Packet(route, 0, size_bytes, number, end, class_id)
        self._note(now + route[0].delay_ns, _ENTERS, packet)

    def at(self, time_ns: float, act: Callable[[float], None]) -> None:
        """Let something happen at a time."""
        self._note(time_ns, _ACTS, act)

    def step(self) -> None:
        """Let the next event happen."""
        now, _, kind, what = heapq.heappop(self._events)
        self.now_ns = now
        if not isinstance(what, Packet):
            what(now)
        elif kind == _ENTERS:
            what.route[what.hop].enter(what, now, self)
        else:
            what.end.arrives(what.number, now)

    def leaves(self, packet: Packet, leaves_ns: float) -> None:
        """Let a packet leave its port then."""
        packet.hop += 1
        if packet.hop < len(packet.route):
            self._note(leaves_ns + packet.route[packet.hop].delay_ns, _ENTERS, packet)
        else:
            packet.end.expects(packet.number, leaves_ns)
            self._note(leaves_ns, _ARRIVES, packet)

    def _note(self, time_ns: float, kind: int, what: "Packet | Callable[[float], None]") -> None:
        heapq.heappush(self._events, (time_ns, self._count, kind, what))
        self._count += 1
