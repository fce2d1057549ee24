"""Runs in virtual time that end early: Ctrl-C in a terminal, a disk that fills up."""

import pytest

from tests.emu.run.running import WORK, finish, running, scenario, wait_for_line
from tests.emu.run.terminal import Terminal
from tests.emu.run.test_storage import fill, left_by_a_full_disk
from tests.emu.run.test_virtual import VIRTUAL, assert_kept
from tests.emu.run.world import World

pytestmark = [pytest.mark.root, pytest.mark.guest]
LONG = (*VIRTUAL, scenario("slow"), "--repetitions", "30", "--out", "out")


def test_ctrl_c_in_a_terminal(world: World, terminal: Terminal) -> None:
    """Whatever was told to be done is kept."""
    with running(world, *LONG, terminal=terminal) as run:
        wait_for_line(run, "small/h2: burst 0 done")
        terminal.type("\x03")
        done = finish(run)
        assert run.wait_gone() == {}
    assert "This run is incomplete" in terminal.said
    assert_kept(world, done, "Ctrl-C", at_least={"small/h2"})


def test_a_disk_that_fills_up(world: World) -> None:
    """The disk is full before the first cell is over: what can be kept is, and nothing half."""
    world.shell(f"mkdir {WORK}/out; mount -t tmpfs -o size=400m results {WORK}/out")
    with running(world, *LONG) as run:
        wait_for_line(run, "small/h2: burst 0 done")
        fill(world, f"{WORK}/out/filler")
        done = finish(run)
        assert run.wait_gone() == {}
    assert "scenario.toml" in left_by_a_full_disk(world, done)
    assert world.changes(below=f"{WORK}/out") == set()
