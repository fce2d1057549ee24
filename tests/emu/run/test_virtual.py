"""Runs in virtual time: equal ones, interrupted ones, killed ones."""

import os
import random
import signal
import time
from collections.abc import Iterator, Sequence, Set
from pathlib import Path

import pytest
from scapy.utils import RawPcapReader

from netcosim.results.folder import ResultsFolder
from netcosim.trace import StreamRow
from tests.emu.run.running import (
    WORK,
    Done,
    finish,
    results,
    run_to_end,
    running,
    scenario,
    wait_for_line,
)
from tests.emu.run.test_kill import strike
from tests.emu.run.world import World
from tests.loaded import loaded

pytestmark = [pytest.mark.root, pytest.mark.guest]
VIRTUAL = ("--clock", "virtual", "--scenario")
MANY = ("--repetitions", "8")  # on a busy machine a line is read when a burst more is over
MORE = ("--repetitions", "30")  # so that one cell is not over when the other has begun
SEED = int(os.environ["KILL_SEED"])
KILLS = 5
BOTH = frozenset({"small/h2", "large/h2"})
SERVER_ADDRESS = bytes((10, 0, 1, 1))
EQUAL = ("trace.parquet", "predictions.parquet", "windows.parquet", "grants.parquet")


def test_runs_are_equal_byte_for_byte_under_any_load(world: World) -> None:
    for out, share in (("out/idle", 0.0), ("out/loaded", 0.5)):
        with loaded(share):
            done = run_to_end(world, "--scenario", scenario("virtual"), "--out", out)
        assert done.code == 0, done.err
    idle, busy = (world.at(f"{WORK}/out/{out}") for out in ("idle", "loaded"))
    captures = [f"captures/{path.name}" for path in sorted((idle / "captures").iterdir())]
    assert len(captures) == 2
    for name in (*EQUAL, *captures):
        assert (idle / name).read_bytes() == (busy / name).read_bytes(), name
    assert world.changes(below=f"{WORK}/out") == set()


def test_another_seed_is_another_run(world: World) -> None:
    for seed in ("1", "2"):
        run_to_end(
            world, "--scenario", scenario("virtual"), "--seed", seed, "--out", f"seed-{seed}"
        )
    one, two = (world.at(f"{WORK}/seed-{seed}/trace.parquet").read_bytes() for seed in "12")
    assert one != two


def test_the_record_names_clock_and_kernel(world: World) -> None:
    assert run_to_end(world, *VIRTUAL, scenario("one"), "--out", "out").code == 0
    with results(world) as folder:
        record, summary = folder.read_run(), folder.read_summary()
    assert record is not None
    assert summary is not None
    assert summary.trusted
    assert record.clock["name"] == "virtual"
    assert len(record.clock["kernel"]["hash"]) == 16
    assert set(record.clock["guests_s"]) == {"links", "three/grpc-to-h2"}
    assert [v.judged for v in record.validity] == [True]
    assert record.validity[0].zero_ns is not None


def test_workers_that_begin_together_never_outrun_their_link(world: World) -> None:
    """Frames from the server in any time: the rate's, a bucket of two, one that is on its way."""
    assert run_to_end(world, "--scenario", scenario("crowd"), "--out", "out").code == 0
    frames = sorted(
        (time_ns, frame_bytes)
        for capture in (world.at(f"{WORK}/out/captures")).iterdir()
        for time_ns, frame_bytes in from_the_server(capture)
    )
    assert len(frames) > 8 * 70
    full_bytes, ahead_bytes, last_ns = 0.0, 0.0, frames[0][0]
    for time_ns, frame_bytes in frames:
        ahead_bytes = max(0.0, ahead_bytes - (time_ns - last_ns) * 100e6 / 8e9) + frame_bytes
        last_ns, full_bytes = time_ns, max(full_bytes, ahead_bytes)
    assert 1514 <= full_bytes <= 3 * 1514


def from_the_server(capture: Path) -> Iterator[tuple[int, int]]:
    """Yield time and length of each frame with more than an acknowledgement."""
    with RawPcapReader(str(capture)) as reader:
        for data, meta in reader:
            if data[26:30] == SERVER_ADDRESS and meta.wirelen > 66:
                yield meta.sec * 10**9 + meta.usec, meta.wirelen


