"""Processors that all workers share, at a server: one queue, first in, first out, for everybody.

Who queues is an owner: a worker by its number, or, behind all workers, the job itself with the
updates that are done once for all.
"""

import math

from sim.kernels.arrays import (
    FREED,
    IN_PARTS,
    KEEP_ROWS,
    NONE,
    SHARED_PLACES,
    N,
    Net,
    Run,
    Step,
    W,
)
from sim.kernels.tree import put


def shared_leaf(step: Step, place: int) -> int:
    """Index of a shared processor's place among the sources of events."""
    return step.first_leaf[SHARED_PLACES] + place


def enter_shared(step: Step, net: Net, run: Run, owner: int, op: int) -> None:
    """Run a ready computation if a place is free, else queue it behind everybody's."""
    processor = step.shared_of[step.processor_of[op]]
    for place in range(step.shared_first[processor], step.shared_first[processor + 1]):
        if run.shared_running[place] == NONE:
            run.idle_to[processor] = min(run.idle_to[processor], run.clock[0])
            _begin(step, net, run, owner, place, op)
            return
    first = step.shared_queue[processor]
    room = step.shared_queue[processor + 1] - first
    at = (run.shared_head[processor] + run.shared_count[processor]) % room
    run.shared_line[first + at] = owner * step.sizes[N] + op
    run.shared_count[processor] += 1


def end_shared(step: Step, net: Net, run: Run, place: int) -> tuple[int, int]:
    """End the computation at a place and begin the next in the queue; owner and operation ended."""
    ended = run.shared_running[place]
    run.shared_running[place] = NONE
    processor = step.shared_processor[place]
    if run.shared_count[processor] > 0:
        first = step.shared_queue[processor]
        room = step.shared_queue[processor + 1] - first
        following = run.shared_line[first + run.shared_head[processor]]
        run.shared_head[processor] = (run.shared_head[processor] + 1) % room
        run.shared_count[processor] -= 1
        owner = following // step.sizes[N]
        _begin(step, net, run, owner, place, following - owner * step.sizes[N])
    else:
        run.scalar[FREED] = shared_leaf(step, place)
        run.idle_from[processor] = run.clock[0]
        run.idle_to[processor] = math.inf
    owner = ended // step.sizes[N]
    return owner, ended - owner * step.sizes[N]


def done_ahead(run: Run, processor: int, since: float, most: float) -> float:
    """Time, up to `most`, that a processor of one place had for nothing else since; it is used."""
    begin = max(run.idle_from[processor], since)
    done = min(most, max(0.0, min(run.idle_to[processor], run.clock[0]) - begin))
    if done > 0.0:
        run.idle_from[processor] = begin + done
    return done


def _begin(step: Step, net: Net, run: Run, owner: int, place: int, op: int) -> None:
    run.shared_running[place] = owner * step.sizes[N] + op
    if net.flag[KEEP_ROWS]:
        run.begun[owner, op] = run.clock[0]
    leaf = shared_leaf(step, place)
    if leaf == run.scalar[FREED]:
        run.scalar[FREED] = NONE
    end = run.clock[0] + _duration(step, net, run, owner, op)
    put(run.key, run.tree, 0, len(run.key), leaf, end)


def _duration(step: Step, net: Net, run: Run, owner: int, op: int) -> float:
    """As recorded: of the owner's step, or of the worker's that was counted last for an update."""
    if owner == step.sizes[W]:
        return step.duration_ns[run.last_counted[op], op]
    rest = run.rest[owner, op]
    if rest >= 0.0:
        run.rest[owner, op] = -1.0
        return rest
    if net.flag[IN_PARTS]:
        return step.duration_ns[run.part_rec[owner, step.part_of[op]], op]
    return step.duration_ns[run.rec[owner], op]
