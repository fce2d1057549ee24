"""Event loop of the fast path."""

import math

from sim.fast.arrays import (
    HAND_OVERS,
    JOIN_END,
    LOG_FULL,
    STEP_ENDS,
    UPLINKS,
    FastRun,
    K,
    Q,
    Shape,
)
from sim.fast.forward import last_forward
from sim.fast.join import end_join, gradients_known, is_held, joins
from sim.fast.replay import end_of_each_pull
from sim.fast.sources import schedule, step_leaf
from sim.fast.uplink import await_next, begin_busy, end_busy, extend
from sim.fast.virtual_clock import aim, has_room, join, leave, width
from sim.kernels.arrays import (
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
from sim.kernels.bound import borrow
from sim.kernels.steps import find_slowest, may_begin


def advance(shape: Shape, net: Net, run: FastRun, until_ns: float) -> int:
    """Simulate up to and including `until_ns`; return why it stopped."""
    return run_loop(borrow(shape), borrow(net), borrow(run), until_ns)


def run_loop(shape: Shape, net: Net, run: FastRun, until_ns: float) -> int:
    """`advance` on borrowed tuples; see `sim.kernels.borrowed`."""
    begin_requested(shape, net, run)
    while True:
        if run.scalar[STEPS] >= len(run.step_row):
            return FULL
        leaf = run.tree[1]
        now = run.key[leaf]
        if now == math.inf:
            return IDLE
        if now > until_ns:
            return TIME
        for link in range(len(run.active)):
            if not has_room(run, link):
                return LOG_FULL
        run.clock[0] = now
        run.scalar[EVENTS] += 1
        if not dispatch(shape, net, run, leaf, until_ns):
            continue
        if net.flag[STOP_AT_STEPS]:
            return BOUNDARY
        ended = run.scalar[ENDED]
        if net.flag[STOP_AT_LAST] and run.done[ended] >= run.limit[ended]:
            return LAST


def dispatch(shape: Shape, net: Net, run: FastRun, leaf: int, until_ns: float) -> bool:
    """Process the event of a source; true if a step has ended."""
    first = shape.first_leaf
    servers = shape.sizes[K]
    if leaf < first[HAND_OVERS]:
        end_pulls(shape, net, run, leaf, first_on(run, leaf))
    elif leaf < first[UPLINKS]:
        worker = (leaf - first[HAND_OVERS]) // servers
        server = leaf - first[HAND_OVERS] - worker * servers
        begin_pushes(shape, net, run, worker, server, until_ns)
    elif leaf < first[STEP_ENDS]:
        server = leaf - first[UPLINKS]
        end_pushes(shape, net, run, first_on(run, servers + server), server)
    elif leaf < first[JOIN_END]:
        end_step(shape, net, run, leaf - first[STEP_ENDS])
        return True
    else:
        end_join(shape, run)
        begin_steps(shape, net, run, 0, len(run.done))
    return False


def begin_pushes(
    shape: Shape, net: Net, run: FastRun, worker: int, server: int, until_ns: float
) -> None:
    """Begin a worker's pushes to a server, all of which may end before any other event."""
    if not begin_busy(shape, net, run, worker, server, until_ns):
        end_ups(shape, run, worker)


def end_pushes(shape: Shape, net: Net, run: FastRun, worker: int, server: int) -> None:
    """End a busy period of pushes to a server, unless more were handed over meanwhile."""
    if extend(shape, net, run, worker, server) or end_busy(shape, net, run, worker, server):
        return
    end_ups(shape, run, worker)


def first_on(run: FastRun, link: int) -> int:
    """Worker whose busy period is the link's first to end."""
    return run.flow_tree[2 * link * width(run) + 1]


def end_ups(shape: Shape, run: FastRun, worker: int) -> None:
    """Note that a worker has sent all to a server; after the last, schedule the step's end."""
    run.ups_left[worker] -= 1
    if run.ups_left[worker] == 0:
        end_of_step_at(shape, run, worker)


def end_of_step_at(shape: Shape, run: FastRun, worker: int) -> None:
    """Schedule the end of a step, when all that is left of it is known."""
    if joins(shape):
        gradients_known(shape, run, worker)
    schedule(run, step_leaf(shape, worker), max(run.last[worker], run.backward_end[worker]))


def end_pulls(shape: Shape, net: Net, run: FastRun, link: int, worker: int) -> None:
    """End a worker's pulls from a server; after the last server, compute its forward pass."""
    end_of_each_pull(shape, net, run, link, worker)
    leave(shape, run, link, worker)
    run.downs_left[worker] -= 1
    if run.downs_left[worker] == 0:
        run.down_end[worker] = run.clock[0]
        forward(shape, net, run, worker)


def forward(shape: Shape, net: Net, run: FastRun, worker: int) -> None:
    """Compute the end of the last forward operation, and from it the hand-over of pushes."""
    recorded = run.rec[worker]
    varied = net.factor.shape[1] > 1
    factor = net.factor[worker, run.done[worker] if varied else 0]
    time = last_forward(shape, run, worker, factor)
    run.forward_end[worker] = time
    run.backward_end[worker] = time + shape.backward_sum[recorded] * factor
    for server in range(shape.sizes[K]):
        if await_next(shape, net, run, worker, server):
            run.ups_left[worker] += 1
    if run.ups_left[worker] == 0:
        end_of_step_at(shape, run, worker)


def begin_step(shape: Shape, net: Net, run: FastRun, worker: int) -> None:
    """Begin a worker's next step: it pulls from every server."""
    now = run.clock[0]
    recorded = net.draw[worker, run.done[worker]]
    if run.done[worker] >= net.flag[COUNT_FROM]:
        run.spent[worker, WAITING] += now - run.ended_at[worker]
    run.presence[worker] = BUSY
    run.started[worker] = now
    run.rec[worker] = recorded
    run.last[worker] = now
    run.sent_computing[worker] = run.sent_only[worker] = 0.0
    for q in range(shape.sizes[Q]):
        run.free_at[worker, q] = now
    row = recorded if len(shape.down) > 1 else 0
    run.downs_left[worker] = 0
    for server in range(shape.sizes[K]):
        run.next_up[worker, server] = shape.up_start[server]
        last = shape.down_start[server + 1] - 1
        if last >= shape.down_start[server]:
            run.downs_left[worker] += 1
            join(run, server, worker)
            aim(shape, net, run, server, worker, shape.down_cum[row, last])


def end_step(shape: Shape, net: Net, run: FastRun, worker: int) -> None:
    """Record the end of a worker's step, and begin the next one of workers that may."""
    schedule(run, step_leaf(shape, worker), math.inf)
    i = run.scalar[STEPS]
    run.step_row[i, 0] = worker
    run.step_row[i, 1] = run.done[worker]
    run.step_time[i, 0] = run.started[worker]
    run.step_time[i, 1] = run.clock[0]
    run.scalar[STEPS] = i + 1
    run.scalar[ENDED] = worker
    if run.done[worker] >= net.flag[COUNT_FROM]:
        accumulate(shape, net, run, worker)
    run.ended_at[worker] = run.clock[0]
    was_slowest = run.done[worker] == run.scalar[SLOWEST]
    run.done[worker] += 1
    run.presence[worker] = PRESENT
    further = False
    if was_slowest:
        run.scalar[AT_SLOWEST] -= 1
        further = run.scalar[AT_SLOWEST] == 0 and find_slowest(run)
    if net.flag[STOP_AT_STEPS]:
        return
    first = 0 if further else worker
    last = len(run.done) if further else worker + 1
    begin_steps(shape, net, run, first, last)


def begin_steps(shape: Shape, net: Net, run: FastRun, first: int, last: int) -> None:
    """Begin the next steps of these workers, from the first to the one before the last."""
    for w in range(first, last):
        if may_begin(net, run, w) and not is_held(shape, run, w):
            begin_step(shape, net, run, w)


def accumulate(shape: Shape, net: Net, run: FastRun, worker: int) -> None:
    """Accumulate the worker's time in its step by mode: receiving, computing, sending."""
    recorded = run.rec[worker]
    varied = net.factor.shape[1] > 1
    factor = net.factor[worker, run.done[worker] if varied else 0]
    receiving = run.down_end[worker] - run.started[worker]
    behind = run.forward_end[worker] - run.down_end[worker]
    ahead = shape.forward_sum[recorded] * factor - behind
    backward = run.backward_end[worker] - run.forward_end[worker]
    both = run.sent_computing[worker]
    only = run.sent_only[worker]
    total = run.clock[0] - run.started[worker]
    run.spent[worker, RECEIVING] += receiving - ahead
    run.spent[worker, RECEIVING | COMPUTING] += ahead
    run.spent[worker, COMPUTING] += behind + backward - both
    run.spent[worker, SENDING | COMPUTING] += both
    run.spent[worker, SENDING] += only
    run.spent[worker, 0] += total - receiving - behind - backward - only


def begin_requested(shape: Shape, net: Net, run: FastRun) -> None:
    """Begin the steps requested from outside, where the workers may."""
    if run.scalar[START_REQUESTS] == 0:
        return
    for w in range(len(run.start_requested)):
        if run.start_requested[w]:
            begin_steps(shape, net, run, w, w + 1)
        run.start_requested[w] = 0
    run.scalar[START_REQUESTS] = 0
