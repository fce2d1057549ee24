"""Begin and end of a worker's step: its request on the way, and the row that is kept of it."""

from sim.kernels.arrays import BUSY, ENDED, REQUESTS, STEPS, Net, Run, Step
from sim.kernels.modes import begin_anew


def request_leaf(step: Step, worker: int) -> int:
    """Index of the arrival of a worker's requests among the sources of events."""
    return step.first_leaf[REQUESTS] + worker


def note_begin(net: Net, run: Run, worker: int) -> int:
    """Note that a worker's next step begins; the recorded step that it repeats."""
    recorded = net.draw[worker, run.done[worker]]
    begin_anew(run, net, worker)
    run.presence[worker] = BUSY
    run.started[worker] = run.clock[0]
    run.rec[worker] = recorded
    return recorded


def note_end(run: Run, worker: int) -> None:
    """Keep the row of a step that has ended."""
    i = run.scalar[STEPS]
    run.step_row[i, 0] = worker
    run.step_row[i, 1] = run.done[worker]
    run.step_time[i, 0] = run.started[worker]
    run.step_time[i, 1] = run.clock[0]
    run.scalar[STEPS] = i + 1
    run.scalar[ENDED] = worker
