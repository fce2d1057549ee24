"""Event loop of the fast path."""

import math

from sim.fast.clock import aim, has_room, join, leave, width
from sim.fast.forward import last_forward
from sim.fast.layout import LOG_FULL, K, Q, Race, Shape, W
from sim.fast.replay import end_of_each_pull
from sim.fast.uplink import await_next, begin_busy, end_busy, extend
from sim.kernels.bound import borrow
from sim.kernels.layout import (
    AT_SLOWEST,
    BOUNDARY,
    BUSY,
    COMPUTING,
    COUNT_FROM,
    ENDED,
    EVENTS,
    FULL,
    IDLE,
    LAST,
    PRESENT,
    RECEIVING,
    SENDING,
    SLOWEST,
    START_REQUESTS,
    STEPS,
    STOP_AT_LAST,
    STOP_AT_STEPS,
    TIME,
    WAITING,
    Net,
)
from sim.kernels.steps import find_slowest, may_begin
from sim.kernels.tree import put


def advance(shape: Shape, net: Net, race: Race, until_ns: float) -> int:
    """Simulate up to and including `until_ns`; return why it stopped."""
    return run_loop(borrow(shape), borrow(net), borrow(race), until_ns)


def run_loop(shape: Shape, net: Net, race: Race, until_ns: float) -> int:
    """`advance` on borrowed tuples; see `sim.kernels.borrowed`."""
    begin_requested(shape, net, race)
    while True:
        if race.scalar[STEPS] >= len(race.step_row):
            return FULL
        leaf = race.tree[1]
        now = race.key[leaf]
        if now == math.inf:
            return IDLE
        if now > until_ns:
            return TIME
        for link in range(len(race.active)):
            if not has_room(race, link):
                return LOG_FULL
        race.clock[0] = now
        race.scalar[EVENTS] += 1
        if not dispatch(shape, net, race, leaf, until_ns):
            continue
        if net.flag[STOP_AT_STEPS]:
            return BOUNDARY
        ended = race.scalar[ENDED]
        if net.flag[STOP_AT_LAST] and race.done[ended] >= race.limit[ended]:
            return LAST


def dispatch(shape: Shape, net: Net, race: Race, leaf: int, until_ns: float) -> bool:
    """Process the event of a source; true if a step has ended.

    The sources stand one after the other: the end of pulls, by server; the begin of a busy period
    of pushes, by worker and server; its end, by server; the end of a step, by worker.
    """
    servers = shape.sizes[K]
    begins = servers
    ends = begins + shape.sizes[W] * servers
    if leaf < begins:
        end_pulls(shape, net, race, leaf, first_on(race, leaf))
    elif leaf < ends:
        worker = (leaf - begins) // servers
        begin_pushes(shape, net, race, worker, leaf - begins - worker * servers, until_ns)
    elif leaf < step_leaf(shape, 0):
        end_pushes(shape, net, race, first_on(race, servers + leaf - ends), leaf - ends)
    else:
        end_step(shape, net, race, leaf - step_leaf(shape, 0))
        return True
    return False


def begin_pushes(
    shape: Shape, net: Net, race: Race, worker: int, server: int, until_ns: float
) -> None:
    """Begin a worker's pushes to a server, all of which may end before any other event."""
    if not begin_busy(shape, net, race, worker, server, until_ns):
        end_ups(shape, race, worker)


def end_pushes(shape: Shape, net: Net, race: Race, worker: int, server: int) -> None:
    """End a busy period of pushes to a server, unless more were handed over meanwhile."""
    if extend(shape, net, race, worker, server) or end_busy(shape, net, race, worker, server):
        return
    end_ups(shape, race, worker)


def first_on(race: Race, link: int) -> int:
    """Worker whose busy period is the link's first to end."""
    return race.flow_tree[2 * link * width(race) + 1]


def end_ups(shape: Shape, race: Race, worker: int) -> None:
    """Note that a worker has sent all to a server; after the last, schedule the step's end."""
    race.ups_left[worker] -= 1
    if race.ups_left[worker] == 0:
        end_of_step_at(shape, race, worker)


def end_of_step_at(shape: Shape, race: Race, worker: int) -> None:
    """Schedule the end of a step, when all that is left of it is known."""
    end = max(race.last[worker], race.back_end[worker])
    put(race.key, race.tree, 0, len(race.key), step_leaf(shape, worker), end)


def step_leaf(shape: Shape, worker: int) -> int:
    """Index of the end of a worker's step among the sources of events."""
    return 2 * shape.sizes[K] + shape.sizes[W] * shape.sizes[K] + worker


