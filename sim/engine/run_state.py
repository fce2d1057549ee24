"""State of a run of the generic engine, as it begins."""

from typing import Any

import numpy as np

from h2model.state import NONE
from sim.engine.gates import gate_state
from sim.engine.parts import part_state
from sim.engine.stream_tables import gathered_streams, make_shared, make_streams, zeros
from sim.kernels import arrays
from sim.kernels.arrays import C, G, Ints, K, N, Net, P, Run, Step, T, U, W
from sim.kernels.tree import seed, width
from sim.plan import Sending

_SMALL_BYTES = 64


def make_run(step: Step, net: Net, sending: Sending, limit: int, rows: int) -> Run:
    """Build the initial state of a run; every worker is absent."""
    return Run(
        clock=np.zeros(2),
        scalar=_scalars(step),
        **_event_sources(step, net),
        **_links(step, net),
        **_chunks(step),
        **_ahead(step, sending),
        **_discipline(step, net, sending),
        **_progress(step, limit),
        **_processors(step),
        **_lines(step, net),
        **_modes(step),
        **_tables(step, net, rows),
        **_shared_state(step),
        **_join_state(step),
        **gate_state(step, net),
        **part_state(step),
    )


def _scalars(step: Step) -> Ints:
    scalars = np.zeros(arrays.SCALARS, dtype=np.int64)
    scalars[arrays.FREED] = NONE
    scalars[arrays.AT_COMPLETE] = len(step.update)
    return scalars


def _event_sources(step: Step, net: Net) -> dict[str, Any]:
    """Tournaments: among all sources of events, and among the connections of each link."""
    workers, links = int(step.sizes[W]), 2 * int(step.sizes[K])
    sources = links + workers * int(step.sizes[U]) + len(step.shared_processor)
    if net.flag[arrays.DELAYED] or net.flag[arrays.IN_PARTS]:
        sources += workers * (int(step.sizes[C]) + 1 + int(step.sizes[G]))
    top, wide = width(sources), width(workers * step.channel_at.shape[1])
    tree, flow_tree = np.zeros(2 * top, dtype=np.int64), np.zeros(2 * wide * links, dtype=np.int64)
    seed(tree, 0, top)
    for link in range(links):
        seed(flow_tree, link * wide, wide)
    return {
        "key": np.full(top, np.inf),
        "tree": tree,
        "flow_key": np.full(wide * links, np.inf),
        "flow_tree": flow_tree,
    }


def _links(step: Step, net: Net) -> dict[str, Any]:
    """Clocks of links with full buckets, and room for shares to work out rates."""
    links, ports = 2 * int(step.sizes[K]), int(step.sizes[K] + step.sizes[W])
    ints, floats = zeros(np.int64), zeros(np.float64)
    return {
        "clock_v": floats(links),
        "clock_t": -net.bucket,
        "speed": np.ones(links),
        "active": ints(links),
        "port_left": floats(ports),
        "port_users": ints(ports),
        "decided": ints(_connections(step)),
    }


def _chunks(step: Step) -> dict[str, Any]:
    """The chunk of each connection, and which connections are to choose one."""
    connections = _connections(step)
    ints, floats = zeros(np.int64), zeros(np.float64)
    return {
        "chunk_slot": np.full(connections, NONE, dtype=np.int64),
        "chunk_bytes": ints(connections),
        "chunk_start": floats(connections),
        "base_v": floats(connections),
        "base_bytes": ints(connections),
        "left_bytes": floats(connections),
        "rate": floats(connections),
        "since": floats(connections),
        "todo": ints(connections),
        "noted": ints(connections),
    }


def _ahead(step: Step, sending: Sending) -> dict[str, Any]:
    """Chunks that are chosen ahead: none; as many as a buffer of small messages can have."""
    connections, ints = _connections(step), zeros(np.int64)
    room = sending.buffer_bytes // _SMALL_BYTES + int(step.sizes[T]) if sending.buffer_bytes else 1
    return {
        "ahead_slot": ints(connections, room),
        "ahead_bytes": ints(connections, room),
        "ahead_head": ints(connections),
        "ahead_count": ints(connections),
        "ahead_sum": ints(connections),
    }


