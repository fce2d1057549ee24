"""Bursts that the simulator made itself have no error; changed ones have the change."""

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from netcosim.results.streams.lost import PAUSE, UNEXPLAINED, LostRow
from netcosim.scenario import Scenario
from netcosim.trace import Stall, StreamRow
from ray_sweeps.crosscheck.check import check_cell
from ray_sweeps.crosscheck.comparable import REASONS, SIMULATED_ALL_THE_SAME
from ray_sweeps.crosscheck.folders import read_runs
from ray_sweeps.crosscheck.unit import Buffers, CellCheck
from tests.ray_sweeps.crosscheck.made import (
    CELL,
    CYCLE,
    FIFO,
    scenario,
    simulated,
    validity,
    write_run,
)

MS = 10**6


def checked(
    path: Path, asked: Scenario, rows: Sequence[StreamRow], buffers: Buffers = "unbound", **run: Any
) -> CellCheck:
    """The check of a run of one cell."""
    write_run(path, asked, rows, **run)
    (read,) = read_runs([str(path)], {})
    assert not read.lines
    (unit,) = read.units
    found = check_cell(replace(unit, buffers=buffers))
    assert not found.problem
    return found


def reasons(found: CellCheck) -> list[str]:
    return [burst.reason for burst in found.bursts]


def late(row: StreamRow, by_ns: int) -> StreamRow:
    """A row whose last byte arrives later."""
    return replace(row, wire_end_ns=row.wire_end_ns + by_ns)


@pytest.mark.parametrize(
    "asked",
    [
        scenario(),
        scenario([CYCLE]),
        scenario([{**FIFO, "flow_control": True, "window": "64KiB"}]),
        scenario(workload__five__direction="push"),
        scenario(workload__five__direction="pull-back"),
        scenario(workload__five__direction="both"),
        scenario(cluster__link__delay="2ms"),
        scenario(cluster__topology="star", cluster__workers=2),
        scenario(policy__order="given", policy__priorities={"t2": 1, "t1": 2}),
        scenario(workload__five__total="1MB", workload__five__spacing="1ms"),
    ],
    ids=[
        *("fifo", "write_cycle", "window", "push", "pull-back", "both", "delay", "two workers"),
        *("given order", "scaled"),
    ],
)
def test_no_error_where_the_simulator_itself_made_the_bursts(tmp_path, asked):
    rows = simulated(asked)
    # A pull is handed over when its request is there, where links have a delay.
    rows = [replace(r, ready_ns=max(r.ready_ns, asked.cluster.link.delay)) for r in rows]
    delay_ns = asked.cluster.link.delay
    rows = [late(r, delay_ns) for r in rows]
    found = checked(tmp_path / "run", asked, rows)
    assert reasons(found) == ["", "", ""]
    assert len(found.streams) == len(rows)
    assert max(abs(s.predicted_ns - s.measured_ns) for s in found.streams) <= 1
    assert all(s.predicted_position == s.measured_position for s in found.streams)
    assert all(burst.order_equal for burst in found.bursts)


def test_what_a_burst_leaves_on_its_connection_is_simulated(tmp_path):
    asked = scenario([CYCLE])
    rows = simulated(asked)
    ends = {b: [r.wire_end_ns for r in rows if r.burst == b] for b in range(3)}
    assert ends[0] != ends[1], "the rule's first burst has to differ for this to show anything"
    first = [replace(r, burst=2) if r.burst == 0 else r for r in rows if r.burst != 2]
    found = checked(tmp_path / "run", asked, first)
    by_burst = {b.burst: b for b in found.bursts}
    assert by_burst[1].first and not by_burst[2].first
    assert by_burst[1].time_max > 0.01
    assert by_burst[2].time_max > 0.01


def test_a_repeated_attempt_begins_on_new_connections(tmp_path):
    asked = scenario([CYCLE])
    rows = [r for r in simulated(asked) if r.burst == 0]
    rows += [replace(r, burst=1) for r in rows]
    both = [validity(rows[0].cell, 0), validity(rows[0].cell, 1, attempt=1)]
    found = checked(tmp_path / "run", asked, rows, validities=both)
    assert [b.first for b in found.bursts] == [True, True]
    assert [b.time_max for b in found.bursts] == [pytest.approx(0, abs=1e-8)] * 2


def test_a_shift_of_all_ends_is_the_error(tmp_path):
    asked = scenario()
    found = checked(tmp_path / "run", asked, [late(r, 7 * MS) for r in simulated(asked)])
    length_ns = max(s.measured_ns for s in found.streams)
    for stream in found.streams:
        assert stream.time_error == pytest.approx(-7 * MS / length_ns)
        if stream.relative_error is not None:
            assert stream.relative_error == pytest.approx(-7 * MS / stream.measured_ns)
    assert {s.tensor for s in found.streams if s.relative_error is None} == {"t0"}
    assert all(b.end == pytest.approx(-7 * MS / length_ns) for b in found.bursts)
    assert all(b.order_mean == 0 for b in found.bursts)


