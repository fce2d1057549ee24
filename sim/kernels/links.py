"""Links: connections that have a chunk on them, and the end of the next chunk.

A clocked link has a virtual clock (all get 1/n); on rated links each connection has its own rate.
`docs/background/simulator.md` fixes the arithmetic.
"""

import math

from sim.kernels.arrays import UPLINKS, C, K, Net, Run, Step, W
from sim.kernels.bound import CLOCKED, EXTENDED, rates
from sim.kernels.tree import put, width


def link_leaf(step: Step, link: int) -> int:
    """A link's index among the sources of events: downlinks first, uplinks behind the workers."""
    if link < step.sizes[K]:
        return link
    return step.first_leaf[UPLINKS] + link - step.sizes[K]


def flow_width(step: Step) -> int:
    """Number of leaves of each link's tournament tree."""
    return width(step.sizes[W] * step.channel_at.shape[1])


def flow_leaf(step: Step, connection: int) -> int:
    """A connection's leaf within its link: lowest worker first."""
    worker = connection // step.sizes[C]
    channel = connection - worker * step.sizes[C]
    return worker * step.channel_at.shape[1] + step.leaf_of[channel]


def first_on(step: Step, run: Run, link: int) -> int:
    """The connection whose chunk is the link's next to end."""
    size = flow_width(step)
    leaf = run.flow_tree[2 * link * size + 1]
    most = step.channel_at.shape[1]
    worker = leaf // most
    return worker * step.sizes[C] + step.channel_at[link, leaf - worker * most]


def refresh(step: Step, run: Run, link: int) -> None:
    """Reschedule the end of the link's next chunk."""
    size = flow_width(step)
    soonest = run.flow_key[link * size + run.flow_tree[2 * link * size + 1]]
    if CLOCKED and run.active[link] > 0:
        left = (soonest - run.clock_v[link]) * run.active[link] / run.speed[link]
        soonest = max(run.clock[0], run.clock_t[link] + left)
    _schedule(run, link_leaf(step, link), soonest)


def _schedule(run: Run, leaf: int, time: float) -> None:
    put(run.key, run.tree, 0, len(run.key), leaf, time)


def join(step: Step, net: Net, run: Run, connection: int, link: int) -> None:
    """Add a connection to the link; its chunk follows (`load`)."""
    if CLOCKED:
        settle(run, link)
        run.base_v[connection] = run.clock_v[link]
        run.base_bytes[connection] = 0
        if run.active[link] == 0:
            run.clock_v[link] += saved_ns(net, run, link)
            run.clock_t[link] = run.clock[0]
    run.active[link] += 1
    if run.active[link] == 1:
        _other_direction(step, net, run, link)


def saved_ns(net: Net, run: Run, link: int) -> float:
    """Bucket of a link that rests, as far as it is full, ns at full rate: it is carried at once."""
    if not EXTENDED:
        return 0.0
    return min(net.bucket[link], run.clock[0] - run.clock_t[link])


def leave(step: Step, net: Net, run: Run, connection: int, link: int) -> None:
    """Remove a connection from the link."""
    if CLOCKED:
        settle(run, link)
    run.active[link] -= 1
    target(step, run, connection, link, math.inf)
    if run.active[link] == 0:
        _other_direction(step, net, run, link)
    if not CLOCKED:
        if run.active[link] == 0:
            run.clock_t[link] = run.clock[0]
        share_anew(step, net, run, link)
    refresh(step, run, link)


def load(step: Step, net: Net, run: Run, connection: int, link: int, joined: bool) -> None:
    """Put the connection's next chunk on the link, which it may just have joined."""
    size_bytes = run.chunk_bytes[connection]
    if CLOCKED:
        run.base_bytes[connection] += size_bytes
        until = run.base_v[connection] + run.base_bytes[connection] * net.ns_per_byte[link]
        target(step, run, connection, link, until)
    else:
        run.left_bytes[connection] = size_bytes
        run.since[connection] = run.clock[0]
        if joined and run.active[link] == 1:
            run.left_bytes[connection] -= saved_ns(net, run, link) / net.ns_per_byte[link]
        if joined:
            share_anew(step, net, run, link)
        target(step, run, connection, link, _end(run, connection))
    refresh(step, run, link)


def target(step: Step, run: Run, connection: int, link: int, value: float) -> None:
    """Set the end of a connection's chunk: virtual clock (clocked) or time (rated)."""
    size = flow_width(step)
    put(run.flow_key, run.flow_tree, link * size, size, flow_leaf(step, connection), value)


def settle(run: Run, link: int) -> None:
    """Advance the link's virtual clock to now; that of a link that rests stands still."""
    now = run.clock[0]
    if run.active[link] > 0:
        run.clock_v[link] += (now - run.clock_t[link]) * run.speed[link] / run.active[link]
        run.clock_t[link] = now


def _other_direction(step: Step, net: Net, run: Run, link: int) -> None:
    """Adapt the rates of a port's two directions, one of which has become busy or idle."""
    if net.both_busy[0] == 1.0 or not CLOCKED:
        return
    servers = step.sizes[K]
    other = link - servers if link >= servers else link + servers
    both = run.active[link] > 0 and run.active[other] > 0
    settle(run, other)
    run.speed[link] = run.speed[other] = net.both_busy[0] if both else 1.0
    refresh(step, run, other)


def share_anew(step: Step, net: Net, run: Run, known: int) -> None:
    """Share rated links anew after a join or leave: what is left of chunks, rates, ends.

    The link `known` is refreshed by the caller.
    """
    now = run.clock[0]
    for f in range(len(run.chunk_bytes)):
        if run.chunk_bytes[f] > 0:
            run.left_bytes[f] -= run.rate[f] * (now - run.since[f])
            run.since[f] = now
    rates(step, net, run, 0)
    rates(step, net, run, 1)
    for f in range(len(run.chunk_bytes)):
        if run.chunk_bytes[f] > 0:
            target(step, run, f, step.link_of[f % step.sizes[C]], _end(run, f))
    for link in range(2 * step.sizes[K]):
        if link != known:
            refresh(step, run, link)


def _end(run: Run, connection: int) -> float:
    """Time at which a rated chunk ends if nothing changes."""
    left = max(0.0, run.left_bytes[connection])
    return run.since[connection] + left / run.rate[connection]
