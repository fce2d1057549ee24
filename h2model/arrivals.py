"""Conversion of trace rows to arrivals at a receiver, the input of its overhead model."""

from collections.abc import Iterable

from h2model.overhead import Arrival
from netcosim.spans import Span
from netcosim.trace import StreamRow


def arrivals_of(rows: Iterable[StreamRow]) -> list[Arrival]:
    """The messages of one burst of one connection, by their wire ends."""
    return [Arrival(wire_end_ns=row.wire_end_ns, size_bytes=row.size_bytes) for row in rows]


def spans_of(rows: Iterable[StreamRow]) -> list[Span]:
    """Spans of time in which DATA of these rows arrived, row by row."""
    return [(s.start_ns, s.end_ns) for row in rows for s in row.services]