def test_two_streams_that_change_places_are_an_error_of_order(tmp_path):
    asked = scenario()
    rows = simulated(asked, bursts=1)
    by_tensor = {row.tensor: row for row in rows}
    # t2 (9 kB) was handed over with t1 (1.5 MB), behind it; let it be served before.
    before = [s for r in rows for s in r.services if r.tensor == "t1"]
    served = {"t1": 9000 * 8e9 / 95.64e6, "t2": -sum(s.size_bytes for s in before) * 8e9 / 95.64e6}
    changed = []
    for row in rows:
        by_ns = round(served.get(row.tensor, 0))
        place = {"t1": 2, "t2": 1}.get(row.tensor)
        services = [
            replace(s, position=s.position if place is None else place) for s in row.services
        ]
        changed.append(replace(late(row, by_ns), services=tuple(services)))
    assert [len(by_tensor[t].services) for t in ("t1", "t2")] == [1, 1]
    found = checked(tmp_path / "run", asked, changed)
    total = sum(row.size_bytes for row in rows)
    errors = {s.tensor: s.order_error for s in found.streams}
    assert errors == {
        **dict.fromkeys(("t0", "t3", "t4"), 0),
        "t1": pytest.approx(9_000 / total),
        "t2": pytest.approx(1_500_000 / total),
    }
    assert found.bursts[0].order_equal is False


def test_links_have_the_goodput_that_was_measured(tmp_path):
    asked = scenario()
    rows = simulated(asked, rate_share=0.9)
    fed = checked(tmp_path / "fed", asked, rows, rate_share=0.9)
    assert max(abs(s.time_error) for s in fed.streams) < 1e-6
    assert fed.facts.rate_share == pytest.approx(0.9)
    unfed = checked(tmp_path / "unfed", asked, rows)
    assert unfed.bursts[0].end == pytest.approx(-0.1, abs=0.005)


@pytest.mark.oracle
def test_a_connection_has_the_kernel_buffer_that_the_record_tells(tmp_path):
    asked = scenario([CYCLE])
    rows = simulated(asked, socket_buffer="100kB")
    models = {"five/h2-cycle connection 0": {"past_bytes": 100_000}}
    fed = checked(tmp_path / "fed", asked, rows, models=models)
    assert fed.facts.buffer_bytes == 100_000
    assert max(abs(s.time_error) for s in fed.streams) < 1e-6
    unfed = checked(tmp_path / "unfed", asked, rows, "none", models=models)
    assert unfed.facts.buffer_bytes is None
    assert max(abs(s.time_error) for s in unfed.streams) > 0.01


@pytest.mark.oracle
def test_connections_with_windows_have_no_buffer_unless_asked_for(tmp_path):
    asked = scenario([{**CYCLE, "flow_control": True, "window": "64KiB"}])
    models = {"five/h2-cycle connection 0": {"past_bytes": 100_000}}
    rows = simulated(asked)
    assert checked(tmp_path / "a", asked, rows, models=models).facts.buffer_bytes is None
    every = checked(tmp_path / "b", asked, rows, "all", models=models)
    assert every.facts.buffer_bytes == 100_000


@pytest.mark.parametrize("model", [None, {}, {"past_bytes": None}, {"past_bytes": -1}, "x"])
def test_a_record_without_a_buffer_is_simulated_without(tmp_path, model):
    asked = scenario([CYCLE])
    found = checked(
        tmp_path / "run", asked, simulated(asked), models={"five/h2-cycle connection 0": model}
    )
    assert found.facts.buffer_bytes is None
    assert reasons(found) == ["", "", ""]


def test_links_that_can_not_be_those_of_the_scenario_are_a_line(tmp_path):
    path = write_run(tmp_path / "run", scenario(), simulated(scenario(), 1), rate_share=1e60)
    (read,) = read_runs([str(path)], {})
    problem = 'run.json: links: measured goodput: "1e+60 times": must be within a factor of 10'
    assert check_cell(read.units[0]).problem.startswith(problem)


def test_pauses_are_cut_out_of_measured_times_and_unexplained_losses_are_not(tmp_path):
    asked = scenario()
    at_ns, held_ns = 50 * MS, 20 * MS
    held = []
    for row in simulated(asked, bursts=1):
        services = tuple(
            replace(s, end_ns=s.end_ns + held_ns * (s.end_ns > at_ns)) for s in row.services
        )
        moved = late(row, held_ns * (row.wire_end_ns > at_ns))
        held.append(replace(moved, services=services))
    span = {"cell": CELL, "burst": 0, "connection": held[0].connection}
    lost = LostRow(**span, start_ns=at_ns, length_ns=held_ns, cause=PAUSE)
    cut = checked(tmp_path / "cut", asked, held, lost=[lost])
    assert cut.bursts[0].time_max == pytest.approx(0, abs=1e-8)
    assert max(s.wall_ns - s.measured_ns for s in cut.streams) == held_ns
    kept = checked(tmp_path / "kept", asked, held, lost=[replace(lost, cause=UNEXPLAINED)])
    assert kept.bursts[0].time_max > 0.05


