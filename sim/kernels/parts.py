"""Steps by the protocol of real jobs: each node has a part of a step, and goes on by its own state.

A worker requests its next step as soon as its own part is over: everything has arrived and was
computed, the last gradient is handed over. A server answers a worker's request when that worker's
last step is over at this server, and as its own counts of steps allow. Part 0 is the worker's, part
1 + k that of server k; a worker's part may be a step ahead of its parts at servers.
See `docs/background/training-jobs.md`; `netcosim.training.executor` does the same without links.
"""

import math

from sim.kernels.arrays import IN_PARTS, NONE, K, Net, Run, Step, W
from sim.kernels.bound import EXTENDED
from sim.kernels.joined_parts import has_newer
from sim.kernels.step_log import note_begin, note_end, request_leaf
from sim.kernels.tree import put


def begin_part(step: Step, run: Run, worker: int, part: int, recorded: int) -> None:
    """Set all that a part of a step waits for."""
    run.part_left[worker, part] = step.part_size[part]
    run.part_rec[worker, part] = recorded
    for i in range(step.reset_start[part], step.reset_start[part + 1]):
        op = step.reset_op[i]
        run.waits[worker, op] = step.waits[op]
    for p in range(len(step.processor_part)):
        if step.processor_part[p] == part:
            run.head[worker, p] = run.tail[worker, p] = 0


def begin_own(step: Step, net: Net, run: Run, worker: int) -> int:
    """Begin a worker's own part of its next step, and send its request; the recorded step."""
    recorded = note_begin(net, run, worker)
    begin_part(step, run, worker, 0, recorded)
    arrival = run.clock[0] + net.delay_ns[worker]
    put(run.key, run.tree, 0, len(run.key), request_leaf(step, worker), arrival)
    return recorded


def request_arrives(step: Step, run: Run, worker: int) -> None:
    """Note that a worker's request has arrived at all servers."""
    put(run.key, run.tree, 0, len(run.key), request_leaf(step, worker), math.inf)
    run.asked[worker] += 1
    run.asked_ns[worker] = run.clock[0]


def may_answer(net: Net, run: Run, worker: int, part: int, slowest: int) -> bool:
    """True if a server may answer a worker whose request it has."""
    done = run.part_step[worker, part]
    return (
        run.part_left[worker, part] == 0
        and run.asked[worker] > done
        and done - slowest <= net.staleness[0]
        and has_newer(net, run, worker, part)
    )


def slowest_at(step: Step, run: Run, part: int) -> int:
    """Steps that the slowest worker has over at a server."""
    least = run.part_step[0, part]
    for worker in range(1, step.sizes[W]):
        least = min(least, run.part_step[worker, part])
    return least


def part_is_over(run: Run, worker: int, part: int) -> bool:
    """Count one thing of a part that is over; true if it was the last."""
    run.part_left[worker, part] -= 1
    return run.part_left[worker, part] == 0


def end_own(run: Run, worker: int) -> None:
    """Record the end of a worker's own part of its step."""
    note_end(run, worker)
    run.done[worker] += 1


def step_of(step: Step, net: Net, run: Run, worker: int, op: int) -> int:
    """Number of the step that an operation of a worker is in the midst of."""
    if EXTENDED and net.flag[IN_PARTS] and step.part_of[op] > 0:
        return run.part_step[worker, step.part_of[op]]
    return run.done[worker]


def is_pull(step: Step, op: int) -> bool:
    """True if the operation is a transfer to the worker."""
    return step.slot[op] != NONE and step.link_of[step.place[op]] < step.sizes[K]
