"""The driver of a sweep: hands out tasks, takes in what they found, keeps it."""

import sys
import time
from dataclasses import dataclass, field
from typing import Final, Protocol

from netcosim.cli.session import deciding
from netcosim.errors import EnvironmentRefusedError
from ray_sweeps.evaluation import Items, Points, Rows
from ray_sweeps.runner.executor import TASKS_A_PROCESSOR, Ended, Evaluate, Executor, Resolve, Task
from ray_sweeps.runner.work import Work

_POLL_S: Final = 0.5


class Store(Protocol):
    """Store of rows."""

    def add(self, rows: Rows) -> None:
        """Take rows; they are on the disk a few seconds later."""

    def flush(self) -> None:
        """Put what was taken on the disk."""


class Listener(Protocol):
    """Listener to the progress of a sweep."""

    def progressed(self, state: "State") -> None:
        """Look at the state; called several times a second."""

    def say(self, message: str) -> None:
        """Tell what has happened, in a line."""


@dataclass(slots=True)
class State:
    """Progress of a sweep.

    Attributes
    ----------
    made : runs made now
    errors : of them that have an error
    again : tasks begun more than once, as a process or a machine was lost
    given_up : runs that no process survived
    """

    work: Work
    processors: int
    begun_s: float = field(default_factory=time.monotonic)
    made: int = 0
    errors: int = 0
    again: int = 0
    given_up: list[Items] = field(default_factory=list)

    @property
    def elapsed_s(self) -> float:
        """Time since the driver began."""
        return time.monotonic() - self.begun_s


def drive(state: State, executor: Executor, store: Store, listener: Listener) -> None:
    """Do all work that is left; rows made before an interruption or a failure are kept.

    Raises
    ------
    StorageError
        Rows can't be written.
    EnvironmentRefusedError
        Nothing is left to execute tasks on, or no process survives resolving some points.
    """
    try:
        while True:
            _submit(state.work, executor)
            if not executor.in_flight:
                return
            ended = executor.ended(_POLL_S)
            if ended is not None:
                _take_in(ended, state, store, listener)
            state.processors = executor.processors
            listener.progressed(state)
    finally:
        with deciding(sys.exception()):
            store.flush()


def _submit(work: Work, executor: Executor) -> None:
    while executor.in_flight < TASKS_A_PROCESSOR * executor.processors:
        task = _next_task(work, executor)
        if task is None:
            return
        executor.submit(task)


def _next_task(work: Work, executor: Executor) -> Task | None:
    """Runs if there are enough of them for all processors, else points to be resolved."""
    plenty = TASKS_A_PROCESSOR * executor.processors
    if not work.all_handed_to_resolve and not work.enough_for(plenty):
        return Resolve(work.take_numbers())
    if work.pending:
        # At the end of the sweep tasks get smaller, so that all processors end together.
        share = 1.0 if not work.all_handed_to_resolve else 1.0 / plenty
        return Evaluate(work.take_runs(share))
    return None


def _take_in(ended: Ended, state: State, store: Store, listener: Listener) -> None:
    work, task = state.work, ended.task
    if ended.attempts > 1:
        state.again += 1
        listener.say("a process or a machine was lost: its runs were made again")
    match task, ended.result:
        case Resolve(numbers), Points() as points:
            work.points_resolved(numbers, points)
        case Evaluate(items), Rows() as rows:
            # Counted first: whoever interrupts this must not be told that there are no rows.
            state.made += len(rows)
            state.errors += rows.errors
            store.add(rows)
            work.runs_made(items.part(0, len(rows)), rows.seconds)
            work.put_back(items.part(len(rows)))
        case Evaluate(items), None if len(items) > 1:
            listener.say(f"{ended.lost}: its {len(items)} runs are made in smaller parts")
            half = len(items) // 2
            work.put_apart(items.part(0, half), items.part(half))
        case Evaluate(items), None:
            listener.say(f"{ended.lost}: point {items.numbers[0]}, run {items.runs[0]} is left out")
            state.given_up.append(items)
        case Resolve(numbers), None:
            which = f"{numbers.start} to {numbers.stop - 1}"
            raise EnvironmentRefusedError(
                f"points {which}: no process that resolves them is left alive: {ended.lost}"
            )
