"""Completion times within a connection's busy period, computed when it is over.

Its length depends on its bytes alone, as no discipline rests while it has bytes and credit. Which
bytes went when follows from the discipline's rule and the link's history.
"""

from h2model.state import State
from sim.fast.clock import entry_at, time_at
from sim.fast.layout import BY_VISITS, SECOND, K, Race, Shape
from sim.fast.pushes import handed_over, together, update
from sim.kernels.bound import TURNS, borrow, select
from sim.kernels.connections import offer, on_tables, taken
from sim.kernels.layout import Net


def end_of_each_pull(shape: Shape, net: Net, race: Race, link: int, worker: int) -> None:
    """Find the ends of the pulls from a server, whose last one ends now."""
    recorded = race.rec[worker] if len(shape.down) > 1 else 0
    if TURNS:
        pulls_by_turns(shape, net, race, link, worker, recorded)
        return
    entry = race.joined[link, worker]
    for i in range(shape.down_start[link], shape.down_start[link + 1]):
        pull = shape.down[recorded, i]
        target = race.base_v[link, worker] + shape.down_cum[recorded, i] * net.ns_per_byte[link]
        entry = entry_at(race, link, entry, target)
        race.arrival[worker, pull] = time_at(race, link, entry, target)
        if shape.chain[0] == 0:
            race.order[worker, i] = pull


def pulls_by_turns(
    shape: Shape, net: Net, race: Race, link: int, worker: int, recorded: int
) -> None:
    """`end_of_each_pull`, asking the discipline; a pull's slot is its number."""
    s = borrow(scheduler(net, race, link, worker))
    entry = race.joined[link, worker]
    time = began(race, link, worker)
    for i in range(shape.down_start[link], shape.down_start[link + 1]):
        pull = shape.down[recorded, i]
        race.unsent[pull] = size = shape.down_size[pull]
        offer(s, pull, size, net.window[0], shape.down_priority[pull], round(time))
    sent = 0
    ended = shape.down_start[link]
    while ended < shape.down_start[link + 1]:
        slot, size = select(s, net.budget[0], round(time))
        sent += size
        target = race.base_v[link, worker] + sent * net.ns_per_byte[link]
        entry = entry_at(race, link, entry, target)
        time = time_at(race, link, entry, target)
        race.unsent[slot] -= size
        taken(s, slot, size, race.unsent[slot], round(time))
        if race.unsent[slot] == 0:
            race.arrival[worker, slot] = time
            if shape.chain[0] == 0:
                race.order[worker, ended] = slot
            ended += 1


def end_of_each_push(shape: Shape, net: Net, race: Race, worker: int, server: int) -> None:
    """Find the end of every push of the busy period that ends now, and carry out the updates."""
    if TURNS:
        pushes_by_turns(shape, net, race, worker, server)
    elif shape.replay[server] == BY_VISITS:
        pushes_by_visits(shape, net, race, worker, server)
    else:
        pushes_in_order(shape, net, race, worker, server)


def pushes_in_order(shape: Shape, net: Net, race: Race, worker: int, server: int) -> None:
    """`end_of_each_push` where each push is sent whole."""
    link = shape.sizes[K] + server
    entry = race.joined[link, worker]
    sent = 0
    for up in range(race.busy_from[worker, server], race.next_up[worker, server]):
        sent += shape.up_size[up]
        target = race.base_v[link, worker] + sent * net.ns_per_byte[link]
        entry = entry_at(race, link, entry, target)
        update(shape, race, worker, up, time_at(race, link, entry, target))


