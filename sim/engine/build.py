"""Build the engines' arrays from plans and settings."""

from collections.abc import Callable, Sequence
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from h2model import disciplines
from h2model.state import CONNECTION_CREDIT, CURRENT, HEAD, NONE, SHARED_SIZE, TAIL, State
from netcosim.training.plan import DOWN, WORKER, Draws, StepPlan
from netcosim.training.speed import SpeedTrace
from sim.engine.calls import with_calls
from sim.engine.control import Control
from sim.engine.gates import gate_state, gate_tables
from sim.engine.parts import part_state, part_tables
from sim.kernels import arrays
from sim.kernels.arrays import C, Floats, G, Ints, K, N, Net, P, Run, Step, T, U, W
from sim.kernels.tree import seed, width
from sim.plan import Calls, Network, Sending

UNBOUNDED = 2**62
NOBODY_WAITS = 2**62
_SMALL_BYTES = 64
_JOINS = {"step": arrays.BY_STEP, "tensor": arrays.BY_TENSOR}


def make_step(plan: StepPlan, workers: int, calls: Calls | None = None) -> Step:
    """Build a plan's arrays for so many workers."""
    plan, call = with_calls(plan, calls)
    channels = len(plan.channels)
    transfer = plan.place < channels
    shared = np.array([p.shared for p in plan.processors], dtype=bool)
    slot = np.full(plan.operations, NONE, dtype=np.int64)
    slot[transfer] = np.arange(transfer.sum())
    all_places = np.array([p.capacity for p in plan.processors], dtype=np.int64)
    capacity = np.where(shared, 0, all_places)
    processor_of = np.where(transfer, NONE, plan.place - channels)
    members = np.bincount(processor_of[~transfer], minlength=len(plan.processors))
    link_of = [c.server if c.direction == DOWN else plan.servers + c.server for c in plan.channels]
    at_worker = np.array([int(p.node == WORKER) for p in plan.processors], dtype=np.int64)
    on_link, leaf_of, channel_at = _on_links(link_of, 2 * plan.servers)
    return Step(
        place=plan.place,
        size_bytes=plan.size_bytes,
        waits=plan.waits,
        priority=plan.priority,
        after_start=plan.after_start,
        after=plan.after,
        sources=plan.sources,
        duration_ns=plan.duration_ns,
        slot=slot,
        slot_op=np.flatnonzero(transfer).astype(np.int64),
        processor_of=processor_of,
        first_place=_starts(capacity),
        places=capacity,
        queue_start=_starts(members),
        at_worker=at_worker,
        place_of=np.repeat(np.arange(len(capacity)), capacity).astype(np.int64),
        link_of=np.array(link_of, dtype=np.int64),
        **_sources(
            workers,
            plan.servers,
            capacity,
            at_worker,
            channels,
            all_places[shared].sum(),
            len(plan.gates),
        ),
        leaf_of=leaf_of,
        on_link=on_link,
        channel_at=channel_at,
        sizes=np.array(
            [
                workers,
                channels,
                plan.servers,
                plan.operations,
                int(transfer.sum()),
                len(plan.processors),
                int(capacity[at_worker == 1].sum()),
                int(capacity.sum()),
                len(plan.gates),
            ],
            dtype=np.int64,
        ),
        **_shared_processors(shared, all_places, members, workers),
        **joined_updates(plan),
        **gate_tables(plan),
        **part_tables(plan, int((call != NONE).sum())),
        call=call,
    )


def _shared_processors(
    shared: NDArray[np.bool_], places: Ints, members: Ints, workers: int
) -> dict[str, Ints]:
    """Number, places and queue of each processor that all workers share.

    A queue has room for all that all workers, and the job itself, can have there at one time.
    """
    number = np.full(len(shared), NONE, dtype=np.int64)
    number[shared] = np.arange(shared.sum())
    room = members[shared] * (workers + 1)
    return {
        "shared_of": number,
        "shared_first": np.concatenate([[0], np.cumsum(places[shared])]).astype(np.int64),
        "shared_queue": np.concatenate([[0], np.cumsum(room)]).astype(np.int64),
        "shared_processor": np.repeat(number[shared], places[shared]).astype(np.int64),
    }


