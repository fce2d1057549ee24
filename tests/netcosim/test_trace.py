"""Traces: rows to Parquet and back; what is no trace is refused."""

from dataclasses import fields

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from netcosim.errors import StorageError
from netcosim.trace import (
    SCHEMA,
    Service,
    Stall,
    StreamRow,
    bursts,
    read_trace,
    service_order,
    write_trace,
)

times = st.integers(-(2**62), 2**62)
counts = st.integers(0, 2**31 - 1)
texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
rows = st.builds(
    StreamRow,
    world=st.sampled_from(["emu", "predict", "sim"]),
    model=texts,
    level=texts,
    cell=texts,
    burst=counts,
    valid=st.booleans(),
    source=texts,
    destination=texts,
    connection=counts,
    stream=st.integers(0, 2**31 - 1),
    tensor=texts,
    size_bytes=st.integers(0, 2**62),
    wire_bytes=st.integers(0, 2**62),
    requested_ns=st.none() | times,
    ready_ns=times,
    start_ns=times,
    wire_end_ns=times,
    delivered_ns=st.none() | times,
    services=st.lists(
        st.builds(Service, start_ns=times, end_ns=times, size_bytes=st.integers(0, 2**62)),
        max_size=4,
    ).map(tuple),
    stalls=st.lists(st.builds(Stall, start_ns=times, end_ns=times), max_size=3).map(tuple),
)


def row(**values):
    given = {
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
    return StreamRow(**{**given, **values})


def test_every_field_has_a_column_and_a_line_in_the_docstring():
    names = [field.name for field in fields(StreamRow)]
    assert SCHEMA.names == names
    documented = StreamRow.__doc__.split("----------")[1]
    assert all(name in documented for name in names)


@settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(drawn=st.lists(rows, max_size=6))
def test_there_and_back(tmp_path, drawn):
    path = tmp_path / "trace.parquet"
    write_trace(path, drawn)
    assert read_trace(path) == tuple(drawn)
    assert [p.name for p in tmp_path.iterdir()] == ["trace.parquet"]


def test_the_same_rows_are_the_same_bytes(tmp_path):
    for name in ("a", "b"):
        write_trace(tmp_path / name, [row(), row(stream=3)])
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


def test_a_folder_that_is_not_there(tmp_path):
    with pytest.raises(StorageError, match=r"none/t: can't be written: .*No such file"):
        write_trace(tmp_path / "none" / "t", [row()])


class TestRefusals:
    def refused(self, path, reason):
        with pytest.raises(StorageError) as problem:
            read_trace(path)
        assert str(problem.value).startswith(f"{path}: {reason}")
        assert len(str(problem.value).splitlines()) == 1

    def test_a_missing_file(self, tmp_path):
        self.refused(tmp_path / "none", "can't be read as Parquet")

    def test_a_directory(self, tmp_path):
        self.refused(tmp_path, "is not a netcosim trace of version 1")
        (tmp_path / "notes.txt").write_text("no Parquet")
        self.refused(tmp_path, "can't be read as Parquet")

    @pytest.mark.parametrize("content", [b"", b"PAR1", b"\x00" * 500])
    def test_something_else(self, tmp_path, content):
        path = tmp_path / "t"
        path.write_bytes(content)
        self.refused(path, "can't be read as Parquet")

    def test_a_trace_cut_off(self, tmp_path):
        path = tmp_path / "t"
        write_trace(path, [row()])
        path.write_bytes(path.read_bytes()[:-100])
        self.refused(path, "can't be read as Parquet")

    def test_another_table(self, tmp_path):
        path = tmp_path / "t"
        pq.write_table(pa.table({"x": [1]}), path)
        self.refused(path, "is not a netcosim trace of version 1")

    def test_a_trace_without_one_of_its_columns(self, tmp_path):
        path = tmp_path / "t"
        write_trace(path, [row()])
        pq.write_table(pq.read_table(path).drop_columns(["stream"]), path)
        self.refused(path, 'lacks the column "stream"')


class TestGroups:
    def test_bursts_in_order_of_appearance(self):
        found = bursts([row(burst=1), row(burst=0), row(cell="v/t"), row(burst=1, stream=3)])
        assert list(found) == [("w/t", 1), ("w/t", 0), ("v/t", 0)]
        assert [r.stream for r in found["w/t", 1]] == [1, 3]

    def test_service_order_across_connections(self):
        def services(*starts):
            return tuple(Service(start_ns=t, end_ns=t + 5, size_bytes=5) for t in starts)

        order = service_order(
            [
                row(stream=3, services=services(0, 30)),
                row(stream=1, services=services(10)),
                row(stream=1, connection=1, services=services(20)),
            ]
        )
        assert order == ((0, 3), (0, 1), (1, 1), (0, 3))
