"""`windows.parquet`: the credit of streams and connections over time, as seen on the wire."""

from collections.abc import Iterable
from dataclasses import dataclass, fields
from typing import Any, Final

import pyarrow as pa


@dataclass(frozen=True, slots=True, kw_only=True)
class WindowRow:
    """The credit that a sender has left from `time_ns` on.

    Between two rows of a stream the credit runs straight from one to the other; where it jumps,
    two rows share a time.

    Attributes
    ----------
    cell : workload/transport
    burst : counts from 0 within the cell
    connection : counts from 0 within the cell
    stream : the HTTP/2 stream number; 0 for the credit of the whole connection
    time_ns : on the burst's clock, at the receiver
    credit_bytes : window announced so far less DATA bytes arrived so far; may be negative after
        a SETTINGS that shrinks it (RFC 9113, section 6.9.2)
    """

    cell: str
    burst: int
    connection: int
    stream: int
    time_ns: int
    credit_bytes: int


SCHEMA: Final = pa.schema(
    [
        pa.field("cell", pa.string(), nullable=False),
        pa.field("burst", pa.int32(), nullable=False),
        pa.field("connection", pa.int32(), nullable=False),
        pa.field("stream", pa.int64(), nullable=False),
        pa.field("time_ns", pa.int64(), nullable=False),
        pa.field("credit_bytes", pa.int64(), nullable=False),
    ],
    metadata={"format": "netcosim-windows", "version": "1"},
)


def windows_table(rows: Iterable[WindowRow]) -> Any:
    """The rows as an Arrow table of `SCHEMA`."""
    kept = list(rows)
    columns = [[getattr(row, f.name) for row in kept] for f in fields(WindowRow)]
    arrays = [
        pa.array(values, type=field.type) for values, field in zip(columns, SCHEMA, strict=True)
    ]
    return pa.Table.from_arrays(arrays, schema=SCHEMA)


def windows_rows(table: Any) -> tuple[WindowRow, ...]:
    """The way back from `windows_table`.

    Raises
    ------
    ValueError
        Not a table of windows of this version.
    """
    metadata = table.schema.metadata or {}
    if metadata.get(b"format") != b"netcosim-windows" or metadata.get(b"version") != b"1":
        raise ValueError("is not a netcosim table of windows of version 1")
    return tuple(WindowRow(**record) for record in table.to_pylist())
