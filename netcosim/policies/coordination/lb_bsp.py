"""LB-BSP for processors: batches in proportion to the speeds that are predicted of the workers.

Source: Chen, Weng, Wang, Li and Li, "Semi-dynamic load balancing: efficient distributed learning in
non-dedicated environments" (SoCC 2020), Algorithm 1. Workers wait for the answer (its section 4).
"""

import math
from collections.abc import Mapping, Sequence
from typing import Final

from netcosim.policies.coordinator.barrier import Barrier
from netcosim.policies.coordinator.observed import Coordinator, UseOf
from netcosim.policies.coordinator.predictor import MakePredictor

PREDICTS, WAITED_FOR = True, True

LEAST = 1
"""Examples of a worker, so that its speed goes on being seen; the algorithm does not say."""


class LoadBalanced(Barrier):
    """Coordinator with a barrier and batches by Algorithm 1.

    Parameters
    ----------
    workers : number
    predictor : makes the predictor of each worker's speed

    Attributes
    ----------
    predicted : by step behind the first, speeds that were predicted, in examples/s
    """

    def __init__(self, workers: int, predictor: MakePredictor) -> None:
        super().__init__(self._next_batches)
        self._predictors = [predictor(worker) for worker in range(workers)]
        self.predicted: list[list[float]] = []

    def _next_batches(self, batches: list[int], taken_ns: list[float], use: UseOf) -> list[int]:
        speeds = []
        for worker, predictor in enumerate(self._predictors):
            predictor.observe(1e9 * batches[worker] / taken_ns[worker])
            speeds.append(predictor.predict(use(worker)))
        self.predicted.append(speeds)
        return in_proportion(speeds, sum(batches))


def in_proportion(speeds: Sequence[float], examples: int) -> list[int]:
    """Share examples in proportion to speeds, in whole numbers that sum up to all of them.

    Every worker has its whole part or `LEAST`; what is left goes to the largest remainders.
    """
    workers = len(speeds)
    if examples < LEAST * workers:
        raise ValueError(f"examples: {examples}: must be >= {LEAST * workers}")
    # A prediction may be negative: nothing holds it above zero.
    positive = [max(speed, 0.0) for speed in speeds]
    total = sum(positive)
    wanted = [examples * s / total if total > 0 else examples / workers for s in positive]
    parts = [max(LEAST, math.floor(each)) for each in wanted]
    over = sum(parts) - examples
    for worker in sorted(range(workers), key=lambda w: wanted[w] - parts[w], reverse=over < 0):
        if over == 0:
            break
        parts[worker] += 1 if over < 0 else -min(over, parts[worker] - LEAST)
        over = sum(parts) - examples
    return parts


OPTIONS: Final[Mapping[str, float]] = {}


def make(workers: int, options: Mapping[str, float], predictor: MakePredictor) -> Coordinator:
    """Make the coordinator of so many workers."""
    return LoadBalanced(workers, predictor)
