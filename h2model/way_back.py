"""Requests on their way to the end that sends the data."""

from collections.abc import Iterator, Sequence

from h2model.records import LinkModel, StreamPlan
from h2model.segments import SegmentQueue


def requests_come_ns(
    link: LinkModel, rate_bps: float, plans: Sequence[StreamPlan], request_bytes: int
) -> Iterator[float]:
    """Times at which segments with requests for these messages are at the sender.

    None where bytes flow, and where nothing is known of requests (`request_bytes` is 0).
    """
    if not request_bytes or not link.segment_bytes:
        return
    path = SegmentQueue(link, rate_bps)
    for asked_ns in sorted(plan.asked_ns for plan in plans):
        path.put(0, request_bytes, asked_ns, counted_bytes=0)
        path.push(asked_ns)
    came_ns = -1.0
    while (request := path.head()) is not None:
        path.take()
        if request.end_ns > came_ns:
            came_ns = request.end_ns
            yield came_ns + link.delay_ns
