"""Rows of traces: one made with given values, and any that there can be, for hypothesis."""

from typing import Any

from hypothesis import strategies as st

from netcosim.trace import Service, Stall, StreamRow


def stream_row(**values: Any) -> StreamRow:
    """A measured stream of ten bytes, but for the values given."""
    usual: dict[str, Any] = {
        "world": "emu",
        "cell": "w/t",
        "burst": 0,
        "source": "s0",
        "destination": "w0",
        "connection": 0,
        "stream": 1,
        "tensor": "a",
        "size_bytes": 10,
        "wire_bytes": 10,
        "ready_ns": 0,
        "start_ns": 1,
        "wire_end_ns": 2,
    }
    return StreamRow(**usual | values)


TEXT = st.text(st.characters(exclude_categories=("Cs",)), max_size=12)
INT64 = st.integers(-(2**63), 2**63 - 1)
COUNT = st.integers(0, 2**31 - 1)

SERVICES = st.builds(
    Service, start_ns=INT64, end_ns=INT64, size_bytes=INT64, position=st.integers(0, 9)
)
STALLS = st.builds(Stall, start_ns=INT64, end_ns=INT64)
STREAM_ROWS = st.builds(
    StreamRow,
    world=st.sampled_from(["emu", "predict", "sim"]),
    model=TEXT,
    level=TEXT,
    cell=TEXT,
    burst=COUNT,
    valid=st.booleans(),
    source=TEXT,
    destination=TEXT,
    connection=COUNT,
    stream=INT64,
    tensor=TEXT,
    size_bytes=INT64,
    wire_bytes=INT64,
    requested_ns=st.none() | INT64,
    ready_ns=INT64,
    start_ns=INT64,
    wire_end_ns=INT64,
    delivered_ns=st.none() | INT64,
    services=st.lists(SERVICES, max_size=4).map(tuple),
    stalls=st.lists(STALLS, max_size=3).map(tuple),
    link_position=st.none() | st.floats(0, 1),
)
