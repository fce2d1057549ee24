"""LB-BSP for processors: batches in proportion to the speeds that are predicted of the workers.

Source: Chen, Weng, Wang, Li and Li, "Semi-dynamic load balancing: efficient distributed learning in
non-dedicated environments" (SoCC 2020), Algorithm 1. Workers wait for the answer (its section 4).
Every worker has one example at least, so that its speed goes on being seen; the algorithm does not
say.
"""

import math
from collections.abc import Mapping, Sequence
from typing import Final

from netcosim.policies.coordinator.barrier import ANY, Barrier
from netcosim.policies.coordinator.observed import Coordinator, Limits, UseOf
from netcosim.policies.coordinator.option import Options
from netcosim.policies.coordinator.predictor import MakePredictor

PREDICTS, WAITED_FOR, MOVES_BATCHES = True, True, True


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
        return in_proportion(speeds, sum(batches), self.limits)


def in_proportion(
    speeds: Sequence[float], examples: int, limits: Sequence[Limits] = ()
) -> list[int]:
    """Share examples in proportion to speeds, in whole numbers that sum up to all of them.

    Who would have less or more than its limits has those, and the others share the rest; of what is
    left of their whole parts the largest remainders get one each.

    Raises
    ------
    ValueError
        The workers' limits don't let them have so many.
    """
    limits = limits or [ANY] * len(speeds)
    if not sum(each.least for each in limits) <= examples <= sum(each.most for each in limits):
        allowed = f"{sum(each.least for each in limits)} to {sum(each.most for each in limits)}"
        raise ValueError(f"examples: {examples}: must be {allowed}")
    wanted = _within(speeds, examples, limits)
    parts = [math.floor(each) for each in wanted]
    by_remainder = sorted(range(len(parts)), key=lambda w: parts[w] - wanted[w])
    for worker in by_remainder[: examples - sum(parts)]:
        parts[worker] += 1
    return parts


def _within(speeds: Sequence[float], examples: int, limits: Sequence[Limits]) -> list[float]:
    """Parts in proportion, but for those of workers that are at one of their limits."""
    # A prediction may be negative: nothing holds it above zero.
    positive = [max(speed, 0.0) for speed in speeds]
    parts: list[float] = [0.0] * len(speeds)
    free, rest = set(range(len(speeds))), float(examples)
    while free:
        total = sum(positive[w] for w in free)
        for w in free:
            parts[w] = rest * positive[w] / total if total > 0 else rest / len(free)
        low = {w for w in free if parts[w] < limits[w].least}
        high = {w for w in free if parts[w] > limits[w].most}
        if not low and not high:
            break
        missing = sum(limits[w].least - parts[w] for w in low)
        over = sum(parts[w] - limits[w].most for w in high)
        # Those that are farther off together stay at their limit whatever the others get.
        fixed = low if missing >= over else high
        for w in fixed:
            parts[w] = float(limits[w].least if fixed is low else limits[w].most)
        rest -= sum(parts[w] for w in fixed)
        free -= fixed
    return parts


LEAD: Final = 0
OPTIONS: Final[Options] = {}


def make(workers: int, options: Mapping[str, float], predictor: MakePredictor) -> Coordinator:
    """Make the coordinator of so many workers."""
    return LoadBalanced(workers, predictor)
