"""Steps in which everything overlaps, and workers that never wait but at a full port."""

from sim.analytic.one_worker import NS, OneWorker, check_workers


def predict(one: OneWorker, workers: int) -> float:
    """Steps per second, all workers together: no job can be faster."""
    check_workers(workers)
    return min(workers * NS / one.parallel_ns, one.ports_steps_per_s)
