"""Descriptions of the Parquet files' columns, for reading them without this project."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Final

from netcosim.results.json_files import dump_json
from netcosim.results.streams import grants, lost, windows
from netcosim.results.training import operations, steps
from netcosim.trace import trace_schema

_CLOCK: Final = "integer nanoseconds on the burst's own clock"
ZERO: Final = "zero is the first request's HEADERS at the requester; for a push the first hand-over"
_SIM_CLOCK: Final = "integer nanoseconds from the run's beginning"

TRACE_COLUMNS: Final[Mapping[str, str]] = MappingProxyType(
    {
        "world": "emu: measured; predict: predicted by a model; sim: simulated",
        "model": "the discipline that predicted the row; empty when measured",
        "level": "what the model knew: PREDICT, EXPLAIN or ORACLE; empty when measured",
        "cell": "workload/transport",
        "burst": "number within the cell, from 0",
        "valid": "whether the burst may be scored: its evidence is whole, and no pause delayed an"
        " input of the models",
        "source": "host that sends the data",
        "destination": "host that receives the data",
        "connection": "number within the cell, from 0",
        "stream": "HTTP/2 stream number",
        "tensor": "name of the message handed over",
        "size_bytes": "its size",
        "wire_bytes": "DATA bytes: with gRPC's five-byte prefix, without frame headers and padding",
        "asked_ns": "the requesting application asks, by its log; null for a push",
        "requested_ns": "request HEADERS at the requester; null where it was not seen",
        "ready_ns": "the sending application hands the message over, logged before the transport",
        "start_ns": "first DATA byte at the receiver",
        "wire_end_ns": "last DATA byte at the receiver",
        "delivered_ns": "the whole message is in the receiving application; null if unknown",
        "services": "service intervals in order: from when to when, DATA bytes moved, and the"
        " place in the connection's order of service",
        "stalls": "times without credit, with data left, in which the link idled, in order",
        "credit_stops": "visits that ended because the stream's credit did; 0 in predictions",
        "link_position": "DATA bytes that all connections over the stream's bottleneck had carried"
        " by wire_end_ns, over all of the burst's; null where it has the bottleneck to itself",
    }
)

WINDOW_COLUMNS: Final[Mapping[str, str]] = MappingProxyType(
    {
        "cell": "workload/transport",
        "burst": "number within the cell, from 0",
        "connection": "number within the cell, from 0",
        "stream": "HTTP/2 stream number; 0 for the credit of the whole connection",
        "time_ns": "when the credit holds, at the receiver",
        "credit_bytes": "window announced so far less DATA bytes arrived so far; straight lines"
        " between rows, two rows at one time where it jumps",
    }
)

GRANT_COLUMNS: Final[Mapping[str, str]] = MappingProxyType(
    {
        "cell": "workload/transport",
        "burst": "number within the cell, from 0; what came since the burst before belongs to it",
        "connection": "number within the cell, from 0",
        "time_ns": "when the frame was captured beside the data's receiver; negative before zero",
        "from_receiver": "sent by the data's receiver; else a PING of the data's sender",
        "kind": "window_update; initial_window and max_frame_size (both SETTINGS); ping; ping_ack",
        "stream": "of a window_update, 0 for the connection; 0 for all other kinds",
        "size_bytes": "the increment, or the value that SETTINGS gave; 0 for PINGs",
    }
)

LOST_COLUMNS: Final[Mapping[str, str]] = MappingProxyType(
    {
        "cell": "workload/transport",
        "burst": "number within the cell, from 0",
        "connection": "number within the cell, from 0",
        "start_ns": "from when on the connection's bottleneck carried nothing though something"
        " could be sent, its bucket full",
        "length_ns": "how long; that time is lost for good",
        "cause": "pause: a recorded pause explains it, and it is cut out of the clock of link work;"
        " unexplained: it is not",
    }
)

_RUN: Final = MappingProxyType(
    {
        "cell": "workload/transport",
        "workers": "how many workers took part in the run",
        "run": "number among the runs of the cell with so many workers, from 0",
        "worker": "number within the run, from 0",
        "step": "number of the worker's step, from 0",
    }
)

OPERATION_COLUMNS: Final[Mapping[str, str]] = MappingProxyType(
    {
        **_RUN,
        "worker": "number within the run, from 0; as many as there are workers: done once for all",
        "operation": "its name in the profile; of fused operations the first one's",
        "kind": "compute or transfer",
        "place": "server 0 down, worker, server 0 up, server 0 ps: where it is done",
        "size_bytes": "of a transfer; 0 for computations",
        "ready_ns": "all that it waits for has ended",
        "start_ns": "its first byte is sent, or its computation begins",
        "end_ns": "it has ended",
    }
)

STEP_COLUMNS: Final[Mapping[str, str]] = MappingProxyType(
    {**_RUN, "start_ns": "it begins", "end_ns": "its last operation has ended"}
)


def trace_columns() -> str:
    """The columns of `trace.parquet` and `predictions.parquet` as JSON."""
    return _describe("netcosim-trace", trace_schema(), TRACE_COLUMNS)


def window_columns() -> str:
    """The columns of `windows.parquet` as JSON."""
    return _describe(windows.TABLE.name, windows.TABLE.schema, WINDOW_COLUMNS)


def grant_columns() -> str:
    """The columns of `grants.parquet` as JSON."""
    return _describe(grants.TABLE.name, grants.TABLE.schema, GRANT_COLUMNS)


def lost_columns() -> str:
    """The columns of `lost.parquet` as JSON."""
    return _describe(lost.TABLE.name, lost.TABLE.schema, LOST_COLUMNS)


def operation_columns() -> str:
    """The columns of `operations.parquet` as JSON."""
    return _describe(operations.TABLE.name, operations.TABLE.schema, OPERATION_COLUMNS, _SIM_CLOCK)


def step_columns() -> str:
    """The columns of `steps.parquet` as JSON."""
    return _describe(steps.TABLE.name, steps.TABLE.schema, STEP_COLUMNS, _SIM_CLOCK)


def _describe(
    name: str, schema: Any, texts: Mapping[str, str], clock: str = f"{_CLOCK}; {ZERO}"
) -> str:
    columns = [
        {
            "name": field.name,
            "type": str(field.type),
            "null": field.nullable,
            "description": texts[field.name],
        }
        for field in schema
    ]
    return dump_json({"format": name, "version": 1, "clock": clock, "columns": columns})
