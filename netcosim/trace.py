"""Traces of emulation and simulation: one row a stream, in Parquet.

All times are integer nanoseconds on the burst's own clock, whose zero is the first request's
HEADERS at the requester (for a push: the first hand-over).
"""

import functools
import itertools
from collections.abc import Iterable
from dataclasses import dataclass, fields
from typing import Any, Final, Literal

World = Literal["emu", "predict", "sim"]

Level = Literal["PREDICT", "EXPLAIN", "ORACLE"]
LEVELS: Final[tuple[Level, ...]] = ("PREDICT", "EXPLAIN", "ORACLE")
"""Levels of a model's knowledge of a burst, from least to most."""

PREDICT: Final = "PREDICT"
"""The level that decides: nothing of the burst itself is known."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Service:
    """A stream's uninterrupted time on the wire, and the payload bytes it moved.

    `position` is its place in the connection's order of service: streams that share a packet
    share its time.
    """

    start_ns: int
    end_ns: int
    size_bytes: int
    position: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Stall:
    """A time in which a stream had data left and no credit."""

    start_ns: int
    end_ns: int


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamRow:
    """One stream of one burst, measured or predicted.

    Attributes
    ----------
    world : where it comes from: emu (measured), predict (a model), sim
    model : the discipline that predicted it; empty when measured
    level : what the model knew: PREDICT, EXPLAIN or ORACLE; empty when measured
    cell : workload/transport
    burst : counts from 0 within the cell
    valid : whether the burst may be scored: it is evidence, and no pause moved a model's input
    source, destination : hosts; the data flows from source to destination
    connection : counts from 0 within the cell
    stream : the HTTP/2 stream number
    tensor, size_bytes : the message handed over
    wire_bytes : DATA bytes, with gRPC's five-byte prefix, without frame headers and padding
    asked_ns : the requesting application asks, logged before the transport; None for a push
    requested_ns : request HEADERS at the requester; None where it was not seen
    ready_ns : the sending application hands the message over, logged before the transport
    start_ns : first DATA byte at the receiver
    wire_end_ns : last DATA byte at the receiver
    delivered_ns : the whole message is in the receiving application; None if unknown
    services : service intervals in order
    stalls : times without credit in which the link idled, in order
    credit_stops : visits that ended because the stream's credit did, with data left
    link_position : DATA bytes that all connections over the stream's bottleneck had carried by
        `wire_end_ns`, over all of the burst's there; None where it has that bottleneck to itself
    """

    world: World
    model: str = ""
    level: str = ""
    cell: str
    burst: int
    valid: bool = True
    source: str
    destination: str
    connection: int
    stream: int
    tensor: str
    size_bytes: int
    wire_bytes: int
    asked_ns: int | None = None
    requested_ns: int | None = None
    ready_ns: int
    start_ns: int
    wire_end_ns: int
    delivered_ns: int | None = None
    services: tuple[Service, ...] = ()
    stalls: tuple[Stall, ...] = ()
    credit_stops: int = 0
    link_position: float | None = None


Trace = tuple[StreamRow, ...]


@functools.cache
def trace_schema() -> Any:
    """The Arrow schema of a trace, a column for each field of `StreamRow`."""
    import pyarrow as pa  # only here and below: a plan is made without it

    span = [("start_ns", pa.int64()), ("end_ns", pa.int64())]
    service = pa.struct([*span, ("size_bytes", pa.int64()), ("position", pa.int32())])
    stall = pa.struct(span)
    return pa.schema(
        [
            pa.field("world", pa.string(), nullable=False),
            pa.field("model", pa.string(), nullable=False),
            pa.field("level", pa.string(), nullable=False),
            pa.field("cell", pa.string(), nullable=False),
            pa.field("burst", pa.int32(), nullable=False),
            pa.field("valid", pa.bool_(), nullable=False),
            pa.field("source", pa.string(), nullable=False),
            pa.field("destination", pa.string(), nullable=False),
            pa.field("connection", pa.int32(), nullable=False),
            pa.field("stream", pa.int64(), nullable=False),
            pa.field("tensor", pa.string(), nullable=False),
            pa.field("size_bytes", pa.int64(), nullable=False),
            pa.field("wire_bytes", pa.int64(), nullable=False),
            pa.field("asked_ns", pa.int64()),
            pa.field("requested_ns", pa.int64()),
            pa.field("ready_ns", pa.int64(), nullable=False),
            pa.field("start_ns", pa.int64(), nullable=False),
            pa.field("wire_end_ns", pa.int64(), nullable=False),
            pa.field("delivered_ns", pa.int64()),
            pa.field("services", pa.list_(service), nullable=False),
            pa.field("stalls", pa.list_(stall), nullable=False),
            pa.field("credit_stops", pa.int32(), nullable=False),
            pa.field("link_position", pa.float64()),
        ],
        metadata={"format": "netcosim-trace", "version": "1"},
    )


def trace_table(rows: Iterable[StreamRow]) -> Any:
    """The rows as an Arrow table of `trace_schema`."""
    import pyarrow as pa

    kept, schema = list(rows), trace_schema()
    columns = [[getattr(row, field.name) for row in kept] for field in schema]
    return pa.Table.from_arrays(
        [_array(values, field.type) for values, field in zip(columns, schema, strict=True)],
        schema=schema,
    )


def trace_rows(table: Any) -> Trace:
    """The rows of an Arrow table: the inverse of `trace_table`.

    Raises
    ------
    ValueError
        Not a trace of this version.
    """
    metadata = table.schema.metadata or {}
    if metadata.get(b"format") != b"netcosim-trace" or metadata.get(b"version") != b"1":
        raise ValueError("is not a netcosim trace of version 1")
    for field in trace_schema():
        # What may be null was not known to a run that did not write it.
        if field.name not in table.schema.names and not field.nullable:
            raise ValueError(f'lacks the column "{field.name}"')
    return tuple(_row(record) for record in table.to_pylist())


def bursts(rows: Iterable[StreamRow]) -> dict[tuple[str, int], list[StreamRow]]:
    """Group rows by (cell, burst), in order of appearance."""
    groups: dict[tuple[str, int], list[StreamRow]] = {}
    for row in rows:
        groups.setdefault((row.cell, row.burst), []).append(row)
    return groups


def service_order(rows: Iterable[StreamRow]) -> tuple[tuple[int, int], ...]:
    """The (connection, stream) served one after the other in one burst, connection by connection.

    Which of two connections goes first is TCP's doing, and says nothing of an order of service. A
    stream that is interrupted by nothing but idle time counts once.
    """
    served = sorted(
        (r.connection, s.position, s.start_ns, r.stream) for r in rows for s in r.services
    )
    streams = [(connection, stream) for connection, *_, stream in served]
    return tuple(one for one, _ in itertools.groupby(streams))


def _array(values: list[Any], kind: Any) -> Any:
    """A column; lists of intervals are built flat, which is many times faster than row by row."""
    import pyarrow as pa

    if not pa.types.is_list(kind):
        return pa.array(values, type=kind)
    offsets = [0, *itertools.accumulate(len(intervals) for intervals in values)]
    flat = [interval for intervals in values for interval in intervals]
    parts = [
        pa.array([getattr(interval, f.name) for interval in flat], type=f.type)
        for f in kind.value_type
    ]
    items = pa.StructArray.from_arrays(parts, fields=list(kind.value_type))
    return pa.ListArray.from_arrays(pa.array(offsets, type=pa.int32()), items, type=kind)


def _row(record: dict[str, Any]) -> StreamRow:
    known = {f.name for f in fields(StreamRow)}
    values = {key: value for key, value in record.items() if key in known}
    values["services"] = tuple(Service(**s) for s in values["services"])
    values["stalls"] = tuple(Stall(**s) for s in values["stalls"])
    return StreamRow(**values)
