"""Tables of a run there and back: whatever rows go in come out, and no table passes for another."""

import io

import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from netcosim.results.folder import grants_file, trace_file
from netcosim.results.streams import grants, lost, windows
from netcosim.results.streams.grants import GrantRow
from netcosim.results.streams.lost import LostRow
from netcosim.results.streams.windows import WindowRow
from netcosim.trace import Service, Stall, StreamRow, trace_rows, trace_table

INT64 = st.integers(-(2**63), 2**63 - 1)
TEXT = st.text(st.characters(exclude_categories=("Cs",)), max_size=5)
ROWS = st.builds(
    StreamRow,
    world=st.sampled_from(["emu", "predict", "sim"]),
    model=TEXT,
    level=TEXT,
    cell=TEXT,
    burst=st.integers(0, 2**31 - 1),
    valid=st.booleans(),
    source=TEXT,
    destination=TEXT,
    connection=st.integers(0, 2**31 - 1),
    stream=INT64,
    tensor=TEXT,
    size_bytes=INT64,
    wire_bytes=INT64,
    requested_ns=st.none() | INT64,
    ready_ns=INT64,
    start_ns=INT64,
    wire_end_ns=INT64,
    delivered_ns=st.none() | INT64,
    services=st.lists(
        st.builds(Service, start_ns=INT64, end_ns=INT64, size_bytes=INT64), max_size=3
    ).map(tuple),
    stalls=st.lists(st.builds(Stall, start_ns=INT64, end_ns=INT64), max_size=3).map(tuple),
    link_position=st.none() | st.floats(0, 1),
)


@given(st.lists(ROWS, max_size=5))
def test_any_trace_survives_its_file(rows: list[StreamRow]) -> None:
    assert trace_rows(pq.read_table(io.BytesIO(trace_file(rows)))) == tuple(rows)


@given(
    st.lists(
        st.builds(
            WindowRow,
            cell=TEXT,
            burst=st.integers(0, 9),
            connection=st.integers(0, 9),
            stream=INT64,
            time_ns=INT64,
            credit_bytes=INT64,
        ),
        max_size=5,
    )
)
def test_any_windows_survive_arrow(rows: list[WindowRow]) -> None:
    assert windows.TABLE.rows(windows.TABLE.table(rows)) == tuple(rows)


@given(
    st.lists(
        st.builds(
            GrantRow,
            cell=TEXT,
            burst=st.integers(0, 9),
            connection=st.integers(0, 9),
            time_ns=INT64,
            from_receiver=st.booleans(),
            kind=TEXT,
            stream=INT64,
            size_bytes=INT64,
        ),
        max_size=5,
    )
)
def test_any_grants_survive_their_file(rows: list[GrantRow]) -> None:
    assert grants.TABLE.rows(pq.read_table(io.BytesIO(grants_file(rows)))) == tuple(rows)


@given(
    st.lists(
        st.builds(
            LostRow,
            cell=TEXT,
            burst=st.integers(0, 9),
            connection=st.integers(0, 9),
            start_ns=INT64,
            length_ns=INT64,
            cause=TEXT,
        ),
        max_size=5,
    )
)
def test_any_losses_survive_arrow(rows: list[LostRow]) -> None:
    assert lost.TABLE.rows(lost.TABLE.table(rows)) == tuple(rows)


def test_a_table_without_one_of_its_columns_is_refused() -> None:
    with pytest.raises(ValueError, match='lacks the column "kind"'):
        grants.TABLE.rows(grants.TABLE.table([]).drop_columns(["kind"]))


def test_one_table_is_not_taken_for_the_other() -> None:
    with pytest.raises(ValueError, match="is not a netcosim-windows table of version 1"):
        windows.TABLE.rows(trace_table([]))
    with pytest.raises(ValueError, match="is not a netcosim trace"):
        trace_rows(windows.TABLE.table([]))
