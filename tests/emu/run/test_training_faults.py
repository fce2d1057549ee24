"""Training jobs that are disturbed: finished steps stay, the run is marked, the others go on."""

import os
import signal
from collections.abc import Callable
from contextlib import closing

import numpy as np
import pytest

from netcosim.results.folder import ResultsFolder
from netcosim.results.training.job_summary import JobSummary
from tests.emu.run.midburst import processes
from tests.emu.run.running import (
    WORK,
    Done,
    Run,
    finish,
    results,
    running,
    scenario,
    wait_for,
    wait_for_line,
)
from tests.emu.run.terminal import Terminal
from tests.emu.run.test_storage import fill, left_by_a_full_disk
from tests.emu.run.world import World

pytestmark = [pytest.mark.root, pytest.mark.guest]
# A network by the machine's clock is refused where other tests keep the processors from it.
by_the_machines_clock = pytest.mark.alone
VIRTUAL = ("--scenario", scenario("training"), "--out", "out")
CAPTURE = "captures/alexnet@h2.w2.c0.pcap.gz"
REAL = ("--scenario", scenario("real-jobs"), "--out", "out")


def disturbed(world: World, arguments: tuple[str, ...], disturb: Callable[[Run], None]) -> Done:
    with running(world, *arguments) as run:
        disturb(run)
        done = finish(run)
        assert run.wait_gone() == {}
    assert "Traceback" not in done.err + done.out
    assert world.changes(below=f"{WORK}/out") == set()
    return done


def summary_of(folder: ResultsFolder) -> JobSummary:
    summary = folder.read_job_summary()
    assert summary is not None
    assert not summary.complete
    assert summary.reasons
    return summary


@by_the_machines_clock
@pytest.mark.parametrize("role", ["worker", "server"])
def test_a_node_that_is_killed_and_the_cell_behind_it(world: World, role: str) -> None:
    def kill(run: Run) -> None:
        wait_for_line(run, "of 16 steps")
        os.kill(processes(run, f'"role": "{role}"')[-1], signal.SIGKILL)

    done = disturbed(world, REAL, kill)
    assert done.code == 5
    assert "killed by SIGKILL" in done.last
    with results(world) as folder:
        h2, grpc = summary_of(folder).series
        steps = folder.read_steps()
        assert (folder.path / CAPTURE).stat().st_size  # of the first step, which had ended
    assert h2.points == ()
    (ended,) = h2.unfinished
    assert (ended.workers, "killed by SIGKILL" in ended.reason) == (2, True)
    assert all(4 <= finished < 16 for finished in ended.finished_steps)
    mine = steps.cell.are("alexnet/h2")
    kept = np.bincount(steps.worker[mine], minlength=2)
    assert tuple(kept) == ended.finished_steps
    assert [point.workers for point in grpc.points] == [2]
    assert grpc.points[0].examples_per_s > 0
    assert grpc.unfinished == ()


def test_a_guest_that_dies_and_the_other_one(world: World) -> None:
    def kill(run: Run) -> None:
        guests = wait_for(
            "guests", lambda: [p for p, m in run.members().items() if "umid=guest" in m]
        )
        os.kill(min(guests), signal.SIGKILL)

    done = disturbed(world, VIRTUAL, kill)
    assert done.code == 4
    assert "a guest was killed by SIGKILL" in done.last
    with results(world) as folder:
        series = summary_of(folder).series
    assert sorted(len(each.points) for each in series) == [0, 1]
    assert sorted(len(each.unfinished) for each in series) == [0, 1]


def test_ctrl_c_keeps_what_guests_have_told(world: World) -> None:
    def interrupt(run: Run) -> None:
        wait_for_line(run, "2 workers: 2 of 5 steps")
        os.kill(run.process.pid, signal.SIGINT)

    done = disturbed(world, VIRTUAL, interrupt)
    assert done.code == 130
    assert done.last == "emu.run: interrupted; what was finished is in out"
    with results(world) as folder:
        series, steps = summary_of(folder).series, folder.read_steps()
    finished = [n for each in series for end in each.unfinished for n in end.finished_steps]
    whole = sum(5 * 2 for each in series for _ in each.points)
    assert whole or max(finished) >= 2  # it may have come to its end before the signal
    assert len(steps.step) == sum(finished) + whole


@by_the_machines_clock
def test_ctrl_c_in_a_terminal_by_the_machines_clock(world: World) -> None:
    """It reaches the recorders of pauses, too, unless they are kept from it."""
    with closing(Terminal()) as terminal, running(world, *REAL, terminal=terminal) as run:
        wait_for_line(run, "of 16 steps")
        terminal.type("\x03")
        done = finish(run)
        assert run.wait_gone() == {}
    assert "Traceback" not in done.err + terminal.said
    assert done.code == 130
    with results(world) as folder:
        h2, grpc = summary_of(folder).series
    (ended,) = h2.unfinished
    assert ended.reason == "interrupted by Ctrl-C"
    assert all(4 <= finished < 16 for finished in ended.finished_steps)
    assert (grpc.points, grpc.unfinished) == ((), ())


@by_the_machines_clock
def test_a_disk_that_fills_up(world: World) -> None:
    def fill_up(run: Run) -> None:
        wait_for_line(run, "of 16 steps")
        fill(world, f"{WORK}/out/filler")

    world.shell(f"mkdir {WORK}/out; mount -t tmpfs -o size=64m results {WORK}/out")
    done = disturbed(world, REAL, fill_up)
    assert "alexnet@h2.json" in left_by_a_full_disk(world, done)
    with results(world) as folder:
        kept = summary_of(folder)
        assert not kept.complete
        assert kept.reasons[-1] == f"ended early: {done.last.removeprefix('emu.run: ')}"
        assert len(folder.read_steps().step) > 0
