"""Busy periods of a worker's pushes over one link."""

import math

from sim.fast.arrays import UNWATCHED, FastRun, K, Shape
from sim.fast.pushes import handed_over, handed_over_by, update
from sim.fast.replay import end_of_each_push
from sim.fast.sources import hand_over_leaf, schedule
from sim.fast.virtual_clock import aim, join, leave
from sim.kernels.arrays import EVENTS, Net
from sim.kernels.bound import ASKED


def await_next(shape: Shape, net: Net, run: FastRun, worker: int, server: int) -> bool:
    """Schedule the next hand-over to an idle connection; false if there is none."""
    up = run.next_up[worker, server]
    time = math.inf
    if up < shape.up_start[server + 1]:
        time = handed_over(shape, net, run, worker, up)
    schedule(run, hand_over_leaf(shape, worker, server), time)
    return time < math.inf


def begin_busy(
    shape: Shape, net: Net, run: FastRun, worker: int, server: int, until_ns: float
) -> bool:
    """Hand pushes over to an idle connection; false if all have ended at once."""
    schedule(run, hand_over_leaf(shape, worker, server), math.inf)
    link = shape.sizes[K] + server
    if run.active[link] == 0 and not ASKED:
        send_alone(shape, net, run, worker, server, until_ns)
        if run.next_up[worker, server] == shape.up_start[server + 1]:
            return False
        if handed_over(shape, net, run, worker, run.next_up[worker, server]) > run.clock[0]:
            return await_next(shape, net, run, worker, server)
    run.busy_from[worker, server] = run.next_up[worker, server]
    join(run, link, worker)
    extend(shape, net, run, worker, server)
    if run.sending[worker] == 0:
        run.sending_since[worker] = run.clock[0]
    run.sending[worker] += 1
    return True


def send_alone(
    shape: Shape, net: Net, run: FastRun, worker: int, server: int, until_ns: float
) -> None:
    """Send pushes one by one as long as each ends before any other event.

    No other worker is affected by these busy periods, so the tournaments and the log lack them.
    """
    link = shape.sizes[K] + server
    before = min(until_ns, run.key[run.tree[1]])
    end_up = shape.up_start[server + 1]
    first = up = run.next_up[worker, server]
    begin = run.clock[0]
    while up < end_up and begin < before:
        following = math.inf
        if up + 1 < end_up:
            following = handed_over(shape, net, run, worker, up + 1)
        target = run.clock_v[link] + shape.up_size[up] * net.ns_per_byte[link]
        end = begin + (target - run.clock_v[link])
        if end >= before or end >= following:
            break
        run.clock[0] = end
        run.clock_v[link] += end - begin
        run.clock_t[link] = end
        if shape.replay[server] != UNWATCHED:
            update(shape, run, worker, up, end)
        run.last[worker] = max(run.last[worker], end)
        if run.sending[worker] == 0:
            run.sending_since[worker] = begin
            add_sending_time(run, worker, end)
        up += 1
        begin = following
    run.scalar[EVENTS] += max(0, 2 * (up - first) - 1)
    run.next_up[worker, server] = up


def extend(shape: Shape, net: Net, run: FastRun, worker: int, server: int) -> bool:
    """Extend the busy period by the pushes handed over by now; true if there were any."""
    first = run.next_up[worker, server]
    end = shape.up_start[server + 1]
    up = handed_over_by(shape, net, run, worker, first, end, run.clock[0])
    if up == first:
        return False
    run.next_up[worker, server] = up
    begun = run.busy_from[worker, server]
    size = shape.up_cum[up + server] - shape.up_cum[begun + server]
    aim(shape, net, run, shape.sizes[K] + server, worker, size)
    return True


def end_busy(shape: Shape, net: Net, run: FastRun, worker: int, server: int) -> bool:
    """End a busy period, as nothing is left to send; true if more will come in this step."""
    link = shape.sizes[K] + server
    if shape.replay[server] != UNWATCHED:
        end_of_each_push(shape, net, run, worker, server)
    leave(shape, run, link, worker)
    now = run.clock[0]
    run.last[worker] = max(run.last[worker], now)
    run.sending[worker] -= 1
    if run.sending[worker] == 0:
        add_sending_time(run, worker, now)
    return await_next(shape, net, run, worker, server)


def add_sending_time(run: FastRun, worker: int, now: float) -> None:
    """Add the time of sending up to now, split by whether the worker computed meanwhile."""
    since = run.sending_since[worker]
    computing = max(0.0, min(now, run.backward_end[worker]) - since)
    run.sent_computing[worker] += computing
    run.sent_only[worker] += now - since - computing
