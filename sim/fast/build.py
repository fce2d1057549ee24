"""Build the fast path's state for a job."""

import math
from typing import Any

import numpy as np

from sim.engine.stream_tables import gathered_streams, make_shared, make_streams, zeros
from sim.fast.arrays import BY_DISCIPLINE, JOIN_END, FastRun, K, Shape, W
from sim.kernels import arrays as generic
from sim.kernels.arrays import Net
from sim.kernels.tree import seed, width
from sim.plan import Sending

_ROWS = 1 << 14
_LOG = 1 << 10


def with_workers(shape: Shape, workers: int) -> Shape:
    """The shape with its sizes and sources of events for so many workers."""
    sizes = shape.sizes.copy()
    sizes[W] = workers
    servers = int(sizes[K])
    leaves = [servers, workers * servers, servers, workers]
    return shape._replace(sizes=sizes, first_leaf=np.cumsum([0, *leaves], dtype=np.int64))


def make_fast_run(shape: Shape, net: Net, sending: Sending, limit: int) -> FastRun:
    """Build the initial state of a run; no worker may do more steps than the limit."""
    workers, servers, forward, processors = (int(n) for n in shape.sizes)
    downs = len(shape.down_size)
    links = 2 * servers
    joined = int(len(shape.joint) > 0)
    top, wide = width(int(shape.first_leaf[JOIN_END]) + joined), width(workers)
    tree, flow_tree = np.zeros(2 * top, dtype=np.int64), np.zeros(2 * wide * links, dtype=np.int64)
    seed(tree, 0, top)
    for link in range(links):
        seed(flow_tree, link * wide, wide)

    ints, floats = zeros(np.int64), zeros(np.float64)
    return FastRun(
        clock=floats(2),
        scalar=ints(generic.SCALARS),
        key=np.full(top, np.inf),
        tree=tree,
        flow_key=np.full(wide * links, np.inf),
        flow_tree=flow_tree,
        clock_v=floats(links),
        clock_t=floats(links),
        active=ints(links),
        base_v=floats(links, workers),
        joined=ints(links, workers),
        log_t=floats(links, _LOG),
        log_v=floats(links, _LOG),
        log_n=floats(links, _LOG),
        logged=ints(links),
        oldest=ints(links),
        downs_left=ints(workers),
        ups_left=ints(workers),
        next_up=ints(workers, servers),
        busy_from=ints(workers, servers),
        forward_end=floats(workers),
        backward_end=floats(workers),
        down_end=floats(workers),
        free_at=floats(workers, processors),
        last=floats(workers),
        gathered=floats(1),
        gathered_rec=ints(1),
        place_free=floats(int(shape.joint_first[-1])),
        sending=ints(workers),
        sending_since=floats(workers),
        sent_computing=floats(workers),
        sent_only=floats(workers),
        ended_at=floats(workers),
        rec=ints(workers),
        done=ints(workers),
        limit=np.full(workers, limit, dtype=np.int64),
        presence=ints(workers),
        started=floats(workers),
        spent=floats(workers, generic.MODES),
        start_requested=ints(workers),
        arrival=floats(workers, downs),
        order=ints(1, 1) if shape.chain[0] else ints(workers, downs),
        queue=ints(max(2 * len(shape.up_size), forward) + 1),
        visit=ints(2 * len(shape.up_size) + 1),
        unmet=ints(forward),
        taken=ints(servers),
        **_discipline(shape, net, sending, workers),
        step_row=ints(_ROWS, 2),
        step_time=floats(_ROWS, 2),
    )


def _discipline(shape: Shape, net: Net, sending: Sending, workers: int) -> dict[str, Any]:
    """Arrays of the discipline's state; of minimal size where it is not asked."""
    asked = bool((shape.replay == BY_DISCIPLINE).all())
    streams = max(len(shape.down_size), len(shape.up_size)) if asked else 1
    connections = (len(net.ns_per_byte), workers) if asked else (1, 1)
    shared = make_shared(math.prod(connections), int(net.window[1]))
    return {
        "streams": make_streams(streams, net.option, gathered_streams(sending, streams)),
        "unsent": np.zeros(streams, dtype=np.int64),
        "shared": shared.reshape(*connections, -1),
    }


def with_longer_log(run: FastRun) -> FastRun:
    """The state with room for twice as many entries in every log."""
    entries = run.log_t.shape[1]
    longer: dict[str, Any] = {}
    for name in ("log_t", "log_v", "log_n"):
        old = getattr(run, name)
        new = np.zeros((len(old), 2 * entries))
        for link, last in enumerate(run.logged):
            kept = np.arange(max(0, last - entries), last)
            new[link, kept & (2 * entries - 1)] = old[link, kept & (entries - 1)]
        longer[name] = new
    return run._replace(**longer)
