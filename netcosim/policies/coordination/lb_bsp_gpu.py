"""LB-BSP for GPUs: batches move, a few examples at a time, from the slowest worker to the fastest.

Source: Chen, Weng, Wang, Li and Li, "Semi-dynamic load balancing: efficient distributed learning in
non-dedicated environments" (SoCC 2020), Algorithm 2, taken at its word: its line 12 looks at all
steps since the begin, so that a pair of workers that have once changed places ends the fast phase.
Workers don't wait for the answer (its section 4): batches that a step's times led to are those of
the step after the next. So memory is that of the batches decided by then, which may not be in it
yet, and nobody gets a batch beyond its limits; both are not in the paper.
"""

from collections.abc import Mapping
from typing import Final

from netcosim.policies.coordinator.barrier import Barrier
from netcosim.policies.coordinator.observed import Coordinator, UseOf
from netcosim.policies.coordinator.option import Options
from netcosim.policies.coordinator.predictor import MakePredictor

FAST: Final = (5, 5)
FINE: Final = (1, 20)
"""Examples that are moved at a time, and steps that must have been observed, in either phase."""

FULLEST: Final = 0.95
"""Use of a worker's memory up to which it may be given more."""


class LoadBalancedGpu(Barrier):
    """Coordinator with a barrier and batches by Algorithm 2.

    Attributes
    ----------
    fine_since : number of the step, from 1, whose times led to the fine phase; None: not yet
    warned : a worker should be removed: its batch can't be made smaller
    """

    def __init__(self) -> None:
        super().__init__(self._next_batches)
        self._taken_ns_of: list[list[float]] = []
        self._step, self._window = FAST
        self._answer: list[int] | None = None
        self.fine_since: int | None = None
        self.warned = False

    def _next_batches(self, batches: list[int], taken_ns: list[float], use: UseOf) -> list[int]:
        """Batches of the next step: what the times of the step before this one led to."""
        self._taken_ns_of.append(taken_ns)
        current = self._answer or batches
        self._answer = self._move(current, use)
        return current

    def _move(self, batches: list[int], use: UseOf) -> list[int]:
        """Algorithm 2, of batches that are decided already."""
        taken_ns = self._taken_ns_of[-1]
        workers = range(len(batches))
        roomy = [w for w in workers if self._has_room(w, batches[w], use)]
        if not roomy:
            return batches
        leader = min(roomy, key=taken_ns.__getitem__)
        straggler = max(workers, key=taken_ns.__getitem__)
        if batches[straggler] - self._step < self.limits[straggler].least:
            self.warned = True
            return batches
        observed = self._taken_ns_of[-self._window :]
        if len(observed) == self._window and all(t[leader] < t[straggler] for t in observed):
            moved = list(batches)
            moved[leader] += self._step
            moved[straggler] -= self._step
            return moved
        if any(t[leader] > t[straggler] for t in self._taken_ns_of) and self.fine_since is None:
            self._step, self._window = FINE
            self.fine_since = len(self._taken_ns_of)
        return batches

    def _has_room(self, worker: int, batch: int, use: UseOf) -> bool:
        """True if the worker's memory is not full, also with the batch that it is going to have."""
        most = self.limits[worker].most
        memory = max(batch / most, use(worker).memory or 0.0)
        return memory <= FULLEST and batch + self._step <= most


LEAD: Final = 0
MOVES_BATCHES: Final = True
OPTIONS: Final[Options] = {}


def make(workers: int, options: Mapping[str, float], predictor: MakePredictor) -> Coordinator:
    """Make the coordinator of so many workers."""
    return LoadBalancedGpu()
