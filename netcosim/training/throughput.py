"""Throughput of a run: how many workers' steps entered an update, over time.

Where each worker's gradients are updates of their own, or those of all are joined, each step of
each worker counts. Where an update counts some of them only, an update is so many steps, whoever
made them: what comes too late counts for nothing (Chen et al., arXiv 1604.00981).
"""

import numpy as np

from netcosim.training.executor.joined import is_joined
from netcosim.training.job import TrainingJob
from netcosim.training.plan import Floats, Ints


def steps_per_s(
    job: TrainingJob, ends_ns: Floats, warmup: int, parts: Floats | None = None
) -> float:
    """Steps a second behind the warm-up.

    Parameters
    ----------
    ends_ns : (rows, steps + 1) begin of the first step, then the end of each; a row a worker, or
        one of the updates, where these count some workers only
    warmup : first steps that do not count
    parts : (workers, steps) of a whole step, by each step's batch; None: all are whole. Then
        `ends_ns` are begins of steps but for the last, whose step does not count
    """
    counted = ends_ns[:, warmup:]
    if parts is not None and counted.shape[1] > 2:
        # From begin to begin: what is between a step's end and the next one's is the coordinator's.
        spans_ns = counted[:, -2] - counted[:, 0]
        return float((1e9 * parts[:, warmup:-1].sum(axis=1) / spans_ns).sum())
    rows_per_s = float((1e9 * (counted.shape[1] - 1) / (counted[:, -1] - counted[:, 0])).sum())
    return rows_per_s * job.join.first if job.join is not None and job.counts_some else rows_per_s


def ends_of_updates(job: TrainingJob, step: Ints, operation: Ints, end_ns: Floats) -> Floats:
    """(1, steps + 1) begin of a run, and when the last update of each step had ended; nan: never.

    Parameters
    ----------
    step, operation, end_ns : (rows,) of operations, updates that are done once for all among them
    """
    joined = [op for op in range(job.plan.operations) if is_joined(job.plan, op)]
    ends_ns = np.full((len(joined), job.steps + 1), np.nan)
    ends_ns[:, 0] = 0.0
    for row, op in enumerate(joined):
        mine = operation == op
        ends_ns[row, step[mine] + 1] = end_ns[mine]
    last_ns: Floats = ends_ns.max(axis=0, keepdims=True)
    return last_ns
