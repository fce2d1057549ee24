"""Cynthia's formula (Zheng et al., ICPP 2019), as printed in Li et al. (ICPE 2020, section 1)."""

import math

from sim.analytic.one_worker import NS, OneWorker, check_workers


def predict(one: OneWorker, workers: int) -> float:
    """Steps per second, all workers together."""
    return steps_per_s(one, workers, transmission_ns(one))


def transmission_ns(one: OneWorker) -> float:
    """Tc: time to move the model once, the mean of down and up, at the busiest server's port."""
    return max(d + u for d, u in zip(one.down_ns, one.up_ns, strict=True)) / 2


def utilisation(one: OneWorker, tc_ns: float) -> float:
    """U1: share of one worker's step in which the network is used, 2 Tc out of the step.

    The step is ``one_worker_step_ns``, or Tp + 2 Tc where that is not known. Where both
    directions overlap, 2 Tc can be more than a measured step; the share then is 1.
    """
    step_ns = one.one_worker_step_ns or one.worker_ns + 2 * tc_ns
    return min(1.0, 2 * tc_ns / step_ns) if step_ns > 0 else 0.0


def steps_per_s(one: OneWorker, workers: int, tc_ns: float) -> float:
    """W / (Tp max(1, W U1) + 2 Tc) with this Tc; Tp is all that the worker computes.

    Infinite where only servers take time: the formula leaves them out.

    Raises
    ------
    ScenarioError
        Fewer workers than one.
    """
    check_workers(workers)
    slowed = max(1.0, workers * utilisation(one, tc_ns))
    step_ns = one.worker_ns * slowed + 2 * tc_ns
    return workers * NS / step_ns if step_ns > 0 else math.inf
