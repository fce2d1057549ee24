"""Gradients of all workers, joined by step: their updates, done once for all.

The arithmetic is that of `sim.kernels.join` and `sim.kernels.shared_processors` where every worker
counts: nothing else runs on the processors of these updates, so that their ends are known as soon
as the last gradient has arrived.
"""

import math

from sim.fast.arrays import FastRun, Shape
from sim.fast.sources import join_leaf, schedule
from sim.kernels.arrays import COMPLETE, COUNTED


def joins(shape: Shape) -> bool:
    """True if servers join gradients."""
    return len(shape.joint) > 0


def gradients_known(shape: Shape, run: FastRun, worker: int) -> None:
    """Count a worker whose last gradient's arrival is known; behind the last, schedule the end."""
    last = run.last[worker]
    if run.scalar[COUNTED] == 0 or last >= run.gathered[0]:
        run.gathered[0] = last
        run.gathered_rec[0] = run.rec[worker]
    run.scalar[COUNTED] += 1
    if run.scalar[COUNTED] == len(run.done):
        run.scalar[COUNTED] = 0
        schedule(run, join_leaf(shape), end_of_updates(shape, run))


def end_of_updates(shape: Shape, run: FastRun) -> float:
    """End of the last of a step's updates, which are handed over at once: first in, first out."""
    begin, recorded = run.gathered[0], run.gathered_rec[0]
    for place in range(len(run.place_free)):
        run.place_free[place] = begin
    end = begin
    for i in range(len(shape.joint)):
        processor = shape.joint[i]
        place = shape.joint_first[processor]
        for other in range(place + 1, shape.joint_first[processor + 1]):
            if run.place_free[other] < run.place_free[place]:
                place = other
        run.place_free[place] += shape.joint_ns[recorded, i]
        end = max(end, run.place_free[place])
    return end


def end_join(shape: Shape, run: FastRun) -> None:
    """Note that a step's updates are done."""
    schedule(run, join_leaf(shape), math.inf)
    run.scalar[COMPLETE] += 1


def is_held(shape: Shape, run: FastRun, worker: int) -> bool:
    """True if a worker's next step waits for the updates of the step before."""
    return joins(shape) and run.done[worker] > run.scalar[COMPLETE]
