"""Whole runs on emulated networks: bytes, order of service, stalls, a results folder that holds.

Every transport and staggered workers run in virtual time, where what is asked of times and orders
is exact; directions and a star run by the machine's clock, with its calibrations, and alone: a
network is refused, as it should be, while others leave it no processor.
"""

import gzip
import json
import subprocess
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import jsonschema
import pytest

from emu.calibration.call_acceptance import BURSTS as ACCEPTANCE_BURSTS
from emu.calibration.call_acceptance import Unread, evaluate, is_needed
from emu.calibration.overhead import BURSTS
from emu.plan import Plan, distinct_receivers, make_plan, receiver_key
from emu.prediction.run_inputs import acceptance_of, overhead_of
from emu.rerun import rerun
from netcosim.results.folder import trace_file
from netcosim.results.run_record import RunRecord
from netcosim.results.streams.summary import Summary
from netcosim.results.streams.windows import WindowRow
from netcosim.scenario import TransportSpec, read_scenario
from netcosim.trace import StreamRow, bursts, service_order
from tests.emu.run.running import WORK, Done, results, run_to_end, scenario
from tests.emu.run.world import World
from topo.spec import FRAME_BYTES

pytestmark = pytest.mark.root
NAMES = (
    pytest.param("transports", marks=pytest.mark.guest),
    pytest.param("directions", marks=[pytest.mark.emulation, pytest.mark.alone]),
    pytest.param("star", marks=pytest.mark.alone),
    pytest.param("workers", marks=pytest.mark.guest),
)
OUT = f"{WORK}/out"

FILES = {
    *("scenario.toml", "report.html", "summary.json", "run.json", "perfetto.json"),
    *("trace.parquet", "predictions.parquet", "windows.parquet", "grants.parquet"),
    "lost.parquet",
    *("captures", "pictures", "schemas"),
}


@dataclass(frozen=True, kw_only=True)
class Finished:
    """A run that came to its end, and what it left."""

    done: Done
    world: World
    plan: Plan
    measured: Sequence[StreamRow]
    predicted: Sequence[StreamRow]
    windows: Sequence[WindowRow]
    summary: Summary
    record: RunRecord

    @property
    def folder(self) -> Path:
        return self.world.at(OUT)

    def transport(self, cell: str) -> TransportSpec:
        return next(c.transport for c in self.plan.cells if c.name == cell)


@pytest.fixture(scope="module", params=NAMES)
def finished(request, tmp_path_factory) -> Iterator[Finished]:
    with World(tmp_path_factory.mktemp("world")) as world:
        done = run_to_end(world, "--scenario", scenario(request.param), "--out", "out")
        assert done.code in (0, 1), done.err
        with results(world) as folder:
            summary, record = folder.read_summary(), folder.read_run()
            assert summary is not None
            assert record is not None
            yield Finished(
                done=done,
                world=world,
                plan=make_plan(folder.read_scenario()),
                measured=folder.read_trace(),
                predicted=folder.read_predictions(),
                windows=folder.read_windows(),
                summary=summary,
                record=record,
            )


def test_it_is_complete_and_trusted_or_says_why_not(finished: Finished) -> None:
    assert finished.summary.complete
    assert finished.summary.trusted or not finished.plan.is_virtual
    assert finished.summary.trusted == (finished.done.code == 0)
    if finished.done.code == 1:
        assert finished.done.last.startswith("emu.run: these figures can't be trusted: ")
        assert all(
            ": no valid burst in " in reason or ": its bursts contradict" in reason
            for reason in finished.summary.reasons
        )
        assert "DO NOT TRUST THESE FIGURES" in finished.done.out
    else:
        assert finished.summary.reasons == ()
    for cell in finished.summary.cells:
        assert cell.cell in finished.done.out


