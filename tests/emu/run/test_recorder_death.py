"""A recorder of pauses dies in mid-burst: without it nobody knows what to cut, so the run ends."""

import os
import signal

import pytest

from tests.emu.run.midburst import wait_for_large_burst
from tests.emu.run.running import WORK, finish, results, running, scenario
from tests.emu.run.world import World

pytestmark = pytest.mark.root


def test_one_line_names_it_and_the_cells_before_are_kept(world: World) -> None:
    with running(world, "--scenario", scenario("slow"), "--out", "out") as run:
        wait_for_large_burst(run)
        recorders = {
            told[1]: pid
            for pid, line in run.members().items()
            if len(told := line.partition("recorder.py")[2].split(" ")) > 1
        }
        assert set(recorders) == {str(p) for p in os.sched_getaffinity(0)}
        processor, victim = min(recorders.items())
        os.kill(victim, signal.SIGKILL)
        done = finish(run)
        assert run.wait_gone(10) == {}
    assert "Traceback" not in done.err + done.out
    line = f"pause recorder of processor {processor}: killed by SIGKILL"
    assert (done.code, done.last) == (7, f"emu.run: {line}")
    with results(world) as folder:
        summary = folder.read_summary()
        assert summary is not None
        assert (summary.complete, summary.trusted) == (False, False)
        assert summary.reasons[0] == f"ended early: {line}"
        assert [cell.cell for cell in summary.cells] == ["small/h2"]
        assert {row.cell for row in folder.read_trace()} == {"small/h2"}
    assert line in world.at(f"{WORK}/out/report.html").read_text()
    assert world.changes(below=f"{WORK}/out") == set()
