"""Ctrl-C and SIGTERM: one line, exit code 130, and what was finished is kept."""

import os
import signal
import time
from pathlib import Path

import pytest

from netcosim.results.folder import PERFETTO, PREDICTIONS, REPORT, RUN
from tests.emu.run.kept import assert_kept_as_undisturbed
from tests.emu.run.midburst import wait_for_large_burst
from tests.emu.run.ownership import CALLER, assert_owned
from tests.emu.run.running import (
    WORK,
    Run,
    finish,
    results,
    running,
    scenario,
    wait_for,
    wait_for_line,
)
from tests.emu.run.terminal import Terminal
from tests.emu.run.world import ROOT, World

pytestmark = [pytest.mark.root, pytest.mark.soak]
SLOW = ("--scenario", scenario("slow"), "--out", "out")
_TRIES = 5
"""A run that has written its results before the signal comes ends as if there had been none."""

KEPT = "emu.run: interrupted; what was finished is in out"


def assert_what_was_finished_is_kept(world, done, cells, by="Ctrl-C") -> None:
    assert "Traceback" not in done.err + done.out
    assert done.code == 130
    assert done.last == KEPT
    with results(world) as folder:
        summary, record = folder.read_summary(), folder.read_run()
        assert summary is not None
        assert record is not None
        assert (summary.complete, summary.trusted) == (False, False)
        assert summary.reasons[0] == f"ended early: interrupted by {by}"
        assert [cell.cell for cell in summary.cells] == cells
        rows = folder.read_trace()
        assert {r.cell for r in rows} == set(cells)
        finished = [(v.cell, v.burst) for v in record.validity]
        assert sorted({(r.cell, r.burst) for r in rows}) == sorted(finished)
        assert len(rows) == 2 * len(finished)
        assert {(r.cell, r.burst) for r in folder.read_predictions()} == set(finished)
    page = world.at(f"{WORK}/out/report.html").read_text()
    assert f"interrupted by {by}" in page
    assert all(cell in page for cell in cells)
    assert world.changes(below=f"{WORK}/out") == set()


@pytest.mark.parametrize("sudo", [False, True], ids=["python", "sudo ./dev"])
def test_ctrl_c_in_mid_burst(world: World, terminal: Terminal, sudo: bool) -> None:
    if sudo:
        world.shell(f"{ROOT}/dev run --help >/dev/null")
        world.forget_changes()
    with running(world, *SLOW, sudo=sudo, terminal=terminal) as run:
        wait_for_large_burst(run)
        terminal.type("\x03")
        done = finish(run)
        assert run.wait_gone() == {}
    assert "This run is incomplete" in terminal.said
    assert_what_was_finished_is_kept(world, done, ["small/h2"])


def test_sigterm_in_the_second_burst_of_a_cell(world: World) -> None:
    with running(world, *SLOW, environ=CALLER) as run:
        wait_for_line(run, "large/h2: burst 0 done")
        wait_for_large_burst(run)
        os.kill(run.process.pid, signal.SIGTERM)
        done = finish(run)
        assert run.wait_gone() == {}
    assert_owned(world.at(f"{WORK}/out"))
    assert_what_was_finished_is_kept(world, done, ["small/h2", "large/h2"], "SIGTERM")
    assert_kept_as_undisturbed(world, "large/h2", [0])


@pytest.mark.parametrize("name", [PREDICTIONS, PERFETTO, "pictures"])
def test_a_signal_while_the_results_are_written(world: World, name: str) -> None:
    """A complete run stays so, with its report."""
    for _ in range(_TRIES):
        with running(world, "--scenario", scenario("one"), "--out", "out") as run:
            wait_for_line(run, "predicting")
            wait_for(name, lambda: world.at(f"{WORK}/out/{name}").exists())
            os.kill(run.process.pid, signal.SIGTERM)
            done = finish(run)
            assert run.wait_gone() == {}
        if done.code:
            break
        world.shell(f"rm -r {WORK}/out")
    assert (done.code, done.last) == (130, KEPT)
    with results(world) as folder:
        summary = folder.read_summary()
        assert summary is not None
        assert summary.complete
        assert {REPORT, PERFETTO, RUN} <= set(folder.names())
    assert "This run is incomplete" not in world.at(f"{WORK}/out/{REPORT}").read_text()
    assert world.changes(below=f"{WORK}/out") == set()


@pytest.mark.parametrize("moment_s", [0, 0.2, 0.5, 0.9, 1.5])
def test_ctrl_c_at_the_start(world: World, terminal: Terminal, moment_s: float) -> None:
    """Also while the libraries load, or processes are about to replace each other."""
    with running(world, *SLOW, terminal=terminal) as run:
        wait_for("the first library", lambda: _is_loading(run))
        time.sleep(moment_s)
        terminal.type("\x03")
        done = finish(run)
        assert run.wait_gone() == {}
    assert "Traceback" not in done.err + terminal.said
    assert done.code == 130
    assert done.last in ("emu.run: interrupted", KEPT)


def _is_loading(run: Run) -> bool:
    """True if a library is there; before, there is only an interpreter that starts."""
    try:
        return "site-packages" in Path(f"/proc/{run.process.pid}/maps").read_text()
    except OSError:
        return False
