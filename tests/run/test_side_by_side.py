"""Runs do not disturb each other, whoever called them owns the results, nobody listens outside."""

import os
import signal
import time
from pathlib import Path

import pytest

from netcosim.trace import bursts, service_order
from tests.run.midburst import wait_for_large_burst
from tests.run.running import WORK, Run, finish, results, run_to_end, running, scenario, wait_for
from tests.run.surroundings import Surroundings, bystanders
from tests.run.world import World

pytestmark = pytest.mark.root
_CALLER = (12345, 23456)
CALLER = {"SUDO_UID": "12345", "SUDO_GID": "23456"}


def test_two_at_once(world: World) -> None:
    before = Surroundings.of(world)
    arguments = ("--scenario", scenario("slow"), "--repetitions", "1", "--out")
    with (
        bystanders() as others,
        running(world, *arguments, "one") as one,
        running(world, *arguments, "two") as two,
    ):
        wait_for_large_burst(one)
        assert len(one.seen_namespaces()) > 5
        assert one.seen_namespaces() & two.seen_namespaces() == set()
        assert listening_outside(one) == listening_outside(two) == set()
        assert Surroundings.of(world) == before
        done = [finish(run) for run in (one, two)]
        assert [other.poll() for other in others] == [None] * len(others)
    for each, folder in zip(done, ("one", "two"), strict=True):
        assert each.code in (0, 1), each.err
        with results(world, f"{WORK}/{folder}") as kept:
            measured, predicted = kept.read_trace(), kept.read_predictions()
        groups = bursts(measured)
        assert {cell for cell, _ in groups} == {"small/h2", "large/h2"}
        for where, rows in groups.items():
            model = [r for r in predicted if (r.cell, r.burst) == where and r.model == "fifo"]
            assert service_order(rows) == service_order(model)
            assert all(row.wire_bytes == row.size_bytes for row in rows)
    assert Surroundings.of(world) == before
    outside = world.changes(below=f"{WORK}/one") & world.changes(below=f"{WORK}/two")
    assert outside == set()


def test_the_same_folder_goes_to_one_of_two(world: World) -> None:
    arguments = ("--scenario", scenario("tiny"), "--out", "out")
    with running(world, *arguments) as one, running(world, *arguments) as two:
        done = [finish(run) for run in (one, two)]
    loser, winner = sorted(done, key=lambda each: each.code, reverse=True)
    assert (loser.code, winner.code in (0, 1)) == (6, True), (loser.err, winner.err)
    assert len(loser.err.splitlines()) == 1
    with results(world) as kept:
        assert kept.read_summary() is not None


def listening_outside(run: Run) -> set[str]:
    """Listening TCP sockets of the machine itself that a process of the run holds."""
    listening = set()
    for family in ("tcp", "tcp6"):
        for line in Path(f"/proc/self/net/{family}").read_text().splitlines()[1:]:
            fields = line.split()
            if fields[3] == "0A":
                listening.add(f"socket:[{fields[9]}]")
    held = set()
    for pid in run.members():
        for path in Path(f"/proc/{pid}/fd").glob("*"):
            try:
                held.add(str(path.readlink()))
            except OSError:
                continue
    return listening & held


def assert_owned(root: Path) -> None:
    for path in [root, *root.rglob("*")]:
        if _owner(path) != _CALLER:
            time.sleep(0.05)  # it may have been made a moment ago
            assert _owner(path) == _CALLER, path


def _owner(path: Path) -> tuple[int, int]:
    try:
        found = path.lstat()
    except FileNotFoundError:  # renamed meanwhile
        return _CALLER
    return found.st_uid, found.st_gid


def test_results_belong_to_who_called_sudo(world: World) -> None:
    arguments = ("--scenario", scenario("tiny"), "--out", "new/parent/out")
    folder = world.at(f"{WORK}/new")
    with running(world, *arguments, environ=CALLER) as run:
        wait_for("the folder", (folder / "parent/out/schemas").exists)
        while run.process.poll() is None:  # at every moment, for a kill -9 may come
            assert_owned(folder)
        assert finish(run).code in (0, 1)
    assert_owned(folder)


def test_also_after_an_interruption(world: World) -> None:
    with running(world, "--scenario", scenario("slow"), "--out", "out", environ=CALLER) as run:
        wait_for_large_burst(run)
        os.kill(run.process.pid, signal.SIGINT)
        assert finish(run).code == 130
    assert_owned(world.at(f"{WORK}/out"))


def test_also_after_kill_9(world: World) -> None:
    """What is left half-written is the caller's to delete."""
    with running(world, "--scenario", scenario("slow"), "--out", "out", environ=CALLER) as run:
        wait_for_large_burst(run)
        os.kill(run.process.pid, signal.SIGKILL)
        finish(run)
        assert run.wait_gone() == {}
    assert {path.stat().st_uid for path in world.at(f"{WORK}/out").rglob("*")} == {12345}


def test_the_default_folder_is_below_the_current_one(world: World) -> None:
    done = run_to_end(world, "--scenario", scenario("tiny"), environ=CALLER)
    assert done.code in (0, 1)
    (folder,) = world.at(f"{WORK}/results").iterdir()
    assert folder.name.startswith("tiny-")
    assert_owned(world.at(f"{WORK}/results"))
    assert world.changes(below=f"{WORK}/results") == set()
