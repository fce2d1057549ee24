"""Driving a sweep: every run once, whatever is lost on the way."""

import random
from collections.abc import Iterator
from dataclasses import dataclass, field

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from netcosim.errors import EnvironmentRefusedError
from ray_sweeps.evaluation import Items, Points, Rows, Values, evaluate, resolve
from ray_sweeps.key_set import RUN_BYTES, KeySet, keys_of, runs_of
from ray_sweeps.runner.drive import State, drive
from ray_sweeps.runner.executor import Ended, Resolve, Task
from ray_sweeps.runner.serial import Serial
from ray_sweeps.runner.work import Pace, Work
from tests.ray_sweeps.made import Made


@dataclass
class Kept:
    """A store and a listener in memory."""

    rows: list[Values] = field(default_factory=list)
    said: list[str] = field(default_factory=list)
    flushed: int = 0

    def add(self, rows: Rows) -> None:
        self.rows += rows.table.to_pylist()

    def flush(self) -> None:
        self.flushed += 1

    def say(self, message: str) -> None:
        self.said.append(message)

    def progressed(self, state: State) -> None:
        assert state.made == len(self.rows)

    def sorted(self) -> list[Values]:
        return sorted(self.rows, key=lambda row: (row["factor_number"], row["run"]))


@dataclass
class Losing:
    """Executes tasks in any order, parts of them only, and loses some; a few runs kill it."""

    evaluator: Made
    chance: random.Random
    deadly: frozenset[int] = frozenset()
    processors: int = 3
    tasks: list[Task] = field(default_factory=list)

    @property
    def in_flight(self) -> int:
        return len(self.tasks)

    def submit(self, task: Task) -> None:
        self.tasks.append(task)

    def ended(self, within_s: float) -> Ended | None:
        if self.chance.random() < 0.1:
            return None
        task = self.tasks.pop(self.chance.randrange(len(self.tasks)))
        if isinstance(task, Resolve):
            return Ended(task=task, result=resolve(self.evaluator, task.numbers))
        deadly = self.deadly & set(task.items.numbers.tolist())
        if deadly or (self.chance.random() < 0.2 and len(task.items) > 1):
            return Ended(task=task, result=None, attempts=4, lost="WorkerCrashedError")
        some = task.items.part(0, self.chance.randint(1, len(task.items)))
        return Ended(task=task, result=evaluate(self.evaluator, some, 9.0))


def driven(numbers: int, runs: int, executor: Losing | Serial) -> tuple[Kept, State]:
    kept = Kept()
    state = State(work=Work(numbers=numbers, runs=runs), processors=executor.processors)
    drive(state, executor, kept, kept)
    assert kept.flushed
    return kept, state


@given(
    numbers=st.integers(0, 300),
    runs=st.integers(1, 3),
    gap=st.sampled_from([0, 2, 5]),
    twin=st.sampled_from([0, 3]),
    seed=st.integers(0, 10**6),
)
@settings(deadline=None, max_examples=60)
def test_each_run_of_each_point_is_made_once(numbers, runs, gap, twin, seed):
    made = Made(gap=gap, twin=twin, failing=11)
    wanted = made.wanted(numbers, runs)
    for executor in (Serial(made), Losing(made, random.Random(seed))):
        kept, state = driven(numbers, runs, executor)
        assert kept.sorted() == wanted
        assert state.made == state.work.wanted == len(wanted)
        assert state.errors == sum(row["error"] is not None for row in wanted)
        assert not state.given_up and not state.work.pending


def test_what_kills_every_process_is_left_out_and_nothing_else():
    made = Made()
    executor = Losing(made, random.Random(3), deadly=frozenset({17, 18, 90}))
    kept, state = driven(100, 2, executor)
    deadly = [row for row in made.wanted(100, 2) if row["factor_number"] in executor.deadly]
    assert kept.sorted() == [row for row in made.wanted(100, 2) if row not in deadly]
    given_up = [(n, r) for each in state.given_up for n, r in pairs(each)]
    assert sorted(given_up) == [(row["factor_number"], row["run"]) for row in deadly]
    assert sum("is left out" in line for line in kept.said) == len(deadly)


def test_points_that_kill_every_process_are_named():
    class Gone(Serial):
        def ended(self, within_s: float) -> Ended | None:
            found = super().ended(within_s)
            return Ended(task=found.task, result=None, lost="WorkerCrashedError")

    with pytest.raises(EnvironmentRefusedError) as raised:
        driven(10, 1, Gone(Made()))
    assert str(raised.value) == (
        "points 0 to 9: no process that resolves them is left alive: WorkerCrashedError"
    )