def pushes_by_visits(shape: Shape, net: Net, race: Race, worker: int, server: int) -> None:
    """`end_of_each_push` with second visits: a push's rest waits behind what has come by then."""
    link = shape.sizes[K] + server
    first = up = race.busy_from[worker, server]
    until = race.next_up[worker, server]
    entry = race.joined[link, worker]
    time = began(race, link, worker)
    sent = head = tail = 0
    while up < until or head < tail:
        if head == tail:
            tail = queue(race, tail, first_visit(up))
            up += 1
        visit = race.ring[head]
        head += 1
        push = push_of(visit)
        size = shape.up_size[push]
        ends = is_second(visit) or size <= shape.largest[0]
        if is_second(visit):
            size -= shape.largest[0]
        elif not ends:
            present = until if sent > 0 else together(shape, first, until)
            come = handed_over_by(shape, net, race, worker, up, present, time)
            while up < come:
                tail = queue(race, tail, first_visit(up))
                up += 1
            tail = queue(race, tail, second_visit(push))
            size = shape.largest[0]
        sent += size
        target = race.base_v[link, worker] + sent * net.ns_per_byte[link]
        entry = entry_at(race, link, entry, target)
        time = time_at(race, link, entry, target)
        if ends:
            update(shape, race, worker, push, time)


def queue(race: Race, tail: int, visit: int) -> int:
    """Put a visit at the tail of the queue; return the new tail."""
    race.ring[tail] = visit
    return tail + 1


def first_visit(push: int) -> int:
    """Queue entry of a push's first visit: the push's number."""
    return push


def second_visit(push: int) -> int:
    """Queue entry of a push's second visit: a number beyond those of all pushes."""
    return push + SECOND


def is_second(visit: int) -> bool:
    """True if an entry of the queue is a second visit."""
    return visit >= SECOND


def push_of(visit: int) -> int:
    """Push of a queue entry."""
    return visit % SECOND


def pushes_by_turns(shape: Shape, net: Net, race: Race, worker: int, server: int) -> None:
    """`end_of_each_push`, asking the discipline; a push's slot is its number."""
    link = shape.sizes[K] + server
    s = borrow(scheduler(net, race, link, worker))
    begun = race.busy_from[worker, server]
    until = race.next_up[worker, server]
    up = together(shape, begun, until)
    offer_pushes(s, shape, net, race, worker, begun, up)
    waiting = up - begun
    entry = race.joined[link, worker]
    time = began(race, link, worker)
    sent = 0
    while waiting > 0:
        slot, size = select(s, net.budget[0], round(time))
        sent += size
        target = race.base_v[link, worker] + sent * net.ns_per_byte[link]
        entry = entry_at(race, link, entry, target)
        time = time_at(race, link, entry, target)
        race.unsent[slot] -= size
        if race.unsent[slot] == 0:
            waiting -= 1
        come = handed_over_by(shape, net, race, worker, up, until, time)
        if waiting == 0 and come == up and up < until:
            come += 1  # the period goes on: only by rounding the next push comes later
        offer_pushes(s, shape, net, race, worker, up, come)
        waiting += come - up
        up = come
        taken(s, slot, size, race.unsent[slot], round(time))
        if race.unsent[slot] == 0:
            update(shape, race, worker, slot, time)


def handed_over_by(
    shape: Shape, net: Net, race: Race, worker: int, up: int, until: int, time: float
) -> int:
    """First push from `up` on, and before `until`, that is handed over after `time`."""
    while up < until and handed_over(shape, net, race, worker, up) <= time:
        up += 1
    return up


def offer_pushes(
    s: State, shape: Shape, net: Net, race: Race, worker: int, up: int, until: int
) -> None:
    """Offer pushes to the discipline as they were handed over."""
    for i in range(up, until):
        race.unsent[i] = shape.up_size[i]
        ready = round(handed_over(shape, net, race, worker, i))
        offer(s, i, shape.up_size[i], net.window[0], shape.up_priority[i], ready)


def began(race: Race, link: int, worker: int) -> float:
    """Start time of a worker's busy period on a link."""
    return race.log_t[link, race.joined[link, worker] & (race.log_t.shape[1] - 1)]


def scheduler(net: Net, race: Race, link: int, worker: int) -> State:
    """Discipline state of a connection: what it keeps beyond a busy period is its own."""
    plan = (race.streams.plan_slot, race.streams.plan_bytes)
    return on_tables(race.streams, plan, race.shared[link, worker], net.option)
