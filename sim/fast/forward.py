"""The forward pass: nobody else learns of it, so it is worked out when all has been pulled."""

from sim.engine.layout import NONE
from sim.fast.layout import F, K, Race, Shape


def last_forward(shape: Shape, race: Race, worker: int, factor: float) -> float:
    """When the worker's last forward operation ends; all of its pulls have ended."""
    if shape.chain[0]:
        return along_chain(shape, race, worker, factor)
    return in_order_of_readiness(shape, race, worker, factor)


def along_chain(shape: Shape, race: Race, worker: int, factor: float) -> float:
    """Each operation waits for the one before it, and for pulls."""
    recorded = race.rec[worker]
    time = race.started[worker]
    for i in range(shape.sizes[F]):
        for j in range(shape.need_start[i], shape.need_start[i + 1]):
            time = max(time, race.arrival[worker, shape.need[j]])
        time += shape.forward_ns[recorded, i] * factor
    return time


def in_order_of_readiness(shape: Shape, race: Race, worker: int, factor: float) -> float:
    """Operations wait for the processor first in, first out; at one time pulls go first."""
    recorded = race.rec[worker]
    head = 0
    tail = begin(shape, race)
    time = race.started[worker]
    while True:
        if head == tail:
            server = next_to_end(shape, race, worker)
            time = max(time, end_of_next(race, worker, server))
            tail = end_next(shape, race, worker, server, tail)
            continue
        op = race.ring[head]
        head += 1
        time += shape.forward_ns[recorded, op] * factor
        server = next_to_end(shape, race, worker)
        while server != NONE and end_of_next(race, worker, server) <= time:
            tail = end_next(shape, race, worker, server, tail)
            server = next_to_end(shape, race, worker)
        if op == shape.sizes[F] - 1:
            return time
        for e in range(shape.next_start[op], shape.next_start[op + 1]):
            tail = one_less(race, shape.next_op[e], tail)


def begin(shape: Shape, race: Race) -> int:
    """Before the pass: what waits for nothing is queued; how many those are."""
    for i in range(shape.sizes[F]):
        race.unmet[i] = shape.waits[i]
    for server in range(shape.sizes[K]):
        race.taken[server] = shape.down_start[server]
    for i in range(len(shape.first)):
        race.ring[i] = shape.first[i]
    return len(shape.first)


def next_to_end(shape: Shape, race: Race, worker: int) -> int:
    """The server whose next pull is the first to end; NONE if all have."""
    found = NONE
    for server in range(shape.sizes[K]):
        if race.taken[server] < shape.down_start[server + 1] and (
            found == NONE or end_of_next(race, worker, server) < end_of_next(race, worker, found)
        ):
            found = server
    return found


def end_of_next(race: Race, worker: int, server: int) -> float:
    """When the server's next pull ends."""
    return race.arrival[worker, race.order[worker, race.taken[server]]]


def end_next(shape: Shape, race: Race, worker: int, server: int, tail: int) -> int:
    """The server's next pull has ended: the queue's new tail."""
    pull = race.order[worker, race.taken[server]]
    race.taken[server] += 1
    for e in range(shape.held_start[pull], shape.held_start[pull + 1]):
        tail = one_less(race, shape.held[e], tail)
    return tail


def one_less(race: Race, op: int, tail: int) -> int:
    """An operation waits for one thing less: the queue's new tail."""
    race.unmet[op] -= 1
    if race.unmet[op] == 0:
        race.ring[tail] = op
        tail += 1
    return tail
