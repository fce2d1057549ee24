"""The Perfetto export of a simulation: valid events, tracks without overlap, a bounded size."""

import itertools
import json
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from netcosim.results.training import operations
from netcosim.results.training.operations import OperationColumns
from netcosim.results.training.perfetto import lanes, operations_json, place_order
from tests.netcosim.results.events import assert_well_formed, names, of_kind
from tests.netcosim.results.synthetic_training import Job, columns_of, operation_columns

JOB = Job(counts=(2, 3), traced_steps=2, servers=2)


def both() -> OperationColumns:
    return operations.TABLE.joined([operation_columns(JOB, 2), operation_columns(JOB, 3)])


def export(limit: int = 10_000) -> dict[str, Any]:
    return dict(json.loads(operations_json(both(), limit)))


def test_the_document_is_well_formed() -> None:
    document = export()
    assert_well_formed(document)
    assert all(set(e["args"]) >= {"step", "ready_us"} for e in of_kind(document, "X"))


def test_every_operation_is_on_a_named_track_of_its_worker() -> None:
    document = export()
    processes = names(document, "process_name")
    tracks = names(document, "thread_name")
    shown = sorted(
        (processes[e["pid"], 0], tracks[e["pid"], e["tid"]].split(",")[0], e["name"], e["ts"])
        for e in of_kind(document, "X")
    )
    ops = both()
    numbers = (ops.workers.tolist(), ops.worker.tolist(), ops.start_ns.tolist())
    columns = zip(*numbers, ops.place.texts(), ops.operation.texts(), strict=True)
    assert shown == sorted(
        (f"alexnet/h2-on, {n} workers, run 0, worker {w}", place, name, start / 1000)
        for n, w, start, place, name in columns
    )
    assert len(set(processes.values())) == len(processes) == 5


def test_tracks_of_a_worker_are_in_the_order_of_the_step() -> None:
    document = export()
    tracks = names(document, "thread_name")
    order = {
        (e["pid"], e["tid"]): e["args"]["sort_index"]
        for e in of_kind(document, "M")
        if e["name"] == "thread_sort_index"
    }
    pid = min(pid for pid, _ in tracks)
    mine = sorted((key for key in tracks if key[0] == pid), key=lambda key: order[key])
    places = list(dict.fromkeys(tracks[key].split(",")[0] for key in mine))
    assert places == [
        *("server 0 down", "server 1 down", "worker"),
        *("server 0 up", "server 1 up", "server 0 ps", "server 1 ps"),
    ]


def test_a_long_run_is_cut_after_its_first_steps_and_says_so() -> None:
    whole = len(both())
    document = export(limit=whole * 3 // 4)
    slices = of_kind(document, "X")
    assert len(slices) == whole * 3 // 4
    assert document["otherData"] | {"note": ""} == {
        "format": "netcosim-perfetto",
        "operations": whole,
        "shown": len(slices),
        "note": "",
    }
    firsts = [e for e in of_kind(export(), "X") if e["args"]["step"] == 0]
    assert len([e for e in slices if e["args"]["step"] == 0]) == len(firsts)
    assert "note" not in export()["otherData"]


def test_nothing_at_all_is_a_valid_trace() -> None:
    assert json.loads(operations_json(operations.TABLE.empty()))["traceEvents"] == []


@pytest.mark.parametrize("name", ['"},{"', "</script>", "☃", "\u2028"])
def test_hostile_names_stay_names(name: str) -> None:
    ops = columns_of([(0, 0, 0, 0, 1, 2)], names=[name], places=[name], sizes=[0], cell=name)
    document = json.loads(operations_json(ops))
    assert [e["name"] for e in of_kind(document, "X")] == [name]
    assert list(names(document, "thread_name").values()) == [name]


def test_places_have_an_order_whatever_their_name() -> None:
    ordered = ("server 9 down", "server 10 down", "worker", "server ² up")
    places = ["", "x y z", "server 1 ps", *ordered[::-1]]
    assert tuple(sorted(places, key=place_order)[:4]) == ordered


def spans_of(shortest: int) -> st.SearchStrategy[list[tuple[int, int]]]:
    return st.lists(st.tuples(st.integers(0, 30), st.integers(shortest, 10)), max_size=30)


@given(spans_of(0))
def test_lanes_are_apart(spans: list[tuple[int, int]]) -> None:
    start = np.array([a for a, _ in spans], dtype=np.int64)
    end = start + np.array([b for _, b in spans], dtype=np.int64)
    found = lanes(start, end)
    for one, other in itertools.combinations(range(len(spans)), 2):
        if found[one] == found[other]:
            assert end[one] <= start[other] or end[other] <= start[one]


@given(spans_of(1))
def test_there_are_no_more_lanes_than_needed(spans: list[tuple[int, int]]) -> None:
    start = np.array([a for a, _ in spans], dtype=np.int64)
    end = start + np.array([b for _, b in spans], dtype=np.int64)
    most = max(int(((start <= t) & (t < end)).sum()) for t in range(41))
    assert len(set(lanes(start, end).tolist())) == most
