"""Links with a virtual clock, and a log of it from which past completion times are read.

The arithmetic is that of `sim.kernels.links`; `docs/background/simulator.md` fixes it.
"""

import math

from sim.fast.layout import K, Race, Shape, W
from sim.kernels.layout import Net
from sim.kernels.tree import put


def link_leaf(shape: Shape, link: int) -> int:
    """A link's index among the sources of events: downlinks, hand-overs, uplinks, ends of steps."""
    servers = shape.sizes[K]
    return link if link < servers else link + shape.sizes[W] * servers


def width(race: Race) -> int:
    """Number of leaves of each link's tournament tree."""
    return len(race.flow_key) // len(race.active)


def refresh(shape: Shape, race: Race, link: int) -> None:
    """Reschedule the end of the link's busy period that ends first."""
    size = width(race)
    soonest = race.flow_key[link * size + race.flow_tree[2 * link * size + 1]]
    if race.active[link] > 0:
        left = (soonest - race.clock_v[link]) * race.active[link]
        soonest = max(race.clock[0], race.clock_t[link] + left)
    put(race.key, race.tree, 0, len(race.key), link_leaf(shape, link), soonest)


def join(race: Race, link: int, worker: int) -> None:
    """Add a worker's connection to the link."""
    _settle(race, link, 1)
    race.base_v[link, worker] = race.clock_v[link]
    race.joined[link, worker] = race.logged[link] - 1


def aim(shape: Shape, net: Net, race: Race, link: int, worker: int, size_bytes: int) -> None:
    """Set the end of a worker's busy period: when so many bytes have left since it joined."""
    target = race.base_v[link, worker] + size_bytes * net.ns_per_byte[link]
    size = width(race)
    put(race.flow_key, race.flow_tree, link * size, size, worker, target)
    refresh(shape, race, link)


def leave(shape: Shape, race: Race, link: int, worker: int) -> None:
    """Remove a worker's connection from the link."""
    _settle(race, link, -1)
    size = width(race)
    put(race.flow_key, race.flow_tree, link * size, size, worker, math.inf)
    refresh(shape, race, link)


def _settle(race: Race, link: int, change: int) -> None:
    """Advance the link's clock to now, change the number of active connections, and log it."""
    now = race.clock[0]
    if race.active[link] > 0:
        race.clock_v[link] += (now - race.clock_t[link]) / race.active[link]
    race.clock_t[link] = now
    race.active[link] += change
    mask = race.log_t.shape[1] - 1
    last = (race.logged[link] - 1) & mask
    if race.logged[link] == 0 or race.log_t[link, last] != now:
        race.logged[link] += 1
        last = (race.logged[link] - 1) & mask
    race.log_t[link, last] = now
    race.log_v[link, last] = race.clock_v[link]
    race.log_n[link, last] = race.active[link]


def has_room(race: Race, link: int) -> bool:
    """True if the log has room for one event, once entries no longer needed are given up."""
    entries = race.log_t.shape[1]
    if race.logged[link] - race.oldest[link] < entries - 2:
        return True
    oldest = race.logged[link] - 1
    size = width(race)
    for worker in range(race.base_v.shape[1]):
        if race.flow_key[link * size + worker] < math.inf:
            oldest = min(oldest, race.joined[link, worker])
    race.oldest[link] = oldest
    return race.logged[link] - oldest < entries - entries // 4


def entry_at(race: Race, link: int, entry: int, target: float) -> int:
    """The last entry, from a given one on, at which the clock had not passed the target."""
    mask = race.log_t.shape[1] - 1
    last = race.logged[link] - 1
    stride = 1
    while entry + stride <= last and race.log_v[link, (entry + stride) & mask] <= target:
        entry += stride
        stride *= 2
    while stride > 0:
        if entry + stride <= last and race.log_v[link, (entry + stride) & mask] <= target:
            entry += stride
        stride //= 2
    return entry


def time_at(race: Race, link: int, entry: int, target: float) -> float:
    """Time at which the clock reached the target, read from the entry that `entry_at` found."""
    i = entry & (race.log_t.shape[1] - 1)
    return race.log_t[link, i] + (target - race.log_v[link, i]) * race.log_n[link, i]
