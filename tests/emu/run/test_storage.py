"""Results that can't be written: one line, exit code 6, no file half-written."""

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from netcosim.errors import StorageError
from netcosim.results.folder import NOT_ENDED, ResultsFolder
from netcosim.scenario import read_scenario
from tests.emu.run.running import (
    WORK,
    Done,
    Run,
    finish,
    results,
    run_to_end,
    running,
    scenario,
    wait_for_line,
)
from tests.emu.run.world import World
from tests.netcosim.results.synthetic import Case, summary

pytestmark = [pytest.mark.root, pytest.mark.soak]
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
    """The capture of a cell finds no room; there is some for all that was finished."""
    with on_a_disk_that_fills_up(world, "large/h2: burst 0 done") as run:
        done = finish(run)
        assert run.wait_gone() == {}
    left_by_a_full_disk(world, done)
    cells = {"small/h2", "large/h2"}
    with results(world) as folder:
        summary, record = folder.read_summary(), folder.read_run()
        assert summary is not None
        assert record is not None
        told = done.last.removeprefix("emu.run: ")
        assert (summary.complete, summary.reasons) == (False, (f"ended early: {told}",))
        assert [v.valid for v in record.validity] == [True] * 4
        assert {row.cell for row in folder.read_trace()} == cells
        assert {row.cell for row in folder.read_predictions()} == cells
    assert "No space left on device" in world.at(f"{WORK}/out/report.html").read_text()
    assert world.changes(below=f"{WORK}/out") == set()


def test_a_disk_without_room_for_the_last_results(world: World) -> None:
    """What was written before stays as it was, and the summary says what ended the run."""
    world.shell(f"mkdir {WORK}/out; mount -t tmpfs -o size=20m results {WORK}/out")
    given = read_scenario(Path(scenario("tiny")))
    with ResultsFolder.create(world.at(f"{WORK}/out"), given) as folder:
        folder.hold_room()
        under_way = {"complete": False, "trusted": False, "reasons": (NOT_ENDED, "another")}
        made = summary((Case(sizes=(300_000, 2_000_000), bursts=1),))
        folder.write_summary(made.model_copy(update=under_way))
        before = folder.read_summary()
        fill(world, f"{WORK}/out/filler")
        folder.give_back()
        fill(world, f"{WORK}/out/more")
        with pytest.raises(StorageError, match="No space left on device"):
            folder.write_trace(())
        folder.write_end("ended early: a reason")
        ended = folder.read_summary()
        assert before is not None
        reasons = ("ended early: a reason", "another")
        assert ended == before.model_copy(update={"reasons": reasons})
        assert [name for name in folder.names() if name.startswith(".")] == []


@contextmanager
def on_a_disk_that_fills_up(world: World, line: str) -> Iterator[Run]:
    """A run whose disk is full from the moment on that it says this."""
    world.shell(f"mkdir {WORK}/out; mount -t tmpfs -o size=64m results {WORK}/out")
    with running(world, "--scenario", scenario("slow"), "--out", "out") as run:
        wait_for_line(run, line)
        fill(world, f"{WORK}/out/filler")
        yield run


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
