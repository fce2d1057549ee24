"""Merging of close service intervals, for pictures and viewers that can't hold them all."""

from collections.abc import Iterable, Sequence
from typing import Final

from netcosim.trace import Service, StreamRow

_FIRST_NS: Final = 1000


def merge_close(services: Sequence[Service], within_ns: int) -> tuple[Service, ...]:
    """Join successive intervals of one stream that are at most `within_ns` apart."""
    merged: list[Service] = []
    for service in services:
        if merged and service.start_ns - merged[-1].end_ns <= within_ns:
            last = merged[-1]
            merged[-1] = Service(
                start_ns=last.start_ns,
                end_ns=max(last.end_ns, service.end_ns),
                size_bytes=last.size_bytes + service.size_bytes,
            )
        else:
            merged.append(service)
    return tuple(merged)


def resolution_for(rows: Iterable[StreamRow], limit: int) -> int:
    """The smallest of 0, 1, 2, 4 ... us at which all rows together have at most `limit` intervals.

    If the rows alone are more than `limit`, a resolution at which each has one interval.
    """
    gaps: list[int] = []
    kept = 0
    for row in rows:
        kept += 1 if row.services else 0
        pairs = zip(row.services, row.services[1:], strict=False)
        gaps.extend(later.start_ns - earlier.end_ns for earlier, later in pairs)
    if not gaps or kept + len(gaps) <= limit:
        return 0
    resolution = _FIRST_NS
    while kept + sum(gap > resolution for gap in gaps) > limit and resolution < max(gaps):
        resolution *= 2
    return resolution
