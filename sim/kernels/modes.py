"""What a worker is doing, and for how long: receiving, computing, sending, in any combination."""

from sim.kernels.layout import (
    COMPUTING,
    COUNT_FROM,
    RECEIVING,
    SENDING,
    Net,
    Run,
)


def turn(run: Run, net: Net, worker: int, mode: int) -> None:
    """The worker goes over to another mode; the time in the last one is booked."""
    now = run.clock[0]
    if now > run.mode_since[worker] and run.done[worker] >= net.flag[COUNT_FROM]:
        run.spent[worker, run.mode[worker]] += now - run.mode_since[worker]
    run.mode[worker] = mode
    run.mode_since[worker] = now


def begin_anew(run: Run, net: Net, worker: int) -> None:
    """A step begins: a connection that the last one ended on may still be in use."""
    mode = 0
    if run.downs[worker] > 0:
        mode |= RECEIVING
    if run.ups[worker] > 0:
        mode |= SENDING
    if run.computes[worker] > 0:
        mode |= COMPUTING
    turn(run, net, worker, mode)


def flow_began(run: Run, worker: int, down: bool, net: Net) -> None:
    """One more connection of the worker has something on a link."""
    if down:
        run.downs[worker] += 1
        if run.downs[worker] == 1:
            turn(run, net, worker, run.mode[worker] | RECEIVING)
    else:
        run.ups[worker] += 1
        if run.ups[worker] == 1:
            turn(run, net, worker, run.mode[worker] | SENDING)


def flow_ended(run: Run, worker: int, down: bool, net: Net) -> None:
    """One less."""
    if down:
        run.downs[worker] -= 1
        if run.downs[worker] == 0:
            turn(run, net, worker, run.mode[worker] & ~RECEIVING)
    else:
        run.ups[worker] -= 1
        if run.ups[worker] == 0:
            turn(run, net, worker, run.mode[worker] & ~SENDING)


def computing_began(run: Run, worker: int, net: Net) -> None:
    """One more computation runs at the worker."""
    run.computes[worker] += 1
    if run.computes[worker] == 1:
        turn(run, net, worker, run.mode[worker] | COMPUTING)


def computing_ended(run: Run, worker: int, net: Net) -> None:
    """One less."""
    run.computes[worker] -= 1
    if run.computes[worker] == 0:
        turn(run, net, worker, run.mode[worker] & ~COMPUTING)
