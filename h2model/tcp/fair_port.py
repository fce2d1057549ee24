"""Port whose classes take turns, as HTB serves those that may borrow all of a link's rate.

Source: net/sched/sch_htb.c of Linux. A class's turn lasts until its packets have used up a quantum;
its deficit, what is left then, counts for the next one. Bare acknowledgements go ahead of all
others.
"""

import math
from collections import deque
from typing import Final

from h2model.tcp.network import ACKNOWLEDGES, Packet, PacketNetwork

_ROUNDING_NS: Final = 1e-3


class FairPort:
    """One direction of a link: its delay, then a queue for each class, which drops nothing.

    Parameters
    ----------
    rate_bps, delay_ns
        Of the link.
    bucket_bytes
        What leaves at line speed after a rest.
    quantum_bytes
        What a class may send in a turn.
    """

    def __init__(
        self, *, rate_bps: float, delay_ns: int, bucket_bytes: int, quantum_bytes: int
    ) -> None:
        self.delay_ns = delay_ns
        self._ns_per_byte = 8e9 / rate_bps
        self._ahead_ns = bucket_bytes * self._ns_per_byte
        # When a link without a bucket would be free: the bucket is ahead of it by its bytes.
        self._due_ns = -math.inf
        self._quantum_bytes = quantum_bytes
        self._first: deque[Packet] = deque()
        self._waiting: dict[int, deque[Packet]] = {}
        self._deficit: dict[int, int] = {}  # by class, of its quantum
        self._turn = 0  # the class whose turn it is, or the next one that has something
        self._looks_ns = math.inf

    def segment_ns(self, class_id: int, size_bytes: int) -> float:
        """Time from a packet of a class to its next one; see `Port.segment_ns`."""
        others = sum(bool(queue) for number, queue in self._waiting.items() if number != class_id)
        return size_bytes * self._ns_per_byte * (1 + others)

    def enter(self, packet: Packet, now: float, network: PacketNetwork) -> None:
        """Take a packet; see `Port.enter`."""
        if packet.class_id == ACKNOWLEDGES:
            self._first.append(packet)
        else:
            self._waiting.setdefault(packet.class_id, deque()).append(packet)
        self._serve(now, network)

    def _serve(self, now: float, network: PacketNetwork) -> None:
        """Let leave what the bucket allows."""
        while (from_ns := self._due_ns - self._ahead_ns) <= now + _ROUNDING_NS:
            packet = self._next()
            if packet is None:
                return
            # The bucket is charged for a packet that has left.
            self._due_ns = max(self._due_ns, now) + packet.size_bytes * self._ns_per_byte
            network.leaves(packet, now)
        if from_ns < self._looks_ns and (self._first or any(self._waiting.values())):
            self._looks_ns = from_ns
            network.at(from_ns, lambda at_ns: self._look(at_ns, network))

    def _look(self, now: float, network: PacketNetwork) -> None:
        self._looks_ns = math.inf
        self._serve(now, network)

    def _next(self) -> Packet | None:
        """The packet whose turn it is."""
        if self._first:
            return self._first.popleft()
        busy = sorted(number for number, queue in self._waiting.items() if queue)
        if not busy:
            return None
        turn = next((number for number in busy if number >= self._turn), busy[0])
        packet = self._waiting[turn].popleft()
        left = self._deficit.get(turn, 0) - packet.size_bytes
        self._turn = turn
        if left < 0:
            left += self._quantum_bytes
            self._turn = next((number for number in busy if number > turn), 0)
        self._deficit[turn] = left
        return packet
