"""A process inside the run dies in mid-burst: one line names it, and what was measured is kept."""

import os
import signal
import sys
from collections.abc import Callable

import pytest

from netcosim.results.folder import NOT_ENDED
from tests.emu.run.kept import assert_kept_as_undisturbed
from tests.emu.run.midburst import processes, wait_for_large_burst
from tests.emu.run.running import (
    WORK,
    Done,
    Run,
    finish,
    results,
    run_to_end,
    running,
    scenario,
    wait_for,
    wait_for_line,
)
from tests.emu.run.world import World

pytestmark = [pytest.mark.root, pytest.mark.soak]
SLOW = ("--scenario", scenario("slow"), "--out", "out")


def assert_kept(world: World, done: Done, code: int, line: str, cells: list[str]) -> None:
    assert "Traceback" not in done.err + done.out
    assert (done.code, done.last) == (code, f"emu.run: {line}")
    with results(world) as folder:
        summary = folder.read_summary()
        assert summary is not None
        assert (summary.complete, summary.trusted) == (False, False)
        assert summary.reasons[0] == f"ended early: {line}"
        assert [cell.cell for cell in summary.cells] == cells
        assert {row.cell for row in folder.read_trace()} == set(cells)
    assert line in world.at(f"{WORK}/out/report.html").read_text()
    assert world.changes(below=f"{WORK}/out") == set()


@pytest.mark.parametrize(
    ("word", "code", "line"),
    [
        ('"role": "requester"', 5, "h2 requester in w0: killed by SIGKILL"),
        ('"role": "responder"', 5, "h2 responder in s0: killed by SIGKILL"),
        ("tcpdump", 7, "tcpdump on w0-eth0: killed by SIGKILL"),
        ("mininet:w0", 4, "w0: its Mininet shell died"),
        ("recorder.py", 7, "pause recorder of processor {processor}: killed by SIGKILL"),
    ],
    ids=["receiver", "sender", "tcpdump", "shell", "recorder"],
)
def test_a_process_in_the_second_burst_of_a_cell(world, word, code, line) -> None:
    """The burst before it is as valid as if nothing had happened."""
    with running(world, *SLOW) as run:
        wait_for_line(run, "large/h2: burst 0 done")
        wait_for_large_burst(run)
        victim = processes(run, word)[0]
        processor = run.members()[victim].partition("recorder.py ")[2].partition(" ")[0]
        os.kill(victim, signal.SIGKILL)
        done = finish(run)
        assert run.wait_gone() == {}
    cells = ["small/h2", "large/h2"]
    assert_kept(world, done, code, line.format(processor=processor), cells)
    assert_kept_as_undisturbed(world, "small/h2", [0, 1])
    assert_kept_as_undisturbed(world, "large/h2", [0])


def test_what_fails_after_it_is_told_after_it(world: World) -> None:
    """The first failure decides line and exit code, also where the report can't be written."""
    with running(world, *SLOW) as run:
        world.shell(f"mkdir -p {WORK}/report.html")
        _, receiver = wait_for_large_burst(run)
        world.shell(f"mv {WORK}/report.html {WORK}/out")
        os.kill(receiver, signal.SIGKILL)
        done = finish(run)
    first, then = done.err.splitlines()[-2:]
    assert (done.code, first) == (5, "emu.run: h2 requester in w0: killed by SIGKILL")
    assert then.startswith("emu.run: then: out/report.html: can't be written: Is a directory; ")


@pytest.mark.parametrize(
    "moment",
    ["addresses, TCP settings, shaping", "measuring s0 - w0", "calibrating", "small/h2: burst 0"],
)
def test_the_shell_that_holds_a_host_at_another_moment(world: World, moment: str) -> None:
    """Whatever fails for lack of it, the line names the shell."""
    with running(world, *SLOW) as run:
        wait_for_line(run, moment)
        (shell,) = processes(run, "mininet:w0")
        os.kill(shell, signal.SIGKILL)
        done = finish(run)
        assert run.wait_gone() == {}
    cells = ["small/h2"] if moment.startswith("small") else []
    assert_kept(world, done, 4, "w0: its Mininet shell died", cells)


def test_tcpdump_while_a_receiver_is_calibrated(world: World) -> None:
    """As in a cell: what the calibration is for would be missing without a word."""
    with running(world, *SLOW) as run:
        wait_for_line(run, "calibrating")
        (tcpdump,) = wait_for("tcpdump", lambda: processes(run, "tcpdump"))
        os.kill(tcpdump, signal.SIGKILL)
        done = finish(run)
        assert run.wait_gone() == {}
    assert_kept(world, done, 7, "tcpdump on w0-eth0: killed by SIGKILL", [])


def test_the_run_itself(world: World) -> None:
    """Nobody is left to say anything; the cells that were finished before are there."""
    kill_the_run(world, wait_for_large_burst)
    assert_under_way(world, ["small/h2"])


def test_the_run_itself_while_it_predicts(world: World) -> None:
    """Everything was measured, so everything can still be predicted, and drawn."""
    kill_the_run(world, lambda run: wait_for_line(run, "predicting"))
    cells = ["small/h2", "large/h2"]
    assert_under_way(world, cells)
    done = run_to_end(world, "out", "--out", "again", command=program("emu.predict"))
    assert done.code == 0, done.err
    assert "The run itself did not come to predict." in done.out
    with results(world, f"{WORK}/again") as folder:
        summary = folder.read_summary()
        assert summary is not None
        assert [cell.cell for cell in summary.cells] == cells
        assert summary.reasons[0] == NOT_ENDED
        assert {row.cell for row in folder.read_predictions()} == set(cells)
    for name in ("out", "again"):
        done = run_to_end(world, name, command=program("netcosim.report"))
        assert (done.code, done.err) == (0, "")
        page = world.at(f"{WORK}/{name}/report.html").read_text()
        assert NOT_ENDED in page
        assert all(cell in page for cell in cells)


def kill_the_run(world: World, wait: Callable[[Run], object]) -> None:
    with running(world, *SLOW) as run:
        wait(run)
        inner = max(pid for pid, line in run.members().items() if "emu/run.py" in line)
        os.kill(inner, signal.SIGKILL)
        done = finish(run)
        assert run.wait_gone() == {}
    assert done.code == 128 + signal.SIGKILL


def assert_under_way(world: World, cells: list[str]) -> None:
    with results(world) as folder:
        summary, record = folder.read_summary(), folder.read_run()
        assert summary is not None
        assert record is not None
        assert (summary.complete, summary.trusted, summary.reasons[0]) == (False, False, NOT_ENDED)
        assert [cell.cell for cell in summary.cells] == cells
        for rows in (folder.read_trace(), folder.read_windows(), folder.read_grants()):
            assert {row.cell for row in rows} == set(cells)
        assert {v.cell for v in record.validity} == set(cells)
        assert folder.read_predictions() == ()
    assert world.changes(below=f"{WORK}/out") == set()


def program(module: str) -> tuple[str, ...]:
    return ("env", "PYTHONDONTWRITEBYTECODE=1", sys.executable, "-P", "-m", module)
