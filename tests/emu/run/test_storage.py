"""Results that can't be written: one line, exit code 6, no file half-written."""

import errno
import os

import pytest

from tests.emu.run.running import WORK, Done, finish, run_to_end, running, scenario, wait_for_line
from tests.emu.run.world import World

pytestmark = pytest.mark.root
TINY = ("--scenario", scenario("tiny"), "--out", "out")


def assert_refused(done: Done, message: str) -> None:
    """Refused with this line and no other: nothing had been begun."""
    assert (done.code, done.out, done.err) == (6, "", f"emu.run: {message}\n")


def test_a_folder_that_is_not_empty(world: World) -> None:
    world.shell(f"mkdir {WORK}/out; echo dear > {WORK}/out/letter")
    done = run_to_end(world, *TINY)
    assert_refused(done, "out: is not empty: must be a new or an empty folder")
    assert world.changes() == {f"{WORK}/out", f"{WORK}/out/letter"}


def test_a_file(world: World) -> None:
    world.shell(f"echo dear > {WORK}/out")
    assert_refused(run_to_end(world, *TINY), "out: can't be opened: Not a directory")
    assert world.at(f"{WORK}/out").read_text() == "dear\n"
    assert world.changes() == {f"{WORK}/out"}


def test_a_link(world: World) -> None:
    world.shell(f"mkdir {WORK}/elsewhere; ln -s elsewhere {WORK}/out")
    done = run_to_end(world, *TINY)
    assert done.code == 6
    assert done.err.startswith("emu.run: out: can't be opened: ")
    assert world.changes() == {f"{WORK}/elsewhere", f"{WORK}/out"}


def test_a_folder_that_can_not_be_written(world: World) -> None:
    world.shell(f"mkdir {WORK}/out; mount -t tmpfs -o ro results {WORK}/out")
    done = run_to_end(world, *TINY)
    assert_refused(done, "out/schemas: can't be created: Read-only file system")


def test_a_folder_that_can_not_be_made(world: World) -> None:
    world.shell(f"mkdir {WORK}/full; mount -t tmpfs -o ro results {WORK}/full")
    done = run_to_end(world, *TINY[:2], "--out", "full/of/results")
    assert_refused(done, "full/of: can't be created: Read-only file system")


def test_too_little_space_is_refused_before_the_run(world: World) -> None:
    world.shell(f"mkdir {WORK}/out; mount -t tmpfs -o size=20m results {WORK}/out")
    done = run_to_end(world, *TINY)
    assert done.code == 6
    assert done.err.startswith("emu.run: out: ")
    assert done.err.endswith("MB free: the run needs 50MB\n")
    assert len(done.err.splitlines()) == 1


def test_a_disk_that_fills_up(world: World) -> None:
    world.shell(f"mkdir {WORK}/out; mount -t tmpfs -o size=64m results {WORK}/out")
    with running(world, "--scenario", scenario("slow"), "--out", "out") as run:
        wait_for_line(run, "small/h2: burst 0 done")
        fill(world, f"{WORK}/out/filler")
        done = finish(run)
        assert run.wait_gone(10) == {}
    left = left_by_a_full_disk(world, done)
    assert "scenario.toml" in left
    assert world.changes(below=f"{WORK}/out") == set()


def left_by_a_full_disk(world: World, done: Done) -> list[str]:
    """Names of what a run left on a disk that filled up: it said so, no file is half-written."""
    assert "Traceback" not in done.err + done.out
    assert done.code == 6
    assert done.last.startswith("emu.run: out/")
    assert done.last.endswith(": can't be written: No space left on device")
    left = [path.name for path in world.at(f"{WORK}/out").rglob("*")]
    assert not [name for name in left if name.endswith(".part")]
    return left


def fill(world: World, path: str) -> None:
    """Write until the file system is full to the last byte."""
    block = bytes(1 << 16)
    with world.at(path).open("wb", buffering=0) as file:
        while block:
            try:
                file.write(block)
            except OSError as problem:
                assert problem.errno == errno.ENOSPC
                block = block[: len(block) // 2]
    assert os.statvfs(world.at(WORK + "/out")).f_bavail == 0
