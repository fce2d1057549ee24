"""Pushes of the fast path: the time of hand-over, and the update after the end."""

from sim.fast.arrays import FastRun, Shape
from sim.kernels.arrays import NONE, Net


def handed_over(shape: Shape, net: Net, run: FastRun, worker: int, up: int) -> float:
    """Time at which a push of the worker's present step is handed over."""
    varied = net.factor.shape[1] > 1
    factor = net.factor[worker, run.done[worker] if varied else 0]
    return run.forward_end[worker] + shape.offset_ns[run.rec[worker], up] * factor


def handed_over_by(
    shape: Shape, net: Net, run: FastRun, worker: int, up: int, until: int, time: float
) -> int:
    """First push from `up` on that is handed over after `time`; `until` if there is none before."""
    while up < until and handed_over(shape, net, run, worker, up) <= time:
        up += 1
    return up


def together(shape: Shape, up: int, until: int) -> int:
    """First push before `until` that is not handed over at once with this one, else `until`."""
    first = up
    while up < until and shape.up_released[up] == shape.up_released[first]:
        up += 1
    return up


def update(shape: Shape, run: FastRun, worker: int, up: int, time: float) -> None:
    """Run the update of a push that has ended, after those before it on its processor."""
    q = shape.update[up]
    if q == NONE:
        return
    begin = max(run.free_at[worker, q], time)
    run.free_at[worker, q] = begin + shape.update_ns[run.rec[worker], up]
    run.last[worker] = max(run.last[worker], run.free_at[worker, q])
