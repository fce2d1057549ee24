"""A run of training jobs that is gone on with leaves what one without interruption leaves."""

import json
import os
import signal
from contextlib import suppress
from pathlib import Path

import pytest

from netcosim.results.folder import OPERATIONS, PERFETTO, STEPS, SUMMARY
from tests.emu.run.running import WORK, finish, run_to_end, running, scenario, wait_for_line
from tests.emu.run.world import World

pytestmark = [pytest.mark.root, pytest.mark.guest]
SCENARIO = ("--scenario", scenario("training"))
_TRIES = 5
"""The second cell may be over, too, before the kill comes."""

EQUAL = (SUMMARY, STEPS, OPERATIONS, PERFETTO)


def _points(folder: Path) -> list[object]:
    """Runs that the summary says are over."""
    summary = json.loads((folder / SUMMARY).read_text())
    return [point for series in summary["series"] for point in series["points"]]


def test_after_a_kill_it_goes_on_and_ends_as_if_nothing_had_happened(world: World) -> None:
    work = world.at(WORK)
    assert run_to_end(world, *SCENARIO, "--out", "whole").code == 0
    for _ in range(_TRIES):
        with running(world, *SCENARIO, "--out", "part") as run:
            finished = wait_for_line(run, "examples/s")
            for process in run.members():
                with suppress(ProcessLookupError):
                    os.kill(process, signal.SIGKILL)
            finish(run)
        if len(_points(work / "part")) == 1:
            break
        world.shell(f"rm -r {WORK}/part")
    left = {path.name for path in (work / "part").iterdir()}
    assert "report.html" not in left
    done = run_to_end(world, "--resume", "part")
    assert done.code == 0, done.err
    kept = finished.partition(":")[0]
    assert f"{kept}: 2 of 5 steps" not in done.err  # of what was finished no step is run
    assert "2 of 5 steps" in done.err
    for name in EQUAL:
        assert (work / "part" / name).read_bytes() == (work / "whole" / name).read_bytes(), name
    again = run_to_end(world, "--resume", "part")
    assert (again.code, "is complete: nothing is left to do" in again.last) == (2, True)
    # As a kill leaves it that comes when all was run, and the report was not drawn yet.
    summary = work / "part" / SUMMARY
    data = json.loads(summary.read_text())
    summary.write_text(json.dumps(data | {"complete": False, "trusted": False, "reasons": ["x"]}))
    (work / "part" / PERFETTO).unlink()
    assert run_to_end(world, "--resume", "part").code == 0
    for name in EQUAL:
        assert (work / "part" / name).read_bytes() == (work / "whole" / name).read_bytes(), name
    other = run_to_end(world, "--resume", "part", "--seed", "0")
    assert (other.code, "does not go with --resume" in other.last) == (2, True)
