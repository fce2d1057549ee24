"""`windows.parquet`: the credit of streams and connections over time, as seen on the wire."""

from dataclasses import dataclass
from typing import Final

from netcosim.results.storage.row_table import FlatTable


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


TABLE: Final = FlatTable(row=WindowRow, name="netcosim-windows")

NEVER_BINDS_BYTES: Final = 2**30
"""Credit that no message uses up: receivers that switch flow control off give 2 GiB."""