def test_messages_cost_what_the_scenario_says(world: World) -> None:
    done = run_to_end(world, "--scenario", scenario("costs"), "--out", "out")
    assert done.code == 0, done.err
    with results(world) as folder:
        trace, predicted = folder.read_trace(), folder.read_predictions()
    bursts = {(row.cell, row.burst): [] for row in trace}
    assert len(bursts) == 8
    for row in sorted(trace, key=lambda row: row.ready_ns):
        bursts[row.cell, row.burst].append(row)
    for rows in bursts.values():
        free_ns = 0
        for row in rows:  # the sender's processor takes one after the other
            free_ns += _sent_ns(row)
            assert row.ready_ns == pytest.approx(
                free_ns + rows[0].ready_ns - _sent_ns(rows[0]), abs=6e4
            )
        free_ns = 0
        for row in sorted(rows, key=lambda row: row.wire_end_ns):
            free_ns = max(free_ns, row.wire_end_ns) + 300_000 + 2 * row.size_bytes
            assert row.delivered_ns == pytest.approx(free_ns, abs=2e4)
    right = {"grpc": "write_cycle", "h2": "fifo"}
    measured = {(r.cell, r.burst, r.stream): r.delivered_ns for r in trace}
    for row in predicted:
        if row.level == "PREDICT" and row.model == right[row.cell.split("/")[1]]:
            key = (row.cell, row.burst, row.stream)
            assert row.delivered_ns == pytest.approx(measured[key], abs=3e5)


def _sent_ns(row: StreamRow) -> int:
    return 200_000 + row.size_bytes


@pytest.mark.parametrize("bursts", [MANY, MORE], ids=["one cell over", "both under way"])
def test_sigterm_in_the_second_burst_of_a_cell(world: World, bursts: Sequence[str]) -> None:
    """Finished bursts are kept, also of a cell whose turn to be waited for has not come."""
    with running(world, *VIRTUAL, scenario("slow"), *bursts, "--out", "out") as run:
        wait_for_line(run, "large/h2: burst 0 done")
        os.kill(run.process.pid, signal.SIGTERM)
        done = finish(run)
        assert run.wait_gone() == {}
    assert_kept(world, done)


def assert_kept(world: World, done: Done, by: str = "SIGTERM", at_least: Set[str] = BOTH) -> None:
    """Finished bursts of `slow` are kept, of these cells; it is told what ended the run."""
    assert "Traceback" not in done.err + done.out
    assert done.code == 130
    assert done.last == "emu.run: interrupted; what was finished is in out"
    with results(world) as folder:
        summary = folder.read_summary()
        assert summary is not None
        assert not summary.complete
        assert summary.reasons[0] == f"ended early: interrupted by {by}"
        cells = {row.cell for row in folder.read_trace()}
        assert at_least <= cells <= BOTH
        assert {row.cell for row in folder.read_predictions()} == cells
    assert world.changes(below=f"{WORK}/out") == set()


def assert_whole(world: World) -> None:
    with results(world) as folder:
        summary = folder.read_summary()
        assert summary is not None
        assert summary.complete
        assert summary.trusted
        bursts = {(row.cell, row.burst) for row in folder.read_trace()}
        assert bursts == {(cell, n) for cell in ("small/h2", "large/h2") for n in (0, 1)}


@pytest.mark.parametrize("trial", range(KILLS), ids=lambda n: f"{n}-of-seed-{SEED}")
def test_kill_9_of_any_process_leaves_nothing(world: World, trial: int) -> None:
    draw = random.Random(f"{SEED} virtual {trial}")
    with running(world, *VIRTUAL, scenario("slow"), "--out", "out") as run:
        wait_for_line(run, "building")
        time.sleep(2 * draw.random())
        victim = strike(run.members(), draw)
        print(f"seed {SEED}, trial {trial}: {victim}")
        done = finish(run)
        assert run.wait_gone() == {}, victim
    # A guest that lost a process before its first program ran stands still, and is run once more;
    # one that has answered is not needed any more. Nothing less may pass for a whole run.
    if done.code == 0:
        assert_whole(world)
    assert "Traceback" not in done.err
    assert world.changes(below=f"{WORK}/out") == set()


def test_a_guest_that_dies_ends_the_run_and_finished_cells_stay(world: World) -> None:
    with running(world, *VIRTUAL, scenario("slow"), *MANY, "--out", "out") as run:
        wait_for_line(run, "large/h2: burst 0 done")
        members = run.members()
        guests = {os.getpgid(pid) for pid, line in members.items() if "umid=guest" in line}
        assert guests, members
        os.kill(max(guests), signal.SIGKILL)  # the last one started
        done = finish(run)
        assert run.wait_gone() == {}
    assert done.code == 4
    assert "a guest was killed by SIGKILL" in done.last
    with ResultsFolder.open(world.at(f"{WORK}/out")) as folder:
        assert {row.cell for row in folder.read_trace()} == {"small/h2"}
