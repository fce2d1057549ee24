"""Busy periods of a worker's pushes over one link."""

import math

from sim.fast.clock import aim, join, leave
from sim.fast.layout import UNWATCHED, K, Race, Shape
from sim.fast.pushes import handed_over, update
from sim.fast.replay import end_of_each_push
from sim.kernels.bound import TURNS
from sim.kernels.layout import EVENTS, Net
from sim.kernels.tree import put


def arrival_leaf(shape: Shape, worker: int, server: int) -> int:
    """Index of a worker's next hand-over to a server among the sources of events."""
    return shape.sizes[K] + worker * shape.sizes[K] + server


def await_next(shape: Shape, net: Net, race: Race, worker: int, server: int) -> bool:
    """Schedule the next hand-over to an idle connection; false if there is none."""
    up = race.next_up[worker, server]
    time = math.inf
    if up < shape.up_start[server + 1]:
        time = handed_over(shape, net, race, worker, up)
    put(race.key, race.tree, 0, len(race.key), arrival_leaf(shape, worker, server), time)
    return time < math.inf


def begin_busy(
    shape: Shape, net: Net, race: Race, worker: int, server: int, until_ns: float
) -> bool:
    """Hand pushes over to an idle connection; false if all have ended at once."""
    leaf = arrival_leaf(shape, worker, server)
    put(race.key, race.tree, 0, len(race.key), leaf, math.inf)
    link = shape.sizes[K] + server
    if race.active[link] == 0 and not TURNS:
        send_alone(shape, net, race, worker, server, until_ns)
        if race.next_up[worker, server] == shape.up_start[server + 1]:
            return False
        if handed_over(shape, net, race, worker, race.next_up[worker, server]) > race.clock[0]:
            return await_next(shape, net, race, worker, server)
    race.busy_from[worker, server] = race.next_up[worker, server]
    join(race, link, worker)
    extend(shape, net, race, worker, server)
    if race.sending[worker] == 0:
        race.sending_since[worker] = race.clock[0]
    race.sending[worker] += 1
    return True


def send_alone(
    shape: Shape, net: Net, race: Race, worker: int, server: int, until_ns: float
) -> None:
    """Send pushes one by one as long as each ends before any other event.

    No other worker is affected by these busy periods, so the tournaments and the log lack them.
    """
    link = shape.sizes[K] + server
    before = min(until_ns, race.key[race.tree[1]])
    end_up = shape.up_start[server + 1]
    first = up = race.next_up[worker, server]
    begin = race.clock[0]
    while up < end_up and begin < before:
        following = math.inf
        if up + 1 < end_up:
            following = handed_over(shape, net, race, worker, up + 1)
        target = race.clock_v[link] + shape.up_size[up] * net.ns_per_byte[link]
        end = begin + (target - race.clock_v[link])
        if end >= before or end >= following:
            break
        race.clock[0] = end
        race.clock_v[link] += end - begin
        race.clock_t[link] = end
        if shape.replay[server] != UNWATCHED:
            update(shape, race, worker, up, end)
        race.last[worker] = max(race.last[worker], end)
        if race.sending[worker] == 0:
            race.sending_since[worker] = begin
            _book(race, worker, end)
        up += 1
        begin = following
    race.scalar[EVENTS] += max(0, 2 * (up - first) - 1)
    race.next_up[worker, server] = up


def extend(shape: Shape, net: Net, race: Race, worker: int, server: int) -> bool:
    """Extend the busy period by the pushes handed over by now; true if there were any."""
    first = race.next_up[worker, server]
    end = shape.up_start[server + 1]
    up = first
    while up < end and handed_over(shape, net, race, worker, up) <= race.clock[0]:
        up += 1
    if up == first:
        return False
    race.next_up[worker, server] = up
    begun = race.busy_from[worker, server]
    size = shape.up_cum[up + server] - shape.up_cum[begun + server]
    aim(shape, net, race, shape.sizes[K] + server, worker, size)
    return True


def end_busy(shape: Shape, net: Net, race: Race, worker: int, server: int) -> bool:
    """End a busy period, as nothing is left to send; true if more will come in this step."""
    link = shape.sizes[K] + server
    if shape.replay[server] != UNWATCHED:
        end_of_each_push(shape, net, race, worker, server)
    leave(shape, race, link, worker)
    now = race.clock[0]
    race.last[worker] = max(race.last[worker], now)
    race.sending[worker] -= 1
    if race.sending[worker] == 0:
        _book(race, worker, now)
    return await_next(shape, net, race, worker, server)


def _book(race: Race, worker: int, now: float) -> None:
    """Accumulate a time of sending, split by whether the worker computed meanwhile."""
    since = race.sending_since[worker]
    computing = max(0.0, min(now, race.back_end[worker]) - since)
    race.sent_computing[worker] += computing
    race.sent_only[worker] += now - since - computing
