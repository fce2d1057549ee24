"""The Perfetto export: valid trace events, everything in its place, a bounded size."""

import json
from typing import Any

import pytest

from netcosim.results.streams.perfetto import perfetto_json
from netcosim.results.streams.windows import WindowRow
from netcosim.trace import Service, Stall, StreamRow
from tests.netcosim.results.events import assert_well_formed, names, of_kind
from tests.netcosim.results.synthetic import Case, measured_rows, predicted_rows, window_rows
from tests.netcosim.rows import stream_row

CASE = Case(sizes=(400_000, 3_000_000, 300_000, 2_500_000), bursts=2, connections=2, invalid=(1,))
OTHER = Case(workload="alexnet", transport="grpc-on", sizes=(900_000, 20_000), bursts=1)


def export(limit: int = 10_000) -> dict[str, Any]:
    measured = [*measured_rows(CASE), *measured_rows(OTHER)]
    predicted = [*predicted_rows(CASE), *predicted_rows(OTHER)]
    best = {CASE.cell: "two_visit", OTHER.cell: None}
    windows = window_rows(CASE, measured_rows(CASE))
    return dict(json.loads(perfetto_json(measured, predicted, windows, best, limit)))


def test_the_document_is_well_formed() -> None:
    assert_well_formed(export())


def test_measured_and_predicted_stand_side_by_side() -> None:
    document = export()
    order = {
        e["pid"]: e["args"]["sort_index"]
        for e in of_kind(document, "M")
        if e["name"] == "process_sort_index"
    }
    shown = sorted(names(document, "process_name").items(), key=lambda item: order[item[0][0]])
    assert [name for _, name in shown] == [
        "mixed8/h2-on, connection 0 server1 to worker1, measured",
        "mixed8/h2-on, connection 0 server1 to worker1, predicted by two_visit",
        "mixed8/h2-on, connection 1 server1 to worker2, measured",
        "mixed8/h2-on, connection 1 server1 to worker2, predicted by two_visit",
        "alexnet/grpc-on, connection 0 server1 to worker1, measured",
    ]


def test_all_bytes_are_there_and_bursts_follow_one_another() -> None:
    document = export()
    services = [e for e in of_kind(document, "X") if "bytes" in e["args"]]
    expected = 2 * sum(r.wire_bytes for r in measured_rows(CASE))
    expected += sum(r.wire_bytes for r in measured_rows(OTHER))
    assert sum(e["args"]["bytes"] for e in services) == expected
    first_cell = {pid for (pid, _), n in names(document, "process_name").items() if "mixed8" in n}
    bursts = [
        [e for e in services if e["pid"] in first_cell and e["args"]["burst"] == burst]
        for burst in (0, 1)
    ]
    assert max(e["ts"] + e["dur"] for e in bursts[0]) < min(e["ts"] for e in bursts[1])
    marks = [e["name"] for e in of_kind(document, "X") if "valid" in e["args"]]
    assert sorted(set(marks)) == ["burst 0", "burst 1 (invalid)"]


def test_stalls_are_on_a_track_beside_their_stream() -> None:
    document = export()
    tracks = names(document, "thread_name")
    stalls = [e for e in of_kind(document, "X") if e["name"] == "no credit"]
    assert stalls
    for event in stalls:
        assert tracks[event["pid"], event["tid"]].endswith(", no credit")


def test_credit_is_a_counter_of_each_stream() -> None:
    counters = {event["name"] for event in of_kind(export(), "C")}
    assert counters == {f"stream {number} credit" for number in (1, 3, 5, 7)}


def test_a_long_run_is_shown_more_coarsely_and_says_so() -> None:
    fine, coarse = export(), export(limit=40)
    notes = coarse["otherData"]
    assert fine["otherData"]["joined_within_us"] == 0
    assert notes["joined_within_us"] > 0 and "note" in notes and "windows_note" in notes

    def services(document: dict[str, Any]) -> list[int]:
        return [e["args"]["bytes"] for e in of_kind(document, "X") if "bytes" in e["args"]]

    assert len(services(coarse)) <= 40 < len(services(fine))
    assert sum(services(coarse)) == sum(services(fine))


def test_nanoseconds_are_kept() -> None:
    row = stream_row(
        start_ns=1_234_567,
        wire_end_ns=9_000_000_001,
        services=(Service(start_ns=1_234_567, end_ns=9_000_000_001, size_bytes=5),),
        stalls=(Stall(start_ns=0, end_ns=1),),
    )
    document = json.loads(perfetto_json([row], [], [], {}))
    event = next(e for e in document["traceEvents"] if e["name"] == "a")
    assert round(event["ts"] * 1000) == 1_234_567
    assert round(event["dur"] * 1000) == 9_000_000_001 - 1_234_567


def test_nothing_at_all_is_a_valid_trace() -> None:
    lone = WindowRow(cell="a/b", burst=0, connection=0, stream=0, time_ns=0, credit_bytes=1)
    assert json.loads(perfetto_json([], [], [lone], {}))["traceEvents"] == []


@pytest.mark.parametrize("name", ['"},{"', "</script>", "☃", "\u2028"])
def test_hostile_names_stay_names(name: str) -> None:
    rows = [r for r in measured_rows(OTHER) if r.stream == 1]
    hostile = StreamRow(**{f: getattr(rows[0], f) for f in rows[0].__slots__} | {"tensor": name})
    document = json.loads(perfetto_json([hostile], [], [], {}))
    assert name in {e["name"] for e in document["traceEvents"]}
