"""Barrier behind every step, where batches of the next one are decided."""

import sys
from collections.abc import Callable, Sequence
from typing import Final

from netcosim.policies.coordinator.observed import Begin, Ended, Limits, UseOf

Decide = Callable[[list[int], list[float], UseOf], list[int]]
"""From the batches of a step and the time that each took, by worker, to those of the next one."""


ANY: Final = Limits(1, sys.maxsize)


class Barrier:
    """Coordinator that lets all workers go on together.

    Parameters
    ----------
    decide : batches of the next step

    Attributes
    ----------
    limits : of each worker's batch
    """

    def __init__(self, decide: Decide) -> None:
        self._decide = decide
        self._batches: list[int] = []
        self.limits: list[Limits] = []
        self._taken_ns: dict[int, float] = {}

    def begin(self, batches: list[int], limits: Sequence[Limits] = ()) -> list[Begin]:
        """Begin all."""
        self.limits = list(limits) or [ANY] * len(batches)
        self._batches = batches
        return self._all()

    def ended(self, ended: Ended, use: UseOf) -> list[Begin]:
        """Begin all with new batches when the last worker has ended the step."""
        self._taken_ns[ended.worker] = ended.taken_ns
        if len(self._taken_ns) < len(self._batches):
            return []
        taken_ns = [self._taken_ns[worker] for worker in range(len(self._batches))]
        self._taken_ns.clear()
        self._batches = self._decide(self._batches, taken_ns, use)
        return self._all()

    def counts(self, worker: int) -> bool:
        """Every step counts."""
        return True

    def _all(self) -> list[Begin]:
        return [Begin(worker, batch) for worker, batch in enumerate(self._batches)]
