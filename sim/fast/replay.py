"""Completion times within a connection's busy period, computed when it is over.

Its length depends on its bytes alone, as no discipline rests while it has bytes and credit. Which
bytes went when follows from the discipline's rule and the link's history.
"""

from h2model.state import State
from sim.fast.arrays import BY_VISITS, FIRST, SECOND, FastRun, K, Shape
from sim.fast.pushes import handed_over, handed_over_by, together, update
from sim.fast.virtual_clock import when_left
from sim.kernels.arrays import Net
from sim.kernels.bound import ASKED, borrow, select
from sim.kernels.connections import offer, on_tables, taken


def end_of_each_pull(shape: Shape, net: Net, run: FastRun, link: int, worker: int) -> None:
    """Find the ends of the pulls from a server, whose last one ends now."""
    recorded = run.rec[worker] if len(shape.down) > 1 else 0
    if ASKED:
        pulls_by_discipline(shape, net, run, link, worker, recorded)
        return
    entry = run.joined[link, worker]
    for i in range(shape.down_start[link], shape.down_start[link + 1]):
        pull = shape.down[recorded, i]
        entry, time = when_left(net, run, link, worker, shape.down_cum[recorded, i], entry)
        run.arrival[worker, pull] = time
        if shape.chain[0] == 0:
            run.order[worker, i] = pull


def pulls_by_discipline(
    shape: Shape, net: Net, run: FastRun, link: int, worker: int, recorded: int
) -> None:
    """`end_of_each_pull`, asking the discipline; a pull's slot is its number."""
    s = borrow(scheduler(net, run, link, worker))
    entry = run.joined[link, worker]
    time = began(run, link, worker)
    for i in range(shape.down_start[link], shape.down_start[link + 1]):
        pull = shape.down[recorded, i]
        run.unsent[pull] = size = shape.down_size[pull]
        offer(s, pull, size, net.window[0], shape.down_priority[pull], round(time))
    sent = 0
    ended = shape.down_start[link]
    while ended < shape.down_start[link + 1]:
        slot, size = select(s, net.budget[0], round(time))
        sent += size
        entry, time = when_left(net, run, link, worker, sent, entry)
        run.unsent[slot] -= size
        taken(s, slot, size, run.unsent[slot], round(time))
        if run.unsent[slot] == 0:
            run.arrival[worker, slot] = time
            if shape.chain[0] == 0:
                run.order[worker, ended] = slot
            ended += 1


def end_of_each_push(shape: Shape, net: Net, run: FastRun, worker: int, server: int) -> None:
    """Find the end of every push of the busy period that ends now, and carry out the updates."""
    if ASKED:
        pushes_by_discipline(shape, net, run, worker, server)
    elif shape.replay[server] == BY_VISITS:
        pushes_by_visits(shape, net, run, worker, server)
    else:
        pushes_in_order(shape, net, run, worker, server)


def pushes_in_order(shape: Shape, net: Net, run: FastRun, worker: int, server: int) -> None:
    """`end_of_each_push` where each push is sent whole."""
    link = shape.sizes[K] + server
    entry = run.joined[link, worker]
    sent = 0
    for push in range(run.busy_from[worker, server], run.next_up[worker, server]):
        sent += shape.up_size[push]
        entry, time = when_left(net, run, link, worker, sent, entry)
        update(shape, run, worker, push, time)


def pushes_by_visits(shape: Shape, net: Net, run: FastRun, worker: int, server: int) -> None:
    """`end_of_each_push` with second visits: a push's rest waits behind what has come by then."""
    link = shape.sizes[K] + server
    first = run.busy_from[worker, server]
    until = run.next_up[worker, server]
    entry = run.joined[link, worker]
    time = began(run, link, worker)
    coming = first  # the first push that is not in the queue yet
    sent = head = tail = 0
    while head < tail or coming < until:
        if head == tail:
            tail = enqueue(run, tail, coming, FIRST)
            coming += 1
        push, visit = run.queue[head], run.visit[head]
        head += 1
        rest = bytes_of_second_visit(shape, push)
        if visit == FIRST and rest > 0:
            if sent == 0:
                come = together(shape, first, until)
            else:
                come = handed_over_by(shape, net, run, worker, coming, until, time)
            while coming < come:
                tail = enqueue(run, tail, coming, FIRST)
                coming += 1
            tail = enqueue(run, tail, push, SECOND)
        sent += rest if visit == SECOND else shape.up_size[push] - rest
        entry, time = when_left(net, run, link, worker, sent, entry)
        if visit == SECOND or rest == 0:
            update(shape, run, worker, push, time)


def enqueue(run: FastRun, tail: int, push: int, visit: int) -> int:
    """Put a visit of a push at the tail of the queue; return the new tail."""
    run.queue[tail] = push
    run.visit[tail] = visit
    return tail + 1


def bytes_of_second_visit(shape: Shape, push: int) -> int:
    """Bytes that a first visit leaves of a push; 0 if it sends all."""
    return max(0, shape.up_size[push] - shape.largest[0])


def pushes_by_discipline(shape: Shape, net: Net, run: FastRun, worker: int, server: int) -> None:
    """`end_of_each_push`, asking the discipline; a push's slot is its number."""
    link = shape.sizes[K] + server
    s = borrow(scheduler(net, run, link, worker))
    first = run.busy_from[worker, server]
    until = run.next_up[worker, server]
    entry = run.joined[link, worker]
    time = began(run, link, worker)
    offered = together(shape, first, until)  # the first push that the discipline does not know yet
    offer_pushes(s, shape, net, run, worker, first, offered)
    sent = 0
    ended = first  # as many pushes have ended as there are before this one
    while ended < until:
        slot, size = select(s, net.budget[0], round(time))
        sent += size
        entry, time = when_left(net, run, link, worker, sent, entry)
        run.unsent[slot] -= size
        if run.unsent[slot] == 0:
            ended += 1
        come = handed_over_by(shape, net, run, worker, offered, until, time)
        if ended == come and come < until:
            come += 1  # the period goes on: only by rounding the next push comes later
        offer_pushes(s, shape, net, run, worker, offered, come)
        offered = come
        taken(s, slot, size, run.unsent[slot], round(time))
        if run.unsent[slot] == 0:
            update(shape, run, worker, slot, time)


def offer_pushes(
    s: State, shape: Shape, net: Net, run: FastRun, worker: int, first: int, until: int
) -> None:
    """Offer pushes to the discipline as they were handed over."""
    for push in range(first, until):
        run.unsent[push] = shape.up_size[push]
        ready = round(handed_over(shape, net, run, worker, push))
        offer(s, push, shape.up_size[push], net.window[0], shape.up_priority[push], ready)


def began(run: FastRun, link: int, worker: int) -> float:
    """Start time of a worker's busy period on a link."""
    return run.log_t[link, run.joined[link, worker] & (run.log_t.shape[1] - 1)]


def scheduler(net: Net, run: FastRun, link: int, worker: int) -> State:
    """Discipline state of a connection: what it keeps beyond a busy period is its own."""
    plan = (run.streams.plan_slot, run.streams.plan_bytes)
    return on_tables(run.streams, plan, run.shared[link, worker], net.option)
