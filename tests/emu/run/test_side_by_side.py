"""Runs do not disturb each other, whoever called them owns the results, nobody listens outside."""

import os
import signal
from pathlib import Path

import pytest

from netcosim.trace import bursts, service_order
from tests.emu.run.midburst import wait_for_large_burst
from tests.emu.run.ownership import CALLER, assert_owned
from tests.emu.run.running import WORK, Run, finish, results, running, scenario, wait_for
from tests.emu.run.surroundings import Surroundings, bystanders
from tests.emu.run.world import World

pytestmark = [pytest.mark.root, pytest.mark.soak]


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
        before.assert_unchanged(world)
        done = [finish(run) for run in (one, two)]
        assert [other.poll() for other in others] == [None] * len(others)
    for each, folder in zip(done, ("one", "two"), strict=True):
        assert each.code in (0, 1), each.err
        with results(world, f"{WORK}/{folder}") as kept:
            measured, predicted = kept.read_trace(), kept.read_predictions()
        groups = bursts(measured)
        assert {cell for cell, _ in groups} == {"small/h2", "large/h2"}
        for where, rows in groups.items():
            model = [
                r
                for r in predicted
                if (r.cell, r.burst) == where and (r.model, r.level) == ("fifo", "PREDICT")
            ]
            assert service_order(rows) == service_order(model)
            assert all(row.wire_bytes == row.size_bytes for row in rows)
    before.assert_unchanged(world)
    outside = world.changes(below=f"{WORK}/one") & world.changes(below=f"{WORK}/two")
    assert outside == set()


def test_the_same_folder_goes_to_one_of_two(world: World) -> None:
    arguments = ("--scenario", scenario("one"), "--out", "out")
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


def test_results_belong_to_who_called_sudo(world: World) -> None:
    """At every moment, for a kill -9 may come; by default they are below the current folder."""
    folder = world.at(f"{WORK}/results")
    with running(world, "--scenario", scenario("one"), environ=CALLER) as run:
        wait_for("the folder", lambda: list(folder.glob("one-*/schemas")))
        while run.process.poll() is None:
            assert_owned(folder)
        assert finish(run).code in (0, 1)
    assert_owned(folder)
    assert world.changes(below=f"{WORK}/results") == set()


def test_also_after_kill_9(world: World) -> None:
    """A half-written folder is the caller's to delete."""
    with running(world, "--scenario", scenario("slow"), "--out", "out", environ=CALLER) as run:
        wait_for_large_burst(run)
        os.kill(run.process.pid, signal.SIGKILL)
        finish(run)
        assert run.wait_gone() == {}
    assert {path.stat().st_uid for path in world.at(f"{WORK}/out").rglob("*")} == {12345}
