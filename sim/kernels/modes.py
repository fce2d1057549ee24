"""Time of each worker by mode: receiving, computing, sending, in any combination."""

from sim.kernels.arrays import (
    COMPUTING,
    COUNT_FROM,
    RECEIVING,
    SENDING,
    Net,
    Run,
)


def switch_mode(run: Run, net: Net, worker: int, mode: int) -> None:
    """Switch a worker to another mode; the time in the last one is accumulated."""
    now = run.clock[0]
    if now > run.mode_since[worker] and run.done[worker] >= net.flag[COUNT_FROM]:
        run.spent[worker, run.mode[worker]] += now - run.mode_since[worker]
    run.mode[worker] = mode
    run.mode_since[worker] = now


def begin_anew(run: Run, net: Net, worker: int) -> None:
    """Set the mode at the start of a step; connections of the last one may still be in use."""
    mode = 0
    if run.downs[worker] > 0:
        mode |= RECEIVING
    if run.ups[worker] > 0:
        mode |= SENDING
    if run.computes[worker] > 0:
        mode |= COMPUTING
    switch_mode(run, net, worker, mode)


def flow_began(run: Run, worker: int, down: bool, net: Net) -> None:
    """Count one more connection of the worker that has a chunk on a link."""
    if down:
        run.downs[worker] += 1
        if run.downs[worker] == 1:
            switch_mode(run, net, worker, run.mode[worker] | RECEIVING)
    else:
        run.ups[worker] += 1
        if run.ups[worker] == 1:
            switch_mode(run, net, worker, run.mode[worker] | SENDING)


def flow_ended(run: Run, worker: int, down: bool, net: Net) -> None:
    """Count one connection less that has a chunk on a link."""
    if down:
        run.downs[worker] -= 1
        if run.downs[worker] == 0:
            switch_mode(run, net, worker, run.mode[worker] & ~RECEIVING)
    else:
        run.ups[worker] -= 1
        if run.ups[worker] == 0:
            switch_mode(run, net, worker, run.mode[worker] & ~SENDING)


def computing_began(run: Run, worker: int, net: Net) -> None:
    """Count one more computation that runs at the worker."""
    run.computes[worker] += 1
    if run.computes[worker] == 1:
        switch_mode(run, net, worker, run.mode[worker] | COMPUTING)


def computing_ended(run: Run, worker: int, net: Net) -> None:
    """Count one computation less that runs at the worker."""
    run.computes[worker] -= 1
    if run.computes[worker] == 0:
        switch_mode(run, net, worker, run.mode[worker] & ~COMPUTING)