def joined_updates(plan: StepPlan) -> dict[str, Ints]:
    """Updates that are done once for all workers, what they wait for, and who waits for them."""
    operations, nothing = plan.operations, np.zeros(0, dtype=np.int64)
    once = np.zeros(operations, dtype=np.int64) if plan.once is None else plan.once
    after = plan.pulled_after
    pulled_after = np.full(operations, NONE, dtype=np.int64) if after is None else after
    pulls = np.flatnonzero(pulled_after != NONE)
    order = np.argsort(pulled_after[pulls], kind="stable")
    edges = np.repeat(np.arange(operations), np.diff(plan.after_start))
    joint = once[edges] == 1
    behind = edges[joint][np.argsort(plan.after[joint], kind="stable")]
    released = nothing.reshape(1, 0) if plan.released is None else plan.released
    return {
        "update": np.flatnonzero(once).astype(np.int64),
        "once": once,
        "pulled_after": pulled_after,
        "pull": pulls[order].astype(np.int64),
        "pull_start": _ranges(pulled_after[pulls], operations),
        "released": released,
        "behind": behind.astype(np.int64),
        "behind_start": _ranges(plan.after[joint], operations),
    }


def _ranges(of: Ints, count: int) -> Ints:
    """(count + 1,) where the entries of each number begin, once they are sorted."""
    return np.concatenate([[0], np.cumsum(np.bincount(of, minlength=count))]).astype(np.int64)