def end_pulls(shape: Shape, net: Net, race: Race, link: int, worker: int) -> None:
    """End a worker's pulls from a server; after the last server, compute its forward pass."""
    end_of_each_pull(shape, net, race, link, worker)
    leave(shape, race, link, worker)
    race.downs_left[worker] -= 1
    if race.downs_left[worker] == 0:
        race.down_end[worker] = race.clock[0]
        forward(shape, net, race, worker)


def forward(shape: Shape, net: Net, race: Race, worker: int) -> None:
    """Compute the end of the last forward operation, and from it the hand-over of pushes."""
    recorded = race.rec[worker]
    varied = net.factor.shape[1] > 1
    factor = net.factor[worker, race.done[worker] if varied else 0]
    time = last_forward(shape, race, worker, factor)
    race.turn[worker] = time
    race.back_end[worker] = time + shape.backward_sum[recorded] * factor
    for server in range(shape.sizes[K]):
        if await_next(shape, net, race, worker, server):
            race.ups_left[worker] += 1
    if race.ups_left[worker] == 0:
        end_of_step_at(shape, race, worker)


def begin_step(shape: Shape, net: Net, race: Race, worker: int) -> None:
    """Begin a worker's next step: it pulls from every server."""
    now = race.clock[0]
    recorded = net.draw[worker, race.done[worker]]
    if race.done[worker] >= net.flag[COUNT_FROM]:
        race.spent[worker, WAITING] += now - race.ended_at[worker]
    race.presence[worker] = BUSY
    race.started[worker] = now
    race.rec[worker] = recorded
    race.last[worker] = now
    race.sent_computing[worker] = race.sent_only[worker] = 0.0
    for q in range(shape.sizes[Q]):
        race.free_at[worker, q] = now
    row = recorded if len(shape.down) > 1 else 0
    race.downs_left[worker] = 0
    for server in range(shape.sizes[K]):
        race.next_up[worker, server] = shape.up_start[server]
        last = shape.down_start[server + 1] - 1
        if last >= shape.down_start[server]:
            race.downs_left[worker] += 1
            join(race, server, worker)
            aim(shape, net, race, server, worker, shape.down_cum[row, last])


def end_step(shape: Shape, net: Net, race: Race, worker: int) -> None:
    """Record the end of a worker's step, and begin the next one of workers that may."""
    put(race.key, race.tree, 0, len(race.key), step_leaf(shape, worker), math.inf)
    i = race.scalar[STEPS]
    race.step_row[i, 0] = worker
    race.step_row[i, 1] = race.done[worker]
    race.step_time[i, 0] = race.started[worker]
    race.step_time[i, 1] = race.clock[0]
    race.scalar[STEPS] = i + 1
    race.scalar[ENDED] = worker
    if race.done[worker] >= net.flag[COUNT_FROM]:
        accumulate(shape, net, race, worker)
    race.ended_at[worker] = race.clock[0]
    was_slowest = race.done[worker] == race.scalar[SLOWEST]
    race.done[worker] += 1
    race.presence[worker] = PRESENT
    further = False
    if was_slowest:
        race.scalar[AT_SLOWEST] -= 1
        further = race.scalar[AT_SLOWEST] == 0 and find_slowest(race)
    if net.flag[STOP_AT_STEPS]:
        return
    first = 0 if further else worker
    last = len(race.done) if further else worker + 1
    for w in range(first, last):
        if may_begin(net, race, w):
            begin_step(shape, net, race, w)


def accumulate(shape: Shape, net: Net, race: Race, worker: int) -> None:
    """Accumulate the worker's time in its step by mode: receiving, computing, sending."""
    recorded = race.rec[worker]
    varied = net.factor.shape[1] > 1
    factor = net.factor[worker, race.done[worker] if varied else 0]
    receiving = race.down_end[worker] - race.started[worker]
    behind = race.turn[worker] - race.down_end[worker]
    ahead = shape.forward_sum[recorded] * factor - behind
    backward = race.back_end[worker] - race.turn[worker]
    both = race.sent_computing[worker]
    only = race.sent_only[worker]
    total = race.clock[0] - race.started[worker]
    race.spent[worker, RECEIVING] += receiving - ahead
    race.spent[worker, RECEIVING | COMPUTING] += ahead
    race.spent[worker, COMPUTING] += behind + backward - both
    race.spent[worker, SENDING | COMPUTING] += both
    race.spent[worker, SENDING] += only
    race.spent[worker, 0] += total - receiving - behind - backward - only


def begin_requested(shape: Shape, net: Net, race: Race) -> None:
    """Begin the steps requested from outside, where the workers may."""
    if race.scalar[START_REQUESTS] == 0:
        return
    for w in range(len(race.start_requested)):
        if race.start_requested[w] and may_begin(net, race, w):
            begin_step(shape, net, race, w)
        race.start_requested[w] = 0
    race.scalar[START_REQUESTS] = 0
