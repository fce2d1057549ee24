"""`grants.parquet`: credit that the data's receiver granted, and the PINGs of both ends.

From these rows and the trace all levels of prediction can be computed again without a capture.
"""

from dataclasses import dataclass
from typing import Final

from netcosim.results.storage.row_table import FlatTable

WINDOW_UPDATE: Final = "window_update"
INITIAL_WINDOW: Final = "initial_window"
MAX_FRAME_SIZE: Final = "max_frame_size"
PING: Final = "ping"
PING_ACK: Final = "ping_ack"


@dataclass(frozen=True, slots=True, kw_only=True)
class GrantRow:
    """One frame as captured beside the data's receiver.

    Attributes
    ----------
    cell : workload/transport
    burst : counts from 0 within the cell; what came between two bursts belongs to the later one,
        what came before the first to the first
    connection : counts from 0 within the cell
    time_ns : on the burst's clock; negative before its zero
    from_receiver : sent by the data's receiver; else a PING of the data's sender
    kind : window_update, initial_window, max_frame_size (both of SETTINGS), ping, ping_ack
    stream : of a WINDOW_UPDATE, 0 for the connection; 0 for all other kinds
    size_bytes : the increment, or the value that SETTINGS gave; 0 for PINGs
    """

    cell: str
    burst: int
    connection: int
    time_ns: int
    from_receiver: bool
    kind: str
    stream: int
    size_bytes: int


TABLE: Final = FlatTable(row=GrantRow, name="netcosim-grants")
