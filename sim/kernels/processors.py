"""Processors: computations wait first in, first out, and run at one of a processor's places."""

import math

from sim.kernels.arrays import (
    AT_SERVERS,
    AT_WORKERS,
    FREED,
    IN_PARTS,
    KEEP_ROWS,
    NONE,
    SHARED_PLACES,
    U_WORKER,
    Net,
    Run,
    Step,
    U,
)
from sim.kernels.bound import EXTENDED
from sim.kernels.modes import computing_began, computing_ended
from sim.kernels.tree import put


def place_leaf(step: Step, worker: int, place: int) -> int:
    """A place's index among the sources of events: those at workers before the uplinks."""
    at_worker = step.sizes[U_WORKER]
    if place < at_worker:
        return step.first_leaf[AT_WORKERS] + worker * at_worker + place
    servers = step.sizes[U] - at_worker
    return step.first_leaf[AT_SERVERS] + worker * servers + place - at_worker


def enter(step: Step, net: Net, run: Run, worker: int, op: int) -> None:
    """Run a ready computation if a place is free, else queue it."""
    processor = step.processor_of[op]
    first = step.first_place[processor]
    for place in range(first, first + step.places[processor]):
        if run.running[worker, place] == NONE:
            _begin(step, net, run, worker, place, op, False)
            return
    run.queue[worker, step.queue_start[processor] + run.tail[worker, processor]] = op
    run.tail[worker, processor] += 1


def end_computation(step: Step, net: Net, run: Run, worker: int, place: int) -> int:
    """End the computation at a place and begin the next in the queue; the operation that ended.

    Where none waits, the place stays a source of events until it is known that none comes either.
    """
    op = run.running[worker, place]
    run.running[worker, place] = NONE
    processor = step.place_of[place]
    if run.head[worker, processor] < run.tail[worker, processor]:
        following = run.queue[worker, step.queue_start[processor] + run.head[worker, processor]]
        run.head[worker, processor] += 1
        _begin(step, net, run, worker, place, following, True)
    else:
        run.scalar[FREED] = place_leaf(step, worker, place)
    return op


def forget_freed(step: Step, net: Net, run: Run) -> None:
    """Deactivate a place that was freed and is not in use again, as a source of events."""
    leaf = run.scalar[FREED]
    if leaf != NONE:
        run.scalar[FREED] = NONE
        put(run.key, run.tree, 0, len(run.key), leaf, math.inf)
        if EXTENDED and leaf >= step.first_leaf[SHARED_PLACES]:
            return
        if step.at_worker[step.place_of[step.what[leaf]]]:
            computing_ended(run, step.who[leaf], net)


def _begin(step: Step, net: Net, run: Run, worker: int, place: int, op: int, goes_on: bool) -> None:
    """Begin a computation at a place; `goes_on` if one has just ended there."""
    run.running[worker, place] = op
    if net.flag[KEEP_ROWS]:
        run.begun[worker, op] = run.clock[0]
    leaf = place_leaf(step, worker, place)
    if leaf == run.scalar[FREED]:
        run.scalar[FREED] = NONE
        goes_on = True
    at_worker = step.at_worker[step.place_of[place]]
    if at_worker and not goes_on:
        computing_began(run, worker, net)
    end = end_of_work(net, worker, run.clock[0], work_of(step, net, run, worker, op), at_worker)
    put(run.key, run.tree, 0, len(run.key), leaf, end)


def work_of(step: Step, net: Net, run: Run, worker: int, op: int) -> float:
    """Work of a computation that begins, in ns at full speed."""
    rest = run.rest[worker, op]
    if rest >= 0.0:
        run.rest[worker, op] = -1.0
        return rest
    recorded = run.rec[worker]
    if EXTENDED and net.flag[IN_PARTS]:
        recorded = run.part_rec[worker, step.part_of[op]]
    work = step.duration_ns[recorded, op]
    if step.at_worker[step.processor_of[op]]:
        varied = net.factor.shape[1] > 1
        return work * net.factor[worker, run.done[worker] if varied else 0]
    return work


def end_of_work(net: Net, worker: int, begin: float, work: float, at_worker: int) -> float:
    """End of work that begins now, at the speed that the worker will have."""
    first = net.speed_start[worker]
    last = net.speed_start[worker + 1]
    if first == last or not at_worker:
        return begin + work
    i = segment(net, first, last, begin)
    done = net.speed_work[i] + (begin - net.speed_time[i]) * speed_in(net, i)
    goal = done + work
    while i + 2 < last and net.speed_work[i + 1] < goal:
        i += 1
    begin_of_segment = net.speed_time[i]
    return max(begin, begin_of_segment + (goal - net.speed_work[i]) / speed_in(net, i))


def segment(net: Net, first: int, last: int, time: float) -> int:
    """The last breakpoint not after `time` that has one behind it."""
    low = first
    high = last - 2
    while low < high:
        middle = (low + high + 1) // 2
        if net.speed_time[middle] <= time:
            low = middle
        else:
            high = middle - 1
    return low


def speed_in(net: Net, i: int) -> float:
    """Work done a nanosecond behind breakpoint `i`; the last segment goes on for ever."""
    span = net.speed_time[i + 1] - net.speed_time[i]
    return (net.speed_work[i + 1] - net.speed_work[i]) / span
