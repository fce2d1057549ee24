"""Observations and decisions of coordinators, and their interface."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol


@dataclass(frozen=True, slots=True, kw_only=True)
class Ended:
    """A worker's end of a step.

    Attributes
    ----------
    worker, step : numbers
    batch : examples of the step
    taken_ns : how long it took, without what the worker waited for others before it
    """

    worker: int
    step: int
    batch: int
    taken_ns: float


class Use(NamedTuple):
    """Use of a worker's machine, at the time of a decision; parts of all of it, None: not known."""

    processor: float | None = None
    memory: float | None = None


UseOf = Callable[[int], Use]
"""From a worker to the use of its machine now."""


class Limits(NamedTuple):
    """Smallest and largest batch of a worker: of which times are known, and there is room for."""

    least: int
    most: int


class Begin(NamedTuple):
    """A worker's begin of its next step, with a batch of so many examples."""

    worker: int
    batch: int


class Coordinator(Protocol):
    """A coordinator of one job's workers."""

    def begin(self, batches: list[int], limits: Sequence[Limits] = ()) -> list[Begin]:
        """Begin the job with these batches and limits, by worker; without limits any batch goes."""

    def ended(self, ended: Ended, use: UseOf) -> list[Begin]:
        """Take that a worker has ended a step; who begins the next one now."""

    def counts(self, worker: int) -> bool:
        """True if the step that a worker has ended last entered an update."""
