"""Ends of streams in two traces, stream by stream."""

from collections import Counter
from collections.abc import Iterable, Sequence

from netcosim.scoring.differences.records import Change, EndChange, Ends
from netcosim.trace import StreamRow

Stream = tuple[str, str, str, int]
"""Source, destination, tensor, and which of the streams of this name in its burst, from 0.

The worlds number connections and streams each in a way of its own; these are the same in both.
"""


def named_streams(burst: Sequence[StreamRow]) -> dict[Stream, StreamRow]:
    """One burst's rows by what a stream is called in both worlds."""
    seen: Counter[tuple[str, str, str]] = Counter()
    found: dict[Stream, StreamRow] = {}
    for row in sorted(burst, key=lambda row: (row.connection, row.stream)):
        name = (row.source, row.destination, row.tensor)
        found[*name, seen[name]] = row
        seen[name] += 1
    return found


def ends(a: Iterable[Sequence[StreamRow]], b: Iterable[Sequence[StreamRow]]) -> Ends:
    """Compare the streams' wire ends in the bursts of A with those in the bursts of B."""
    before, after = _by_stream(a), _by_stream(b)
    return Ends(
        streams=tuple(
            EndChange(
                source=rows[0].source,
                destination=rows[0].destination,
                tensor=rows[0].tensor,
                connection=rows[0].connection,
                end_ns=Change.between(_ends_ns(rows), _ends_ns(after[stream])),
            )
            for stream, rows in before.items()
            if stream in after
        ),
        only_a=len(before.keys() - after.keys()),
        only_b=len(after.keys() - before.keys()),
    )


def _by_stream(several: Iterable[Sequence[StreamRow]]) -> dict[Stream, list[StreamRow]]:
    found: dict[Stream, list[StreamRow]] = {}
    for burst in several:
        for stream, row in named_streams(burst).items():
            found.setdefault(stream, []).append(row)
    return found


def _ends_ns(rows: Iterable[StreamRow]) -> list[int]:
    return [row.wire_end_ns for row in rows]
