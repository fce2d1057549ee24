"""Way to the end that sends the data: of requests, and of the receiver's credit."""

import math
from collections.abc import Container, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from h2model.link import Frame
from h2model.protocol import FRAME_HEADER_BYTES, GRPC_PREFIX_BYTES, WINDOW_UPDATE_BYTES
from h2model.records import LinkModel, StreamPlan
from h2model.segments import PACKET_HEADER_BYTES, SegmentQueue

ASKING_BYTES: Final = WINDOW_UPDATE_BYTES + FRAME_HEADER_BYTES + GRPC_PREFIX_BYTES
"""Bytes behind a gRPC call's HEADERS: credit for the answer, and DATA with a message of nothing."""


class WayBack:
    """Way of the receiver's writes: those of one instant share a packet, others follow it."""

    def __init__(self, link: LinkModel, rate_bps: float) -> None:
        self._link = link
        self._byte_ns = 8e9 / rate_bps
        self._last_ns = -math.inf
        self._written_ns = -math.inf

    def arrives(self, now_ns: float, updates: int) -> float:
        """Time at which a write of so many updates is at the sender."""
        there_ns = now_ns + self._link.credit_latency_ns
        if self._link.segment_bytes:
            if now_ns == self._written_ns:
                return self._last_ns
            self._written_ns = now_ns
            size_bytes = PACKET_HEADER_BYTES + updates * WINDOW_UPDATE_BYTES
            there_ns = max(there_ns, self._last_ns + size_bytes * self._byte_ns)
            self._last_ns = there_ns
        return there_ns


@dataclass(frozen=True, slots=True, kw_only=True)
class Came:
    """A segment of requests at the sender.

    `cut` of them came without their message, whose reader asks for its prefix then.
    """

    time_ns: float
    cut: int


def requests_come(
    link: LinkModel, rate_bps: float, plans: Sequence[StreamPlan], with_credit: Container[int]
) -> Iterator[Came]:
    """Segments with requests for these messages, as they come to the sender.

    Some requests bring credit for the connection. None come where bytes flow, nor of calls whose
    length is not known.
    """
    if not link.segment_bytes:
        return
    path = SegmentQueue(link, rate_bps)
    for plan in sorted(plans, key=lambda plan: plan.asked_ns):
        if plan.call_bytes:
            credit_bytes = WINDOW_UPDATE_BYTES if plan.stream in with_credit else 0
            for size_bytes in (plan.call_bytes, ASKING_BYTES, credit_bytes):
                path.put(0, size_bytes, plan.asked_ns, counted_bytes=0)
            path.push(plan.asked_ns)
    cuts: dict[float, int] = {}
    while path.head() is not None:
        called, message, _ = path.take(), _next(path), _next(path)
        for part in (called, message):
            cuts.setdefault(part.end_ns, 0)
        cuts[called.end_ns] += called.end_ns != message.end_ns
    for time_ns, cut in cuts.items():
        yield Came(time_ns=time_ns + link.delay_ns, cut=cut)


def _next(path: SegmentQueue) -> Frame:
    found = path.head()
    assert found is not None
    return path.take()
