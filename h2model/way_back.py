"""Way to the end that sends the data: of requests, and of the receiver's credit."""

import bisect
import math
from collections.abc import Callable, Container, Sequence
from dataclasses import dataclass
from typing import Final, Protocol

from h2model.link import Frame
from h2model.protocol import FRAME_HEADER_BYTES, GRPC_PREFIX_BYTES, WINDOW_UPDATE_BYTES
from h2model.reading import ReadTogether
from h2model.records import LinkModel, StreamPlan
from h2model.segments import PACKET_HEADER_BYTES, SegmentQueue

ASKING_BYTES: Final = WINDOW_UPDATE_BYTES + FRAME_HEADER_BYTES + GRPC_PREFIX_BYTES
"""Bytes behind a gRPC call's HEADERS: credit for the answer, and DATA with a message of nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Came:
    """A segment of requests at the sender.

    `cut` of them came without their message, whose reader asks for its prefix then.
    """

    time_ns: float
    cut: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Requests:
    """Requests of a burst on their way.

    Attributes
    ----------
    came : their segments at the sender
    asked_ns : when each was handed over, in order
    there_ns : when the last byte of each is at the sender
    """

    came: tuple[Came, ...] = ()
    asked_ns: tuple[int, ...] = ()
    there_ns: tuple[float, ...] = ()

    def before_ns(self, now_ns: float) -> float:
        """Time at which all that were handed over by now are at the sender."""
        count = bisect.bisect_right(self.asked_ns, now_ns)
        return self.there_ns[count - 1] if count else -math.inf


NO_REQUESTS: Final = Requests()


class Back(Protocol):
    """Way of the receiver's writes to the sender.

    Attributes
    ----------
    requests : those that are on it, too
    """

    requests: Requests

    def write(self, now_ns: float, updates: int, there: Callable[[float], None]) -> None:
        """Write so many updates; `there` is told when the sender knows of them."""


class WayBack:
    """Way of the receiver's writes to the sender, through the link's token bucket.

    They go behind the requests that were handed over before. Those that come while the sender wakes
    up for the first one are read with it.
    """

    def __init__(self, link: LinkModel, rate_bps: float) -> None:
        self.requests = NO_REQUESTS
        self._link = link
        self._byte_ns = 8e9 / rate_bps
        self._ahead_ns = link.bucket_bytes * self._byte_ns
        self._due_ns = -math.inf
        self._read = ReadTogether()

    def write(self, now_ns: float, updates: int, there: Callable[[float], None]) -> None:
        """Write updates; see `Back.write`."""
        there(self.arrives(now_ns, updates))

    def arrives(self, now_ns: float, updates: int) -> float:
        """Time at which the sender knows of a write of so many updates."""
        there_ns = now_ns + self._link.credit_latency_ns
        if not self._link.segment_bytes:
            return there_ns
        before_ns = self.requests.before_ns(now_ns)
        if before_ns > there_ns:  # they leave the bucket empty
            self._due_ns = max(self._due_ns, before_ns + self._ahead_ns)
        there_ns = max(there_ns, self._due_ns - self._ahead_ns)
        size_bytes = PACKET_HEADER_BYTES + updates * WINDOW_UPDATE_BYTES
        self._due_ns = max(there_ns, self._due_ns) + size_bytes * self._byte_ns
        return self._read.first_ns(there_ns)


def requests_of(
    link: LinkModel, rate_bps: float, plans: Sequence[StreamPlan], with_credit: Container[int]
) -> Requests:
    """Requests for these messages, as they come to the sender.

    Some requests bring credit for the connection. None come where bytes flow, nor of calls whose
    length is not known.
    """
    if not link.segment_bytes:
        return NO_REQUESTS
    path = SegmentQueue(link, rate_bps)
    asked = sorted((plan for plan in plans if plan.call_bytes), key=lambda plan: plan.asked_ns)
    for plan in asked:
        credit_bytes = WINDOW_UPDATE_BYTES if plan.stream in with_credit else 0
        for size_bytes in (plan.call_bytes, ASKING_BYTES, credit_bytes):
            path.put(0, size_bytes, plan.asked_ns, counted_bytes=0)
        path.push(plan.asked_ns)
    cuts: dict[float, int] = {}
    there_ns = []
    while path.head() is not None:
        called, message, credit = path.take(), _next(path), _next(path)
        for part in (called, message):
            cuts.setdefault(part.end_ns, 0)
        cuts[called.end_ns] += called.end_ns != message.end_ns
        there_ns.append(max(message.end_ns, credit.end_ns) + link.delay_ns)
    return Requests(
        came=tuple(Came(time_ns=t + link.delay_ns, cut=cut) for t, cut in cuts.items()),
        asked_ns=tuple(plan.asked_ns for plan in asked),
        there_ns=tuple(there_ns),
    )


def _next(path: SegmentQueue) -> Frame:
    found = path.head()
    assert found is not None
    return path.take()
