"""Queueing network of Lin et al. (MASCOTS 2018), demands from sizes and recorded computations.

Each direction of a server's port is shared by those who use it; computing is a delay. A step
visits them one after the other, so nothing overlaps within a step.
"""

from sim.analytic.cycle import steps_per_s
from sim.analytic.one_worker import OneWorker, Phases


def predict(one: OneWorker, workers: int) -> float:
    """Steps per second, all workers together."""
    demands = Phases(
        down_ns=one.down_ns,
        worker_ns=one.worker_ns,
        up_ns=one.up_ns,
        server_ns=one.server_ns,
    )
    return steps_per_s(demands, workers)
