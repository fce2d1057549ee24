"""Forward pass of a worker: it affects no other, so its end is computed after the last pull."""

from sim.fast.arrays import F, FastRun, K, Shape
from sim.kernels.arrays import NONE


def last_forward(shape: Shape, run: FastRun, worker: int, factor: float) -> float:
    """End of the worker's last forward operation; all of its pulls have ended."""
    if shape.chain[0]:
        return along_chain(shape, run, worker, factor)
    return pull_by_pull(shape, run, worker, factor)


def along_chain(shape: Shape, run: FastRun, worker: int, factor: float) -> float:
    """End of a forward pass in which each operation waits for the one before it, and for pulls."""
    recorded = run.rec[worker]
    time = run.started[worker]
    for i in range(shape.sizes[F]):
        for j in range(shape.need_start[i], shape.need_start[i + 1]):
            time = max(time, run.arrival[worker, shape.need[j]])
        time += shape.forward_ns[recorded, i] * factor
    return time


def pull_by_pull(shape: Shape, run: FastRun, worker: int, factor: float) -> float:
    """End of any forward pass: after each pull, run all that can run before the next one.

    The generic engine may begin some of that behind the next pull, and in another order; but one
    processor that rests only when nothing can run has done all of it at the same time.
    """
    time = run.started[worker]
    for i in range(shape.sizes[F]):
        run.unmet[i] = shape.waits[i]
    for server in range(shape.sizes[K]):
        run.taken[server] = shape.down_start[server]
    for i in range(len(shape.first)):
        run.queue[i] = shape.first[i]
    time = run_all(shape, run, worker, len(shape.first), time, factor)
    server = next_to_end(shape, run, worker)
    while server != NONE:
        pull = run.order[worker, run.taken[server]]
        run.taken[server] += 1
        tail = 0
        for e in range(shape.held_start[pull], shape.held_start[pull + 1]):
            tail = decrement_dependencies(run, shape.held[e], tail)
        time = max(time, run.arrival[worker, pull])
        time = run_all(shape, run, worker, tail, time, factor)
        server = next_to_end(shape, run, worker)
    return time


def next_to_end(shape: Shape, run: FastRun, worker: int) -> int:
    """Server whose next pull is the first to end; NONE if all have ended."""
    found = NONE
    for server in range(shape.sizes[K]):
        if run.taken[server] < shape.down_start[server + 1] and (
            found == NONE or end_of_next(run, worker, server) < end_of_next(run, worker, found)
        ):
            found = server
    return found


def end_of_next(run: FastRun, worker: int, server: int) -> float:
    """End of the server's next pull."""
    return run.arrival[worker, run.order[worker, run.taken[server]]]


def run_all(
    shape: Shape, run: FastRun, worker: int, tail: int, time: float, factor: float
) -> float:
    """Run what is queued and all that becomes ready meanwhile; return the end."""
    recorded = run.rec[worker]
    head = 0
    while head < tail:
        op = run.queue[head]
        head += 1
        time += shape.forward_ns[recorded, op] * factor
        for e in range(shape.next_start[op], shape.next_start[op + 1]):
            tail = decrement_dependencies(run, shape.next_op[e], tail)
    return time


def decrement_dependencies(run: FastRun, op: int, tail: int) -> int:
    """Count one dependency of an operation as met, queue it if none is left; the new tail."""
    run.unmet[op] -= 1
    if run.unmet[op] == 0:
        run.queue[tail] = op
        tail += 1
    return tail
