"""Forward pass of a worker: it affects no other, so its end is computed after the last pull."""

from sim.fast.layout import F, K, Race, Shape
from sim.kernels.layout import NONE


def last_forward(shape: Shape, race: Race, worker: int, factor: float) -> float:
    """End of the worker's last forward operation; all of its pulls have ended."""
    if shape.chain[0]:
        return along_chain(shape, race, worker, factor)
    return pull_by_pull(shape, race, worker, factor)


def along_chain(shape: Shape, race: Race, worker: int, factor: float) -> float:
    """End of a forward pass in which each operation waits for the one before it, and for pulls."""
    recorded = race.rec[worker]
    time = race.started[worker]
    for i in range(shape.sizes[F]):
        for j in range(shape.need_start[i], shape.need_start[i + 1]):
            time = max(time, race.arrival[worker, shape.need[j]])
        time += shape.forward_ns[recorded, i] * factor
    return time


def pull_by_pull(shape: Shape, race: Race, worker: int, factor: float) -> float:
    """End of any forward pass: after each pull, run all that can run before the next one.

    The generic engine may begin some of that behind the next pull, and in another order; but one
    processor that rests only when nothing can run has done all of it at the same time.
    """
    time = race.started[worker]
    for i in range(shape.sizes[F]):
        race.unmet[i] = shape.waits[i]
    for server in range(shape.sizes[K]):
        race.taken[server] = shape.down_start[server]
    for i in range(len(shape.first)):
        race.ring[i] = shape.first[i]
    time = run_all(shape, race, worker, len(shape.first), time, factor)
    server = next_to_end(shape, race, worker)
    while server != NONE:
        pull = race.order[worker, race.taken[server]]
        race.taken[server] += 1
        tail = 0
        for e in range(shape.held_start[pull], shape.held_start[pull + 1]):
            tail = decrement_dependencies(race, shape.held[e], tail)
        time = max(time, race.arrival[worker, pull])
        time = run_all(shape, race, worker, tail, time, factor)
        server = next_to_end(shape, race, worker)
    return time


def next_to_end(shape: Shape, race: Race, worker: int) -> int:
    """Server whose next pull is the first to end; NONE if all have ended."""
    found = NONE
    for server in range(shape.sizes[K]):
        if race.taken[server] < shape.down_start[server + 1] and (
            found == NONE or end_of_next(race, worker, server) < end_of_next(race, worker, found)
        ):
            found = server
    return found


def end_of_next(race: Race, worker: int, server: int) -> float:
    """End of the server's next pull."""
    return race.arrival[worker, race.order[worker, race.taken[server]]]


def run_all(shape: Shape, race: Race, worker: int, tail: int, time: float, factor: float) -> float:
    """Run what is queued and all that becomes ready meanwhile; return the end."""
    recorded = race.rec[worker]
    head = 0
    while head < tail:
        op = race.ring[head]
        head += 1
        time += shape.forward_ns[recorded, op] * factor
        for e in range(shape.next_start[op], shape.next_start[op + 1]):
            tail = decrement_dependencies(race, shape.next_op[e], tail)
    return time


def decrement_dependencies(race: Race, op: int, tail: int) -> int:
    """Count one dependency of an operation as met, queue it if none is left; the new tail."""
    race.unmet[op] -= 1
    if race.unmet[op] == 0:
        race.ring[tail] = op
        tail += 1
    return tail
