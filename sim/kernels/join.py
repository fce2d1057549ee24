"""Gradients that servers join: who counts, when an update is made, who may go on with its result.

An update is done once for all workers, as soon as the gradients of so many have arrived that the
rule asks for. Gradients that come later are ignored. See `docs/background/simulator.md`.
"""

from sim.kernels.arrays import (
    AT_COMPLETE,
    BUSY,
    BY_STEP,
    COMPLETE,
    COUNTED,
    HANDED_OVER,
    JOIN,
    KEEP_ROWS,
    NEEDED,
    ROWS,
    Net,
    Run,
    Step,
    W,
)
from sim.kernels.shared_processors import enter_shared


def gradient_arrives(step: Step, net: Net, run: Run, worker: int, update: int) -> bool:
    """Count a worker's gradients for an update; true if its result is there already."""
    t = run.done[worker]
    run.sent_step[worker, update] = t
    if net.flag[JOIN] == BY_STEP:
        run.sent[worker] += 1
        if run.sent[worker] == len(step.update):
            _count_step(step, net, run, worker, t)
        return run.scalar[COMPLETE] > t
    if run.counted_step[worker, update] == t:  # and then the worker left, and came back
        run.counted_for[worker] += 1
    elif t == run.handed_over[update]:
        run.counted_step[worker, update] = t
        run.counted[update] += 1
        run.counted_for[worker] += 1
        run.last_counted[update] = run.rec[worker]
        make_if_due(step, net, run, update)
    return run.made[update] > t


def make_if_due(step: Step, net: Net, run: Run, update: int) -> None:
    """Hand an update over if gradients of enough workers were counted."""
    if run.counted[update] > 0 and run.counted[update] >= run.scalar[NEEDED]:
        _make(step, net, run, update)


def make_step_if_due(step: Step, net: Net, run: Run) -> None:
    """Hand all updates over if enough workers were counted, where they are joined by step."""
    if run.scalar[COUNTED] == 0 or run.scalar[COUNTED] < run.scalar[NEEDED]:
        return
    run.scalar[COUNTED] = 0
    run.scalar[HANDED_OVER] += 1
    for i in range(len(step.update)):
        _make(step, net, run, step.update[i])


def _count_step(step: Step, net: Net, run: Run, worker: int, t: int) -> None:
    """All gradients of a worker's step are there."""
    again = run.counted_step[worker, step.update[0]] == t
    if again or t == run.scalar[HANDED_OVER]:
        run.counted_for[worker] = len(step.update)
    if again or t != run.scalar[HANDED_OVER]:
        return
    run.counted_step[worker, step.update[0]] = t
    run.scalar[COUNTED] += 1
    for i in range(len(step.update)):
        run.last_counted[step.update[i]] = run.rec[worker]
    make_step_if_due(step, net, run)


def _make(step: Step, net: Net, run: Run, update: int) -> None:
    run.counted[update] = 0
    run.handed_over[update] += 1
    if net.flag[KEEP_ROWS]:
        run.ready[step.sizes[W], update] = run.clock[0]
    enter_shared(step, net, run, step.sizes[W], update)


def note_update_row(step: Step, run: Run, update: int, number: int) -> None:
    """Keep the row of an update that has ended, of the step of this number."""
    i = run.scalar[ROWS]
    run.row[i, 0] = step.sizes[W]
    run.row[i, 1] = number
    run.row[i, 2] = update
    run.row_time[i, 0] = run.ready[step.sizes[W], update]
    run.row_time[i, 1] = run.begun[step.sizes[W], update]
    run.row_time[i, 2] = run.clock[0]
    run.scalar[ROWS] = i + 1


def note_made(step: Step, net: Net, run: Run, update: int) -> bool:
    """Note that an update has ended; true if it was the last one of its step."""
    if net.flag[KEEP_ROWS]:
        note_update_row(step, run, update, run.made[update])
    run.made[update] += 1
    if run.made[update] != run.scalar[COMPLETE] + 1:
        return False
    run.scalar[AT_COMPLETE] -= 1
    if run.scalar[AT_COMPLETE] > 0:
        return False
    run.scalar[COMPLETE] += 1
    for i in range(len(step.update)):
        if run.made[step.update[i]] == run.scalar[COMPLETE]:
            run.scalar[AT_COMPLETE] += 1
    return True


def has_sent(run: Run, worker: int, update: int) -> bool:
    """True if a worker that is in a step has sent this step's gradients for an update."""
    return run.presence[worker] == BUSY and run.sent_step[worker, update] == run.done[worker]


def pull_is_held(step: Step, net: Net, run: Run, worker: int, op: int) -> bool:
    """True if a pull at the begin of a worker's step has nothing to pull yet."""
    update = step.pulled_after[op]
    if update < 0 or net.flag[JOIN] == BY_STEP:
        return False
    return run.made[update] < run.done[worker]