def test_every_stream_of_every_burst_is_there_with_its_bytes(finished: Finished) -> None:
    groups = bursts(finished.measured)
    judged = {(v.cell, v.burst): v.judged for v in finished.record.validity}
    assert groups.keys() == judged.keys()
    for cell in finished.plan.cells:
        mine = {where: rows for where, rows in groups.items() if where[0] == cell.name}
        assert mine
        connections = finished.plan.connections(cell)
        wanted = sorted(
            (c.source, c.destination, c.index, m.tensor, m.size_bytes)
            for c in connections
            for m in c.messages
        )
        prefix = 5 if "grpc" in (cell.transport.sender, cell.transport.receiver) else 0
        for where, rows in mine.items():
            found = [(r.source, r.destination, r.connection, r.tensor, r.size_bytes) for r in rows]
            assert sorted(found) == wanted
            for row in rows:
                assert row.wire_bytes == row.size_bytes + prefix
                assert sum(s.size_bytes for s in row.services) == row.wire_bytes
                assert row.valid == judged[where]


def test_times_of_a_stream_are_in_order(finished: Finished) -> None:
    for row in finished.measured:
        assert row.start_ns <= row.wire_end_ns
        assert row.delivered_ns is not None
        assert row.wire_end_ns <= row.delivered_ns
        assert row.ready_ns < row.wire_end_ns
        ends = [time for s in row.services for time in (s.start_ns, s.end_ns)]
        assert ends == sorted(ends)
        assert (ends[0], ends[-1]) == (row.start_ns, row.wire_end_ns)


def test_nothing_of_a_push_or_pull_back_is_sent_before_it_is_ready(finished: Finished) -> None:
    for cell in finished.plan.cells:
        if cell.workload.spacing == 0:
            continue
        ready = {m.tensor: m.ready_ns for server in cell.messages for m in server}
        for rows in bursts(r for r in finished.measured if r.cell == cell.name).values():
            first = min(rows, key=lambda r: ready[r.tensor])
            for row in rows:
                # Waits never end early, whatever the machine does.
                assert row.start_ns > row.ready_ns
                assert row.ready_ns - first.ready_ns >= 0


def test_staggered_workers_ask_one_after_the_other(finished: Finished) -> None:
    for cell in finished.plan.cells:
        if cell.workload.stagger == 0:
            continue  # a push hands over before its HEADERS are on the wire
        asked: dict[str, int] = {}
        for row in finished.measured:
            if row.cell == cell.name and row.requested_ns is not None:
                worker = next(end for end in (row.source, row.destination) if end.startswith("w"))
                asked[worker] = min(row.requested_ns, asked.get(worker, row.requested_ns))
        assert finished.plan.is_virtual  # a busy machine's waits end late
        first_ns = asked["w0"]
        segment_ns = FRAME_BYTES * 8e9 / finished.plan.scenario.cluster.link.rate
        for worker, time_ns in asked.items():
            stagger_ns = int(worker[1:]) * cell.workload.stagger
            # HEADERS are seen on the wire, where a segment may be in front of them.
            assert time_ns - first_ns == pytest.approx(stagger_ns, abs=segment_ns)


def test_delivered_ends_are_predicted_from_receivers_calibrated_before(finished: Finished) -> None:
    record = finished.record
    samples_of = set() if finished.plan.is_virtual else set(range(BURSTS))
    for key in distinct_receivers(finished.plan.cells):
        # A capture that the machine cut three times in a row is told.
        assert key in record.overheads or any(key in problem for problem in record.problems)
    for calibration in record.overheads.values():
        overhead_of(calibration)
        assert {sample["burst"] for sample in calibration["samples"]} == samples_of
        for sample in calibration["samples"]:
            assert sample["delivered_ns"] >= sample["wire_end_ns"]
    cells = {c.name for c in finished.plan.cells if receiver_key(c) in record.overheads}
    for row in finished.predicted:
        assert (row.delivered_ns is not None) == (row.cell in cells)
        assert row.delivered_ns is None or row.delivered_ns >= row.wire_end_ns


def test_pushed_calls_are_unread_for_as_long_as_was_measured_before(finished: Finished) -> None:
    record = finished.record
    measured_before = () if finished.plan.is_virtual else finished.plan.cells
    wanted = distinct_receivers(filter(is_needed, measured_before)).keys()
    assert record.acceptances.keys() <= wanted
    for key in wanted - record.acceptances.keys():
        assert any(key in problem for problem in record.problems)
    for found in record.acceptances.values():
        samples = [Unread(**sample) for sample in found["samples"]]
        assert acceptance_of(found) == evaluate(samples)
        # A machine that is busy takes long, but none takes nothing, and none takes a second.
        assert all(0 < sample.unread_ns < 10**9 for sample in samples)
        assert sum(sample.first for sample in samples) <= ACCEPTANCE_BURSTS
    with results(finished.world) as folder:
        assert trace_file(rerun(folder).predicted) == folder.read("predictions.parquet")


