"""Positions of stream ends in their connection's bytes: the order of service as a clock.

A pause of the machine moves times, and leaves these as they are.
"""

import itertools
from collections.abc import Iterable, Sequence

from netcosim.trace import StreamRow

Stream = tuple[int, int]
"""Connection and stream."""


def byte_positions(rows: Iterable[StreamRow]) -> dict[Stream, float]:
    """Share of its connection's bytes that was carried by its end, for each stream of a burst.

    Bytes are DATA; service counts in the order of the wire.
    """
    by_connection: dict[int, list[StreamRow]] = {}
    for row in rows:
        by_connection.setdefault(row.connection, []).append(row)
    return {
        (connection, stream): position
        for connection, mine in by_connection.items()
        for stream, position in _positions(mine).items()
    }


def _positions(rows: Sequence[StreamRow]) -> dict[int, float]:
    served = sorted((s.position, s.size_bytes, row.stream) for row in rows for s in row.services)
    carried = list(itertools.accumulate(size for _, size, _ in served))
    ends = {stream: done for (_, _, stream), done in zip(served, carried, strict=True)}
    return {stream: done / carried[-1] for stream, done in ends.items()}