def _discipline(step: Step, net: Net, sending: Sending) -> dict[str, Any]:
    """State of the disciplines, by stream and by connection."""
    connections, transfers = _connections(step), int(step.sizes[T])
    streams = int(step.sizes[W]) * transfers
    ints, gathered = zeros(np.int64), gathered_streams(sending, transfers)
    return {
        "connections": make_streams(streams, net.option),
        "shared": make_shared(connections, int(net.window[1])),
        "plan_slot": ints(connections, gathered),
        "plan_bytes": ints(connections, gathered),
        "unsent": ints(streams),
    }


def _progress(step: Step, limit: int) -> dict[str, Any]:
    """Steps of each worker, and what is left of the one that it is in."""
    workers = int(step.sizes[W])
    ints = zeros(np.int64)
    return {
        "waits": ints(workers, int(step.sizes[N])),
        "ops_left": ints(workers),
        "rec": ints(workers),
        "done": ints(workers),
        "limit": np.full(workers, limit, dtype=np.int64),
        "presence": ints(workers),
        "started": np.zeros(workers),
        "start_requested": ints(workers),
    }


def _processors(step: Step) -> dict[str, Any]:
    """Queues and places of processors, all of them free."""
    workers, ops, processors = int(step.sizes[W]), int(step.sizes[N]), int(step.sizes[P])
    ints = zeros(np.int64)
    return {
        "queue": ints(workers, ops),
        "head": ints(workers, processors),
        "tail": ints(workers, processors),
        "running": np.full((workers, int(step.sizes[U])), NONE, dtype=np.int64),
        "rest": np.full((workers, ops), -1.0),
    }


def _lines(step: Step, net: Net) -> dict[str, Any]:
    """Transfers on their way after the last byte; of minimal size without delays."""
    lines = _connections(step) if net.flag[arrays.DELAYED] else 1
    transfers = int(step.sizes[T])
    ints = zeros(np.int64)
    return {
        "line_op": ints(lines, transfers),
        "line_time": np.zeros((lines, transfers)),
        "line_head": ints(lines),
        "line_tail": ints(lines),
    }


def _modes(step: Step) -> dict[str, Any]:
    """Time of each worker by mode; all wait."""
    workers = int(step.sizes[W])
    ints, floats = zeros(np.int64), zeros(np.float64)
    return {
        "mode": np.full(workers, arrays.WAITING, dtype=np.int64),
        "mode_since": floats(workers),
        "spent": floats(workers, arrays.MODES),
        "downs": ints(workers),
        "ups": ints(workers),
        "computes": ints(workers),
    }


def _tables(step: Step, net: Net, rows: int) -> dict[str, Any]:
    """Tables of results with so many rows; those that are not kept are of minimal size."""
    kept, chunks_kept = bool(net.flag[arrays.KEEP_ROWS]), bool(net.flag[arrays.KEEP_CHUNKS])
    workers, ops = int(step.sizes[W]) + 1 if kept else 1, int(step.sizes[N])
    operations, chunks = rows if kept else 1, rows if chunks_kept else 1
    ints, floats = zeros(np.int64), zeros(np.float64)
    return {
        "ready": floats(workers, ops),
        "begun": floats(workers, ops),
        "row": ints(operations, 3),
        "row_time": floats(operations, 3),
        "chunk": ints(chunks, 4),
        "chunk_time": floats(chunks, 2),
        "step_row": ints(rows, 3),
        "step_time": floats(rows, 2),
    }


def _shared_state(step: Step) -> dict[str, Any]:
    """Queues and places of the processors that all workers share, all of them free."""
    processors, ints = len(step.shared_first) - 1, zeros(np.int64)
    return {
        "shared_running": np.full(len(step.shared_processor), NONE, dtype=np.int64),
        "shared_line": ints(int(step.shared_queue[-1])),
        "shared_head": ints(processors),
        "shared_count": ints(processors),
        "idle_from": np.zeros(processors),
        "idle_to": np.full(processors, np.inf),
    }


def _join_state(step: Step) -> dict[str, Any]:
    """Updates that are done once for all: none was made, and nobody's gradients have arrived."""
    workers, ops = int(step.sizes[W]), int(step.sizes[N])
    ints = zeros(np.int64)
    joined = workers if len(step.update) else 1
    return {
        "made": ints(ops),
        "handed_over": ints(ops),
        "counted": ints(ops),
        "last_counted": ints(ops),
        "sent_step": np.full((joined, ops), NONE, dtype=np.int64),
        "counted_step": np.full((joined, ops), NONE, dtype=np.int64),
        "sent": ints(workers),
        "counted_for": ints(workers),
    }


def _connections(step: Step) -> int:
    return int(step.sizes[W] * step.sizes[C])
