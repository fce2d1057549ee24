"""Throughput without overlap within a step, bounded by the servers' ports alone."""

from sim.analytic.one_worker import NS, OneWorker, check_workers


def predict(one: OneWorker, workers: int) -> float:
    """Steps per second, all workers together."""
    check_workers(workers)
    return min(workers * NS / one.serial_ns, one.ports_steps_per_s)
