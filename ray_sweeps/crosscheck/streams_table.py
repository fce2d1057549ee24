"""``streams.parquet``: one row for each simulated stream."""

from collections.abc import Iterable
from dataclasses import fields
from typing import Any, Final

from netcosim.results.json_files import dump_json
from ray_sweeps.crosscheck.unit import StreamCheck

FORMAT: Final = "netcosim-crosscheck-streams"

COLUMNS: Final = {
    "run": "results folder, or COLLECTION#RUN",
    "cell": "workload/transport",
    "workload": "of the run's scenario",
    "transport": "of the run's scenario",
    "release": "kinds of both ends, and releases of gRPC",
    "network": "topology and link model",
    "rate_bps": "of the cluster's links, as configured",
    "exchange": "pull, pull-back, push or both",
    "way": "server to worker, or worker to server",
    "discipline": "that was simulated",
    "burst": "number within the cell, from 0",
    "first": "whether the burst was the first on its connections",
    "bound": "whether some stream of the burst ran out of credit with data left",
    "compared": "whether the burst counts",
    "reason": "why it does not; empty if it does",
    "connection": "number within the cell, from 0",
    "stream": "HTTP/2 stream number",
    "tensor": "name of the message",
    "size_bytes": "its size",
    "ready_ns": "when it was handed over, from the burst's zero, on the clock of link work",
    "predicted_ns": "simulated end at the receiver, from the burst's zero",
    "measured_ns": "last DATA byte at the receiver, on the clock of link work",
    "wall_ns": "the same on the wall clock",
    "length_ns": "of the burst: its last measured end on the clock of link work",
    "time_error": "predicted less measured end, over the burst's length",
    "relative_error": "the same over the stream's own end; null in the burst's first tenth",
    "predicted_position": "share of its connection's bytes carried by its end, simulated",
    "measured_position": "the same, measured",
}


def streams_table(streams: Iterable[StreamCheck]) -> Any:
    """The rows as an Arrow table, a column for each field of `StreamCheck`."""
    import pyarrow as pa

    kinds = {
        str: pa.string(),
        int: pa.int64(),
        bool: pa.bool_(),
        float: pa.float64(),
        float | None: pa.float64(),
    }
    rows = list(streams)
    names = [field.name for field in fields(StreamCheck)]
    schema = pa.schema(
        [
            pa.field(f.name, kinds[f.type], nullable=f.type == float | None)  # type: ignore[index]
            for f in fields(StreamCheck)
        ],
        metadata={"format": FORMAT, "version": "1"},
    )
    columns = [[getattr(row, name) for row in rows] for name in names]
    arrays = [pa.array(values, type=f.type) for values, f in zip(columns, schema, strict=True)]
    return pa.Table.from_arrays(arrays, schema=schema)


def described() -> str:
    """Type and meaning of each column, as JSON."""
    columns = [
        {
            "name": field.name,
            "type": str(field.type),
            "null": field.nullable,
            "description": COLUMNS[field.name],
        }
        for field in streams_table([]).schema
    ]
    return dump_json({"format": FORMAT, "version": 1, "columns": columns})
