"""Stale synchronous parallel: a worker may be so many steps ahead of the slowest one.

Source: Ho et al., "More effective distributed ML via a stale synchronous parallel parameter server"
(NIPS 2013). With a gap of 0 it is bulk synchronous.
"""

from collections.abc import Mapping, Sequence
from typing import Final

from netcosim.policies.coordinator.observed import (
    Begin,
    Coordinator,
    Ended,
    Limits,
    UseOf,
)
from netcosim.policies.coordinator.option import Option, Options
from netcosim.policies.coordinator.predictor import MakePredictor


class StaleSynchronous:
    """Coordinator that holds workers back which are too far ahead.

    Parameters
    ----------
    gap : steps
    """

    def __init__(self, gap: int) -> None:
        self._gap = gap
        self._done: list[int] = []
        self._batches: list[int] = []
        self._waiting: set[int] = set()

    def begin(self, batches: list[int], limits: Sequence[Limits] = ()) -> list[Begin]:
        """Begin all."""
        self._batches = batches
        self._done = [0] * len(batches)
        return [Begin(worker, batch) for worker, batch in enumerate(batches)]

    def ended(self, ended: Ended, use: UseOf) -> list[Begin]:
        """Let those go on that may, the lowest first."""
        self._done[ended.worker] += 1
        self._waiting.add(ended.worker)
        furthest = min(self._done) + self._gap
        free = sorted(worker for worker in self._waiting if self._done[worker] <= furthest)
        self._waiting.difference_update(free)
        return [Begin(worker, self._batches[worker]) for worker in free]

    def counts(self, worker: int) -> bool:
        """Every step counts."""
        return True


LEAD: Final = "gap"
OPTIONS: Final[Options] = {"gap": Option(5, 0, 1e9)}


def make(workers: int, options: Mapping[str, float], predictor: MakePredictor) -> Coordinator:
    """Make the coordinator of so many workers."""
    return StaleSynchronous(int(options["gap"]))