def stalled(row: StreamRow) -> StreamRow:
    """A row that waited for credit, with an idle link, for a tenth of a burst."""
    end_ns = row.services[-1].end_ns
    if row.tensor != "t4":
        return row
    services = (replace(row.services[0], end_ns=row.services[0].start_ns + MS),)
    services += (replace(row.services[0], start_ns=end_ns - MS, size_bytes=1),)
    stall = Stall(start_ns=services[0].end_ns, end_ns=services[1].start_ns)
    return replace(row, services=services, stalls=(stall,), credit_stops=1)


CASES: list[tuple[str, dict[str, Any], Any, dict[str, Any]]] = [
    ("stagger", {"workload__five__stagger": "50ms", "cluster__workers": 2}, None, {}),
    ("jitter", {"cluster__link__jitter": "1ms", "cluster__link__delay": "5ms"}, None, {}),
    ("loss", {"cluster__link__loss": 0.01}, None, {}),
    ("refused", {"transport__h2-fifo__sender": "script"}, None, {}),
    ("streams", {}, lambda r: replace(r, size_bytes=r.size_bytes + 1), {}),
    ("invalid", {}, None, {"valid": False, "judged": False, "reasons": ("lost 73 packets",)}),
    ("not judged", {}, None, {"judged": False, "delayed_inputs": ("a grant came late",)}),
    ("stalls", {}, stalled, {}),
    (
        "hand-overs",
        {"cluster__workers": 2},
        lambda r: replace(r, ready_ns=r.ready_ns + 30 * MS * (r.destination == "w1")),
        {},
    ),
]


@pytest.mark.parametrize(("reason", "asked", "change", "judged"), CASES)
def test_each_reason_for_not_comparing_is_found(tmp_path, reason, asked, change, judged):
    clean = scenario(cluster__topology="star", cluster__workers=asked.get("cluster__workers", 1))
    rows = [row if change is None else change(row) for row in simulated(clean, bursts=2)]
    if reason == "refused":  # somebody's own script, of which no scenario says what it does
        own = {"sender": "script", "sender_script": "/own.py", "receiver": "h2", "name": "h2-fifo"}
        used = scenario([own], cluster__topology="star")
    else:
        used = scenario(cluster__topology="star", **asked)
    each = [validity(CELL, b, **judged) for b in range(2)]
    found = checked(tmp_path / "run", used, rows, validities=each)
    assert reasons(found) == [reason, reason]
    assert all(burst.detail for burst in found.bursts)
    apart = reason in SIMULATED_ALL_THE_SAME
    assert bool(found.streams) == apart
    assert not any(stream.compared for stream in found.streams)
    assert found.typical == ((), ())


def test_every_reason_is_among_the_cases_above():
    assert {reason for reason, *_ in CASES} == REASONS.keys()


def test_small_stalls_and_hand_overs_a_little_apart_are_compared(tmp_path):
    asked = scenario(cluster__topology="star", cluster__workers=2)
    rows = [
        replace(r, ready_ns=r.ready_ns + MS * (r.destination == "w1")) for r in simulated(asked)
    ]
    found = checked(tmp_path / "run", asked, rows)
    assert reasons(found) == ["", "", ""]
    assert max(abs(s.time_error) for s in found.streams) < 0.01


@pytest.mark.parametrize("peers", [{}, 7, {"receiver": 7}, {"receiver": {"settings": []}}])
def test_what_a_record_has_of_the_ends_may_be_anything(tmp_path, peers):
    path = write_run(tmp_path / "run", scenario(), simulated(scenario(), bursts=1))
    (read,) = read_runs([str(path)], {})
    record = json.loads(read.units[0].record)
    record["peers"] = {f"{CELL} connection 0": peers}
    found = check_cell(replace(read.units[0], record=json.dumps(record).encode()))
    assert not found.problem and found.facts.window_moved is False
    seen = {"receiver": {"settings": {"initial_window_size": [65535, 131072]}}}
    record["peers"] = {f"{CELL} connection 0": seen}
    found = check_cell(replace(read.units[0], record=json.dumps(record).encode()))
    assert found.facts.window_moved is True


def test_stagger_of_one_worker_is_none(tmp_path):
    asked = scenario(workload__five__stagger="50ms")
    rows = simulated(scenario())
    assert reasons(checked(tmp_path / "run", asked, rows)) == ["", "", ""]
