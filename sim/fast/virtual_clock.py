"""Links with a virtual clock, and a log of it from which past completion times are read.

The arithmetic is that of `sim.kernels.links`; `docs/background/simulator.md` fixes it.
"""

import math

from sim.fast.arrays import FastRun, Shape
from sim.fast.sources import link_leaf, schedule
from sim.kernels.arrays import Net
from sim.kernels.tree import put


def width(run: FastRun) -> int:
    """Number of leaves of each link's tournament tree."""
    return len(run.flow_key) // len(run.active)


def refresh(shape: Shape, run: FastRun, link: int) -> None:
    """Reschedule the end of the link's busy period that ends first."""
    size = width(run)
    soonest = run.flow_key[link * size + run.flow_tree[2 * link * size + 1]]
    if run.active[link] > 0:
        left = (soonest - run.clock_v[link]) * run.active[link]
        soonest = max(run.clock[0], run.clock_t[link] + left)
    schedule(run, link_leaf(shape, link), soonest)


def join(run: FastRun, link: int, worker: int) -> None:
    """Add a worker's connection to the link."""
    _settle(run, link, 1)
    run.base_v[link, worker] = run.clock_v[link]
    run.joined[link, worker] = run.logged[link] - 1


def aim(shape: Shape, net: Net, run: FastRun, link: int, worker: int, size_bytes: int) -> None:
    """Set the end of a worker's busy period: when so many bytes have left since it joined."""
    target = run.base_v[link, worker] + size_bytes * net.ns_per_byte[link]
    size = width(run)
    put(run.flow_key, run.flow_tree, link * size, size, worker, target)
    refresh(shape, run, link)


def leave(shape: Shape, run: FastRun, link: int, worker: int) -> None:
    """Remove a worker's connection from the link."""
    _settle(run, link, -1)
    size = width(run)
    put(run.flow_key, run.flow_tree, link * size, size, worker, math.inf)
    refresh(shape, run, link)


def _settle(run: FastRun, link: int, change: int) -> None:
    """Advance the link's clock to now, change the number of active connections, and log it."""
    now = run.clock[0]
    if run.active[link] > 0:
        run.clock_v[link] += (now - run.clock_t[link]) / run.active[link]
    run.clock_t[link] = now
    run.active[link] += change
    mask = run.log_t.shape[1] - 1
    last = (run.logged[link] - 1) & mask
    if run.logged[link] == 0 or run.log_t[link, last] != now:
        run.logged[link] += 1
        last = (run.logged[link] - 1) & mask
    run.log_t[link, last] = now
    run.log_v[link, last] = run.clock_v[link]
    run.log_n[link, last] = run.active[link]


def has_room(run: FastRun, link: int) -> bool:
    """True if the log has room for one event, once entries no longer needed are given up."""
    entries = run.log_t.shape[1]
    if run.logged[link] - run.oldest[link] < entries - 2:
        return True
    oldest = run.logged[link] - 1
    size = width(run)
    for worker in range(run.base_v.shape[1]):
        if run.flow_key[link * size + worker] < math.inf:
            oldest = min(oldest, run.joined[link, worker])
    run.oldest[link] = oldest
    return run.logged[link] - oldest < entries - entries // 4


def when_left(
    net: Net, run: FastRun, link: int, worker: int, sent_bytes: int, entry: int
) -> tuple[int, float]:
    """Time at which so many bytes of a busy period had left, behind the log's entry for it.

    `entry` is one to search from: that of fewer bytes, or of the period's begin.
    """
    target = run.base_v[link, worker] + sent_bytes * net.ns_per_byte[link]
    entry = entry_at(run, link, entry, target)
    return entry, time_at(run, link, entry, target)


def entry_at(run: FastRun, link: int, entry: int, target: float) -> int:
    """The last entry, from a given one on, at which the clock had not passed the target."""
    mask = run.log_t.shape[1] - 1
    last = run.logged[link] - 1
    stride = 1
    while entry + stride <= last and run.log_v[link, (entry + stride) & mask] <= target:
        entry += stride
        stride *= 2
    while stride > 0:
        if entry + stride <= last and run.log_v[link, (entry + stride) & mask] <= target:
            entry += stride
        stride //= 2
    return entry


def time_at(run: FastRun, link: int, entry: int, target: float) -> float:
    """Time at which the clock reached the target, read from the entry that `entry_at` found."""
    i = entry & (run.log_t.shape[1] - 1)
    return run.log_t[link, i] + (target - run.log_v[link, i]) * run.log_n[link, i]
