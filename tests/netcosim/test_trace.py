"""Traces: rows to Parquet and back; what is no trace is refused."""

from dataclasses import fields

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from netcosim.trace import (
    Service,
    StreamRow,
    bursts,
    service_order,
    trace_rows,
    trace_schema,
    trace_table,
)
from tests.netcosim.rows import STREAM_ROWS, stream_row


def test_every_field_has_a_column_and_a_line_in_the_docstring():
    names = [field.name for field in fields(StreamRow)]
    assert trace_schema().names == names
    documented = StreamRow.__doc__.split("----------")[1]
    assert all(name in documented for name in names)


@given(drawn=st.lists(STREAM_ROWS, max_size=6))
def test_there_and_back(drawn):
    assert trace_rows(trace_table(drawn)) == tuple(drawn)


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
