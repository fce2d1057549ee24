"""Tables of a run there and back: whatever rows go in come out, and no table passes for another."""

import io
from dataclasses import fields
from typing import Any

import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from netcosim.results.folder import grants_file, trace_file
from netcosim.results.storage.row_table import FlatTable
from netcosim.results.streams import grants, lost, windows
from netcosim.trace import StreamRow, trace_rows, trace_table
from tests.netcosim.rows import COUNT, INT64, STREAM_ROWS, TEXT

TABLES = {"grants": grants.TABLE, "lost": lost.TABLE, "windows": windows.TABLE}


def rows_of(table: FlatTable[Any]) -> st.SearchStrategy[list[Any]]:
    """Any rows of this table."""
    of_place = {"burst": COUNT, "connection": COUNT}
    of_type = {str: TEXT, int: INT64, bool: st.booleans()}
    columns = {
        field.name: of_place.get(field.name, of_type[field.type]) for field in fields(table.row)
    }
    return st.lists(st.builds(table.row, **columns), max_size=5)


@pytest.mark.parametrize("name", TABLES)
@given(data=st.data())
def test_any_rows_survive_arrow(name: str, data: st.DataObject) -> None:
    table = TABLES[name]
    rows = data.draw(rows_of(table))
    assert table.rows(table.table(rows)) == tuple(rows)


@given(st.lists(STREAM_ROWS, max_size=5))
def test_any_trace_survives_its_file(rows: list[StreamRow]) -> None:
    assert trace_rows(pq.read_table(io.BytesIO(trace_file(rows)))) == tuple(rows)


@given(rows_of(grants.TABLE))
def test_any_grants_survive_their_file(rows: list[grants.GrantRow]) -> None:
    assert grants.TABLE.rows(pq.read_table(io.BytesIO(grants_file(rows)))) == tuple(rows)


def test_a_table_without_one_of_its_columns_is_refused() -> None:
    with pytest.raises(ValueError, match='lacks the column "kind"'):
        grants.TABLE.rows(grants.TABLE.table([]).drop_columns(["kind"]))


def test_one_table_is_not_taken_for_the_other() -> None:
    with pytest.raises(ValueError, match="is not a netcosim-windows table of version 1"):
        windows.TABLE.rows(trace_table([]))
    with pytest.raises(ValueError, match="is not a netcosim trace"):
        trace_rows(windows.TABLE.table([]))
