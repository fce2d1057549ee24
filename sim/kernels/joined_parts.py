"""Joined gradients where each server goes on by its own state: it counts and updates by itself.

A worker's gradients are of the version of the parameters that the server answered it with; those of
an older one come too late. `netcosim.training.executor.joined` does the same without links.
"""

from sim.kernels.arrays import (
    COUNTED_WORKERS,
    HANDED_STEPS,
    JOIN,
    KEEP_ROWS,
    MADE_STEPS,
    NEEDED,
    NO_JOIN,
    UPDATES_LEFT,
    Net,
    Run,
    Step,
    W,
)
from sim.kernels.join import note_update_row
from sim.kernels.shared_processors import enter_shared


def is_joined(step: Step, net: Net, op: int) -> bool:
    """True for an update that is done once for all workers."""
    return net.flag[JOIN] != NO_JOIN and step.once[op] == 1


def has_newer(net: Net, run: Run, worker: int, part: int) -> bool:
    """True if a server has newer parameters than a worker, and updates are still to come."""
    if net.flag[JOIN] == NO_JOIN:
        return True
    made = run.joined[part, MADE_STEPS]
    return made > run.part_version[worker, part] and made < run.limit[worker]


def note_version(run: Run, worker: int, part: int) -> None:
    """Note the version of the parameters that a server answers a worker with."""
    run.part_version[worker, part] = run.joined[part, MADE_STEPS]


def all_gradients_arrive(step: Step, net: Net, run: Run, worker: int, part: int) -> None:
    """Count a worker whose gradients of a step are all at a server; update if they are enough."""
    if net.flag[JOIN] == NO_JOIN:
        return
    if run.part_version[worker, part] != run.joined[part, HANDED_STEPS]:
        return
    run.joined[part, COUNTED_WORKERS] += 1
    if run.joined[part, COUNTED_WORKERS] < run.scalar[NEEDED]:
        return
    run.joined[part, COUNTED_WORKERS] = 0
    run.joined[part, HANDED_STEPS] += 1
    for i in range(len(step.update)):
        run.joined[part, UPDATES_LEFT] += step.part_of[step.update[i]] == part
    if run.joined[part, UPDATES_LEFT] == 0:
        run.joined[part, MADE_STEPS] += 1
    for i in range(len(step.update)):
        if step.part_of[step.update[i]] == part:
            _hand_over(step, net, run, step.update[i], run.part_rec[worker, part])


def _hand_over(step: Step, net: Net, run: Run, update: int, recorded: int) -> None:
    run.last_counted[update] = recorded
    if net.flag[KEEP_ROWS]:
        run.ready[step.sizes[W], update] = run.clock[0]
    enter_shared(step, net, run, step.sizes[W], update)


def end_joined(step: Step, net: Net, run: Run, update: int) -> bool:
    """End an update; true if it was its server's last one of a step."""
    part = step.part_of[update]
    if net.flag[KEEP_ROWS]:
        note_update_row(step, run, update, run.joined[part, MADE_STEPS])
    run.joined[part, UPDATES_LEFT] -= 1
    if run.joined[part, UPDATES_LEFT] > 0:
        return False
    run.joined[part, MADE_STEPS] += 1
    return True
