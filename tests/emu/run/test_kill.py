"""kill -9 of one process of a run, whichever and whenever: nothing is left, the next run works.

The run is started as a person starts it, ``sudo ./dev run``. The seed is in the names of trials;
KILL_SEED in the environment repeats one, and KILL_TRIALS says how many there are.
"""

import os
import random
import signal
import time
import uuid
from collections.abc import Iterator
from contextlib import closing, nullcontext

import pytest

from tests.emu.run.running import WORK, finish, run_to_end, running, scenario
from tests.emu.run.surroundings import Surroundings, bystanders
from tests.emu.run.terminal import Terminal
from tests.emu.run.world import ROOT, World

pytestmark = [pytest.mark.root, pytest.mark.soak]
TRIALS = int(os.environ.get("KILL_TRIALS", "12"))
SEED = int(os.environ["KILL_SEED"])
GONE_S = 30


@pytest.fixture(scope="module")
def life_s(shared: World) -> float:
    """Time of a run that nobody kills, from sudo to its end."""
    begin = time.monotonic()
    assert run_to_end(shared, *arguments("whole"), sudo=True).code in (0, 1)
    return time.monotonic() - begin


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    with World(tmp_path_factory.mktemp("world")) as world:
        world.shell(f"{ROOT}/dev run --help >/dev/null")
        world.forget_changes()
        yield world


def arguments(folder: str) -> tuple[str, ...]:
    return ("--scenario", scenario("one"), "--out", f"out/{folder}")


@pytest.mark.parametrize("trial", range(TRIALS), ids=lambda n: f"{n}-of-seed-{SEED}")
def test_kill_9_leaves_nothing(shared: World, life_s: float, trial: int) -> None:
    draw = random.Random(f"{SEED} {trial}")
    before = Surroundings.of(shared)
    delay_s = life_s * (trial + draw.random()) / TRIALS  # all phases have their turn
    with bystanders() as others:
        while (victim := killed_after(shared, delay_s, draw, terminal=trial % 2 == 1)) is None:
            delay_s *= 0.8  # that run was over already
        print(f"seed {SEED}, trial {trial}: after {delay_s:.2f} of {life_s:.1f} s: {victim}")
        assert [other.poll() for other in others] == [None] * len(others)
    before.assert_unchanged(shared)
    assert shared.changes(below=f"{WORK}/out") == set()


def killed_after(world, delay_s, draw, *, terminal) -> str | None:
    """Start a run, kill one of its processes, see that all are gone; the one that was killed.

    With a terminal, sudo stands beside the run and in front of it, with a terminal of its own.
    """
    with (
        closing(Terminal()) if terminal else nullcontext() as screen,
        running(world, *arguments(uuid.uuid4().hex), sudo=True, terminal=screen) as run,
    ):
        time.sleep(delay_s)
        victim = strike(run.members(), draw)
        finish(run, GONE_S)
        assert run.wait_gone(GONE_S) == {}, victim
    return victim


def strike(members: dict[int, str], draw: random.Random) -> str | None:
    """Kill one of them; None if there is none left."""
    while members:
        pid = draw.choice(sorted(members))
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            del members[pid]
            continue
        return members[pid]
    return None


def test_the_next_run_works(shared: World) -> None:
    done = run_to_end(shared, *arguments("next"), sudo=True)
    assert done.code in (0, 1), done.err
    assert shared.changes(below=f"{WORK}/out") == set()