def pairs(items: Items) -> Iterator[tuple[int, int]]:
    yield from zip(items.numbers.tolist(), items.runs.tolist(), strict=True)


def test_runs_that_were_made_before_are_not_made_again():
    made = Made(gap=4)
    before = [row for row in made.wanted(80, 3) if (row["factor_number"] + row["run"]) % 2]
    taken = KeySet(RUN_BYTES)
    keys = keys_of([row["key"] for row in before])
    import numpy as np

    taken.add(runs_of(keys, np.array([row["run"] for row in before])))
    kept = Kept()
    state = State(work=Work(numbers=80, runs=3, taken=taken), processors=1)
    drive(state, Serial(made), kept, kept)
    assert kept.sorted() == [row for row in made.wanted(80, 3) if row not in before]
    assert state.work.known == len(before)


class Full(Kept):
    """A store whose disk is full after the first rows."""

    def add(self, rows: Rows) -> None:
        if self.rows:
            raise OSError("full")
        super().add(rows)


def test_a_failure_of_the_store_ends_the_sweep_with_what_was_made_flushed():
    kept = Full()
    state = State(work=Work(numbers=1000, runs=1), processors=1)
    with pytest.raises(OSError, match="full"):
        drive(state, Serial(Made()), kept, kept)
    assert kept.rows and kept.flushed == 1


def test_tasks_are_as_long_as_they_are_to_be():
    """Work of which a unit takes 10 ms is handed out in parts of a second."""
    work = Work(numbers=10_000, runs=1)
    made = Made()
    work.points_resolved(range(10_000), resolve(made, range(10_000)))
    assert len(work.take_runs()) == 4  # nothing is known yet
    for _ in range(30):
        items = work.take_runs()
        assert len(items)
        work.runs_made(items, 0.01 * float(items.work.sum()))
    items = work.take_runs()
    assert 0.9 <= 0.01 * float(items.work.sum()) <= 1.0
    left = work.left_s(2.0)
    assert left == pytest.approx(0.01 * work.left_work / 2, rel=1e-6)


def test_the_time_left_does_not_jump_with_the_last_runs():
    work = Work(numbers=1000, runs=1)
    work.points_resolved(range(1000), resolve(Made(), range(1000)))
    for seconds in [0.01] * 50 + [0.1] * 50:
        items = work.take_runs()
        work.runs_made(items, seconds * float(items.work.sum()))
        work.put_back(items.part(len(items)))
    assert work.left_s(1.0) == pytest.approx(work.left_work * work.spent_s / work.done_work)
    assert work.left_s(2.0) == pytest.approx(work.left_work * work.spent_s / work.done_work / 2)


def test_a_pace_forgets():
    pace = Pace()
    assert pace.units_in(1.0) is None
    for seconds in [1.0] * 10 + [2.0] * 30:
        pace.measured(10.0, seconds)
    assert pace.units_in(1.0) == pytest.approx(5.0, rel=0.01)


def test_points_are_taken_in_by_their_numbers_whatever_the_order():
    """Which of two spellings names a point does not hang on what was resolved first."""
    made = Made(twin=3)
    parts = [range(0, 5), range(5, 8), range(8, 20)]
    for order in ([0, 1, 2], [2, 1, 0], [1, 2, 0]):
        work = Work(numbers=20, runs=1)
        for place in order:
            points: Points = resolve(made, parts[place])
            work.points_resolved(parts[place], points)
        numbers = [n for n, _ in pairs(work._popped(100, 1e9))]
        assert numbers == [n for n in range(20) if n % 3 != 2]


class Interrupted(Kept):
    """A store that Ctrl-C comes to just behind the rows that it has taken."""

    def add(self, rows: Rows) -> None:
        super().add(rows)
        raise KeyboardInterrupt


def test_an_interrupted_sweep_has_counted_what_it_has_kept():
    """Else it would say that there is nothing, of a folder with rows."""
    kept, executor = Interrupted(), Serial(Made())
    state = State(work=Work(numbers=3, runs=2), processors=1)
    with pytest.raises(KeyboardInterrupt):
        drive(state, executor, kept, kept)
    assert state.made == len(kept.rows) > 0
