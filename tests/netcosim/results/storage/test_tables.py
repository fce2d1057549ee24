"""Tables of a run there and back: whatever rows go in come out, and no table passes for another."""

import io
import itertools
from dataclasses import fields
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from netcosim.results.folder import grants_file, trace_file
from netcosim.results.storage.row_table import FlatTable
from netcosim.results.streams import grants, lost, windows
from netcosim.results.streams.coarsen import merge_close, resolution_for
from netcosim.trace import (
    Service,
    StreamRow,
    bursts,
    service_order,
    trace_rows,
    trace_schema,
    trace_table,
)
from tests.netcosim.rows import COUNT, INT64, STREAM_ROWS, TEXT, stream_row

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


@pytest.mark.oracle
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


SPANS = st.lists(st.tuples(st.integers(0, 50_000), st.integers(1, 50_000)), max_size=30)


def services(gaps: list[tuple[int, int]]) -> tuple[Service, ...]:
    made, at = [], 0
    for gap, length in gaps:
        made.append(Service(start_ns=at + gap, end_ns=at + gap + length, size_bytes=length))
        at += gap + length
    return tuple(made)


def stream(intervals: tuple[Service, ...]) -> StreamRow:
    return stream_row(services=intervals)


@given(SPANS, st.integers(0, 60_000))
def test_merging_keeps_bytes_and_extent_and_leaves_no_small_gap(gaps, within_ns) -> None:
    before = services(gaps)
    after = merge_close(before, within_ns)
    assert sum(s.size_bytes for s in after) == sum(s.size_bytes for s in before)
    assert [s.start_ns for s in after[:1]] == [s.start_ns for s in before[:1]]
    assert [s.end_ns for s in after[-1:]] == [s.end_ns for s in before[-1:]]
    for one, other in itertools.pairwise(after):
        assert other.start_ns - one.end_ns > within_ns


@given(st.lists(SPANS, max_size=4), st.integers(1, 40))
def test_the_resolution_keeps_to_the_limit(streams, limit) -> None:
    rows = [stream(services(gaps)) for gaps in streams]
    resolution = resolution_for(rows, limit)
    merged = [len(merge_close(r.services, resolution)) for r in rows]
    assert sum(merged) <= max(limit, sum(1 for r in rows if r.services))


def test_every_field_has_a_column_and_a_line_in_the_docstring():
    names = [field.name for field in fields(StreamRow)]
    assert trace_schema().names == names
    documented = StreamRow.__doc__.split("----------")[1]
    assert all(name in documented for name in names)


class TestRefusals:
    def test_another_table(self):
        with pytest.raises(ValueError, match=r"^is not a netcosim trace of version 1$"):
            trace_rows(pa.table({"x": [1]}))

    def test_a_trace_without_one_of_its_columns(self):
        with pytest.raises(ValueError, match=r'^lacks the column "stream"$'):
            trace_rows(trace_table([stream_row()]).drop_columns(["stream"]))

    def test_what_an_older_run_did_not_know_is_not_known(self):
        older = trace_table([stream_row(asked_ns=1, delivered_ns=7)]).drop_columns(["asked_ns"])
        assert trace_rows(older) == (stream_row(delivered_ns=7),)


class TestGroups:
    def test_bursts_in_order_of_appearance(self):
        found = bursts(
            [
                stream_row(burst=1),
                stream_row(burst=0),
                stream_row(cell="v/t"),
                stream_row(burst=1, stream=3),
            ]
        )
        assert list(found) == [("w/t", 1), ("w/t", 0), ("v/t", 0)]
        assert [r.stream for r in found["w/t", 1]] == [1, 3]

    def test_service_order_connection_by_connection(self):
        def services(*places, at):
            return tuple(
                Service(start_ns=at + p, end_ns=at + p + 5, size_bytes=5, position=p)
                for p in places
            )

        def order(second_at):
            return service_order(
                [
                    stream_row(stream=3, services=services(0, 2, 3, at=0)),
                    stream_row(stream=1, services=services(1, at=0)),
                    stream_row(stream=1, connection=1, services=services(0, at=second_at)),
                ]
            )

        assert order(second_at=2) == ((0, 3), (0, 1), (0, 3), (1, 1))
        assert order(second_at=900) == order(second_at=2)  # which goes first is TCP's doing

    def test_service_order_goes_by_position_and_not_by_time(self):
        def one(stream, start, position):
            service = Service(start_ns=start, end_ns=50, size_bytes=5, position=position)
            return stream_row(stream=stream, services=(service,))

        assert service_order([one(1, 9, 0), one(3, 9, 1), one(5, 8, 2)]) == ((0, 1), (0, 3), (0, 5))
