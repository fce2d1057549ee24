"""Runs in virtual time: equal ones, interrupted ones, killed ones."""

import os
import random
import signal
import time

import pytest

from netcosim.results.folder import ResultsFolder
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

pytestmark = [pytest.mark.root, pytest.mark.slow]
VIRTUAL = ("--clock", "virtual", "--scenario")
SEED = int(os.environ["KILL_SEED"])
KILLS = 5
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


def test_sigterm_in_the_second_burst_of_a_cell(world: World) -> None:
    with running(world, *VIRTUAL, scenario("slow"), "--out", "out") as run:
        wait_for_line(run, "large/h2: burst 0 done")
        os.kill(run.process.pid, signal.SIGTERM)
        done = finish(run)
        assert run.wait_gone(10) == {}
    assert_kept(world, done, {"small/h2", "large/h2"})


def assert_kept(world: World, done: Done, cells: set[str]) -> None:
    assert "Traceback" not in done.err + done.out
    assert done.code == 130
    assert done.last == "emu.run: interrupted; what was finished is in out"
    with results(world) as folder:
        summary = folder.read_summary()
        assert summary is not None
        assert not summary.complete
        assert {row.cell for row in folder.read_trace()} == cells
        assert {row.cell for row in folder.read_predictions()} == cells
    assert world.changes(below=f"{WORK}/out") == set()


@pytest.mark.parametrize("trial", range(KILLS), ids=lambda n: f"{n}-of-seed-{SEED}")
def test_kill_9_of_any_process_leaves_nothing(world: World, trial: int) -> None:
    draw = random.Random(f"{SEED} virtual {trial}")
    with running(world, *VIRTUAL, scenario("slow"), "--out", "out") as run:
        wait_for_line(run, "building")
        time.sleep(2 * draw.random())
        victim = strike(run.members(), draw)
        print(f"seed {SEED}, trial {trial}: {victim}")
        done = finish(run)
        assert run.wait_gone(20) == {}, victim
    assert done.code != 0
    assert "Traceback" not in done.err
    assert world.changes(below=f"{WORK}/out") == set()


def test_a_guest_that_dies_ends_the_run_and_finished_cells_stay(world: World) -> None:
    with running(world, *VIRTUAL, scenario("slow"), "--out", "out") as run:
        wait_for_line(run, "large/h2: burst 0 done")
        guests = {pid: line for pid, line in run.members().items() if "umid=guest" in line}
        os.kill(min(guests), signal.SIGKILL)
        done = finish(run)
        assert run.wait_gone(10) == {}
    assert done.code == 4
    assert "a guest was killed by SIGKILL" in done.last
    with ResultsFolder.open(world.at(f"{WORK}/out")) as folder:
        assert {row.cell for row in folder.read_trace()} == {"small/h2"}