def _sources(
    workers: int,
    servers: int,
    capacity: Ints,
    at_worker: Ints,
    channels: int,
    shared_places: int,
    gates: int,
) -> dict[str, Ints]:
    """Sources of events, in the order in which simultaneous events are processed."""
    here = int(capacity[at_worker == 1].sum())
    places = np.arange(capacity.sum(), dtype=np.int64)
    everyone = np.arange(workers, dtype=np.int64)
    flows = np.arange(workers * channels, dtype=np.int64)
    nobody = np.full(servers, NONE, dtype=np.int64)
    classes = [
        (nobody, np.arange(servers)),
        (np.repeat(everyone, here), np.tile(places[:here], workers)),
        (nobody, np.arange(servers, 2 * servers)),
        (np.repeat(everyone, len(places) - here), np.tile(places[here:], workers)),
        (np.full(shared_places, NONE), np.arange(shared_places)),
        (flows // max(channels, 1), flows),
        (everyone, np.zeros(workers)),
        (np.repeat(everyone, gates), np.arange(workers * gates)),
    ]
    return {
        "who": np.concatenate([who for who, _ in classes]).astype(np.int64),
        "what": np.concatenate([what for _, what in classes]).astype(np.int64),
        "first_leaf": np.cumsum([0, *(len(who) for who, _ in classes[:-1])], dtype=np.int64),
    }


def _starts(counts: Ints) -> Ints:
    return np.concatenate([[0], np.cumsum(counts)[:-1]]).astype(np.int64)[: len(counts)]


def _on_links(link_of: Sequence[int], links: int) -> tuple[Ints, Ints, Ints]:
    """Number of channels on each link, each channel's index on its link, and the inverse."""
    count = np.bincount(np.array(link_of, dtype=np.int64), minlength=links).astype(np.int64)
    leaf_of = np.zeros(len(link_of), dtype=np.int64)
    channel_at = np.zeros((links, max(1, int(count.max(initial=1)))), dtype=np.int64)
    seen = [0] * links
    for channel, link in enumerate(link_of):
        leaf_of[channel] = seen[link]
        channel_at[link, seen[link]] = channel
        seen[link] += 1
    return count, leaf_of, channel_at


def make_net(
    network: Network,
    sending: Sending,
    draws: Draws,
    control: Control,
    speeds: Sequence[SpeedTrace | None],
    gate_rates: Ints | None = None,
) -> Net:
    """Build the arrays of links, random draws and what the run keeps; without gates no rates.

    Raises
    ------
    ValueError
        Factors for other workers or steps than are drawn: compiled code would read past them.
    """
    workers, steps = draws.step.shape
    if draws.factor.shape not in ((workers, steps), (workers, 1)):
        allowed = f"must be ({workers}, {steps}) or ({workers}, 1)"
        raise ValueError(f"factor: shape {draws.factor.shape}: {allowed}")
    delayed = bool(network.delay_ns.any())
    server = network.server_bps.astype(np.float64)
    ports = np.concatenate([server, network.worker_bps.astype(np.float64)]) / 8e9
    start, time, work = _speed_arrays(speeds)
    window = UNBOUNDED if sending.window_bytes is None else sending.window_bytes
    connection = sending.connection_window_bytes
    bound, join = control.staleness, control.join
    return Net(
        ns_per_byte=np.tile(8e9 / server, 2),
        capacity=np.stack([ports, ports]),
        both_busy=np.array([network.both_busy]),
        bucket=network.bucket_bytes * np.tile(8e9 / server, 2),
        delay_ns=network.delay_ns.astype(np.float64),
        window=np.array([window, UNBOUNDED if connection is None else connection]),
        budget=np.array([sending.chunk_bytes]),
        buffer=np.array(
            [sending.buffer_bytes, sending.buffer_bytes > 0 and sending.writes_each], dtype=np.int64
        ),
        option=np.array(sending.options, dtype=np.int64),
        draw=draws.step.astype(np.int32, copy=False),
        factor=draws.factor,
        speed_start=start,
        speed_time=time,
        speed_work=work,
        staleness=np.array([NOBODY_WAITS if bound is None else bound]),
        flag=np.array(
            [
                control.keep_operations,
                control.keep_chunks,
                control.stop_at_steps,
                control.count_from,
                delayed,
                control.stop_at_last,
                arrays.NO_JOIN if join is None else _JOINS[join.by],
                0 if join is None else join.first,
                control.in_parts,
            ],
            dtype=np.int64,
        ),
        gate_option=np.array(sending.schedule_options, dtype=np.int64),
        gate_rate=np.zeros((0, 1), dtype=np.int64) if gate_rates is None else gate_rates,
    )


def _speed_arrays(speeds: Sequence[SpeedTrace | None]) -> tuple[Ints, Floats, Floats]:
    times = [np.empty(0) if s is None else s.time_ns for s in speeds]
    works = [np.empty(0) if s is None else s.work_ns for s in speeds]
    start = np.concatenate([[0], np.cumsum([len(t) for t in times])]).astype(np.int64)
    return start, np.concatenate([*times, np.empty(0)]), np.concatenate([*works, np.empty(0)])


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


def zeros(kind: type) -> Callable[..., NDArray[Any]]:
    """Function that makes arrays of zeros of this type from their shape."""
    return lambda *shape: np.zeros(shape, dtype=kind)


def gathered_streams(sending: Sending, streams: int) -> int:
    """Most entries of one write of a connection with so many streams; 1 without writes."""
    gathers = disciplines.traits(sending.discipline).gathers
    return 2 * streams + 8 if gathers else 1


def make_streams(slots: int, option: Ints, gathered: int = 1) -> State:
    """Build the disciplines' tables; `shared` and writes are kept per connection elsewhere."""

    def filled(value: int) -> Ints:
        return np.full(slots, value, dtype=np.int64)

    parts = {name: filled(0) for name in State._fields}
    parts |= {"before": filled(NONE), "after": filled(NONE), "option": option}
    parts |= {name: np.zeros(gathered, dtype=np.int64) for name in ("plan_slot", "plan_bytes")}
    parts["shared"] = np.zeros(1, dtype=np.int64)
    return State(**cast("dict[str, list[int]]", parts))


def make_shared(flows: int, connection_window: int) -> Ints:
    """(flows, SHARED_SIZE) state that each connection's discipline has of its own."""
    shared = np.zeros((flows, SHARED_SIZE), dtype=np.int64)
    shared[:, [HEAD, TAIL, CURRENT]] = NONE
    shared[:, CONNECTION_CREDIT] = connection_window
    return shared
