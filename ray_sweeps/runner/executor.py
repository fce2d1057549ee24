"""Tasks of a driver, and the interface of what executes them: Ray, or its own process."""

from dataclasses import dataclass
from typing import Final, Protocol

from ray_sweeps.evaluation import Items, Points, Rows

RETRIES: Final = 3
"""Number of times that Ray begins a lost task again."""

TASKS_A_PROCESSOR: Final = 2
"""Tasks in flight: one that is executed, and one that waits to be."""


@dataclass(frozen=True, slots=True)
class Resolve:
    """Task: find keys and work of the points of these numbers."""

    numbers: range


@dataclass(frozen=True, slots=True)
class Evaluate:
    """Task: make these runs, as many as the time allows."""

    items: Items


Task = Resolve | Evaluate


@dataclass(frozen=True, slots=True, kw_only=True)
class Ended:
    """A task that has ended; `result` is None if it was lost with what executed it.

    Attributes
    ----------
    attempts : how often it was begun; more than once if a process or a machine was lost
    lost : why it has no result
    """

    task: Task
    result: Points | Rows | None
    attempts: int = 1
    lost: str = ""


class Executor(Protocol):
    """Executes tasks side by side."""

    @property
    def processors(self) -> int:
        """Tasks that are executed at a time."""

    @property
    def in_flight(self) -> int:
        """Tasks that were submitted and have not been given back."""

    def submit(self, task: Task) -> None:
        """Take a task."""

    def ended(self, within_s: float) -> Ended | None:
        """Wait for a task to end, so long at most; there must be one in flight."""
