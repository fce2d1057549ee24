"""The fast path's state, made for a job."""

import math
from typing import Any

import numpy as np

from sim.engine import layout as generic
from sim.engine.build import gathered_streams, make_shared, make_streams
from sim.engine.layout import Floats, Ints, Net
from sim.engine.tree import seed, width
from sim.fast.layout import BY_TURNS, Race, Shape
from sim.plan import Sending

_ROWS = 1 << 14
_LOG = 1 << 10


def make_race(shape: Shape, net: Net, sending: Sending, limit: int) -> Race:
    """The state before anything has happened; nobody may do more steps than the limit."""
    workers, servers, forward, processors = (int(n) for n in shape.sizes)
    links = 2 * servers
    ordered = shape.chain[0] == 0
    top, wide = width(links + workers * (servers + 1)), width(workers)
    tree, flow_tree = np.zeros(2 * top, dtype=np.int64), np.zeros(2 * wide * links, dtype=np.int64)
    seed(tree, 0, top)
    for link in range(links):
        seed(flow_tree, link * wide, wide)

    def ints(*size: int) -> Ints:
        return np.zeros(size, dtype=np.int64)

    def floats(*size: int) -> Floats:
        return np.zeros(size)

    sized: dict[str, Any] = {
        "base_v": floats(links, workers),
        "joined": ints(links, workers),
        "log_t": floats(links, _LOG),
        "log_v": floats(links, _LOG),
        "log_n": floats(links, _LOG),
        "next_up": ints(workers, servers),
        "busy_from": ints(workers, servers),
        "free_at": floats(workers, processors),
        "spent": floats(workers, generic.MODES),
        "arrival": floats(workers, shape.down.shape[1]),
        "order": ints(*((workers, shape.down.shape[1]) if ordered else (1, 1))),
        "ring": ints(max(2 * len(shape.up_size), forward) + 1),
        "unmet": ints(forward),
        "taken": ints(servers),
        **_discipline(shape, net, sending, workers),
        "step_row": ints(_ROWS, 2),
        "step_time": floats(_ROWS, 2),
        "limit": np.full(workers, limit, dtype=np.int64),
        "clock": floats(2),
        "scalar": ints(generic.SCALARS),
        "key": np.full(top, np.inf),
        "tree": tree,
        "flow_key": np.full(wide * links, np.inf),
        "flow_tree": flow_tree,
    }
    per_link = {name: ints(links) for name in ("active", "logged", "oldest")}
    per_link_floats = {name: floats(links) for name in ("clock_v", "clock_t")}
    rest = set(Race._fields) - set(sized) - set(per_link) - set(per_link_floats)
    whole = {
        name: ints(workers) if Race.__annotations__[name] == Ints else floats(workers)
        for name in rest
    }
    return Race(**{**sized, **per_link, **per_link_floats, **whole})


def _discipline(shape: Shape, net: Net, sending: Sending, workers: int) -> dict[str, Any]:
    """What the discipline keeps, where it is asked."""
    asked = bool((shape.replay == BY_TURNS).all())
    streams = max(len(shape.down_size), len(shape.up_size)) if asked else 1
    connections = (len(net.ns_per_byte), workers) if asked else (1, 1)
    shared = make_shared(math.prod(connections), int(net.window[1]))
    return {
        "streams": make_streams(streams, net.option, gathered_streams(sending, streams)),
        "unsent": np.zeros(streams, dtype=np.int64),
        "shared": shared.reshape(*connections, -1),
    }


def with_longer_log(race: Race) -> Race:
    """The same state with room for twice as many entries in every log."""
    entries = race.log_t.shape[1]
    longer: dict[str, Any] = {}
    for name in ("log_t", "log_v", "log_n"):
        old = getattr(race, name)
        new = np.zeros((len(old), 2 * entries))
        for link, last in enumerate(race.logged):
            kept = np.arange(max(0, last - entries), last)
            new[link, kept & (2 * entries - 1)] = old[link, kept & (entries - 1)]
        longer[name] = new
    return race._replace(**longer)
