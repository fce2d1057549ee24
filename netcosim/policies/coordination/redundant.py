"""Redundant execution: a step is over with the first so many workers, the others' work is dropped.

Source: Chen et al., "Revisiting distributed synchronous SGD" (arXiv 1604.00981), as Chen, Weng,
Wang, Li and Li (SoCC 2020, section 5.3) have it: 34 workers, of which 32 count. Nobody is
interrupted: a late worker sends all of its gradients, and begins the newest step behind them. With
fewer workers than are to count, all do.
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


class Redundant:
    """Coordinator with a barrier behind the first workers of each step.

    Parameters
    ----------
    first : how many workers count
    """

    def __init__(self, first: int) -> None:
        self._first = first
        self._batches: list[int] = []
        self._begun: list[int] = []
        self._waiting: set[int] = set()
        self._newest = 0
        self._counted = 0
        self._late: set[int] = set()

    def begin(self, batches: list[int], limits: Sequence[Limits] = ()) -> list[Begin]:
        """Begin all."""
        self._batches = batches
        self._begun = [0] * len(batches)
        return [Begin(worker, batch) for worker, batch in enumerate(batches)]

    def ended(self, ended: Ended, use: UseOf) -> list[Begin]:
        """Count a worker of the newest step; with the last one needed, who is idle goes on."""
        worker = ended.worker
        self._late.discard(worker)
        if self._begun[worker] < self._newest:
            self._late.add(worker)
            return [self._go_on(worker)]
        self._counted += 1
        self._waiting.add(worker)
        if self._counted < min(self._first, len(self._batches)):
            return []
        self._counted = 0
        self._newest += 1
        free, self._waiting = sorted(self._waiting), set()
        return [self._go_on(each) for each in free]

    def counts(self, worker: int) -> bool:
        """True if it was among the first."""
        return worker not in self._late

    def _go_on(self, worker: int) -> Begin:
        self._begun[worker] = self._newest
        return Begin(worker, self._batches[worker])


OPTIONS: Final[Options] = {"first": Option(0, 1, 1e9), "spare": Option(2, 0, 1e9)}
"""Workers that count, or those that need not be waited for."""

ONE_OF: Final = ("first", "spare")


def make(workers: int, options: Mapping[str, float], predictor: MakePredictor) -> Coordinator:
    """Make the coordinator of so many workers."""
    first = int(options["first"]) or max(1, workers - int(options["spare"]))
    return Redundant(first)