def test_h2_serves_streams_exactly_as_its_own_discipline_predicts(finished: Finished) -> None:
    seen = 0
    for (cell, burst), rows in bursts(finished.measured).items():
        transport = finished.transport(cell)
        # Credit that a busy machine gives too late changes the order; such a burst is not judged.
        if transport.sender != "h2":
            continue
        if transport.flow_control and not rows[0].valid:
            assert not finished.plan.is_virtual
            continue
        model = [
            r
            for r in finished.predicted
            if (r.cell, r.burst, r.model) == (cell, burst, transport.discipline)
            and r.level == "PREDICT"
        ]
        for connection in sorted({r.connection for r in rows}):
            ours = [r for r in model if r.connection == connection]
            theirs = [r for r in rows if r.connection == connection]
            assert service_order(theirs) == service_order(ours), (cell, burst, connection)
        seen += 1
    assert seen


def test_a_fixed_window_stops_streams_and_no_flow_control_stops_none(finished: Finished) -> None:
    for row in finished.measured:
        transport = finished.transport(row.cell)
        if not transport.flow_control:
            assert (row.credit_stops, row.stalls) == (0, ()), row.cell
        elif transport.credit == "fixed":
            assert transport.window is not None
            assert (row.credit_stops > 0) == (row.wire_bytes > transport.window), row.cell
            assert row.credit_stops <= (row.wire_bytes - 1) // transport.window
    for point in finished.windows:
        transport = finished.transport(point.cell)
        if transport.credit == "fixed" and point.stream != 0:
            assert transport.window is not None
            assert 0 <= point.credit_bytes <= transport.window


def test_every_model_predicts_every_burst(finished: Finished) -> None:
    names = {"fifo", "processor_sharing", "round_robin", "two_visit", "write_cycle"}
    measured = {(r.cell, r.burst, r.connection, r.stream) for r in finished.measured}
    for name in names:
        mine = [r for r in finished.predicted if (r.model, r.level) == (name, "PREDICT")]
        assert {(r.cell, r.burst, r.connection, r.stream) for r in mine} == measured
        assert all(sum(s.size_bytes for s in r.services) == r.wire_bytes for r in mine)


def test_the_folder_holds_what_is_promised(finished: Finished) -> None:
    assert {path.name for path in finished.folder.iterdir()} == FILES
    for name in ("summary", "run"):
        schema = json.loads((finished.folder / "schemas" / f"{name}.schema.json").read_text())
        jsonschema.Draft202012Validator.check_schema(schema)
        jsonschema.validate(json.loads((finished.folder / f"{name}.json").read_text()), schema)
    assert json.loads((finished.folder / "perfetto.json").read_text())["traceEvents"]
    page = (finished.folder / "report.html").read_text()
    for cell in finished.summary.cells:
        assert cell.cell in page
    pictures = {path.name for path in (finished.folder / "pictures").iterdir()}
    assert len(pictures) == 2 * len(finished.plan.cells)


def test_captures_are_whole_for_tcpdump(finished: Finished, tmp_path: Path) -> None:
    assert finished.record.captures
    for name in set(finished.record.captures.values()):
        plain = tmp_path / "capture.pcap"
        plain.write_bytes(gzip.decompress((finished.folder / name).read_bytes()))
        read = subprocess.run(
            ["tcpdump", "-n", "-r", plain], capture_output=True, text=True, check=True
        )
        assert "truncated" not in read.stderr
        assert sum("Flags [S]" in line for line in read.stdout.splitlines()) >= 1


def test_nothing_was_written_elsewhere(finished: Finished) -> None:
    assert finished.world.changes(below=OUT) == set()


def test_the_scenario_as_resolved_is_the_scenario(finished: Finished) -> None:
    given = read_scenario(Path(scenario(finished.plan.scenario.name)))
    assert finished.plan.scenario == given
