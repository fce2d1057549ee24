"""The flat arrays that the generic engine works on.

`Step` and `Net` describe the job and never change. `Run` is the whole state of a simulation: who
has it can stop, look, change it and go on.

Shapes: W workers, C channels, F = W * C connections (worker-major), K servers, L = 2 * K links
(downlinks first), n operations, T transfers, P processors, U places of processors, G gates of a
worker, M messages of the gate that has most, H = W * G gates (worker-major).
"""

from typing import Final, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from h2model.state import State

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]

NONE: Final = -1

# What `advance` returns.
TIME: Final = 0
"""The next event is later than the time given."""
IDLE: Final = 1
"""No event is left."""
BOUNDARY: Final = 2
"""A worker has ended a step; `Run.scalar[ENDED]` says which."""
FULL: Final = 3
"""A table of results has no room left; empty it and go on."""
LAST: Final = 5
"""A worker has ended its last step, where `STOP_AT_LAST` is set (4 is the fast path's)."""

# Indices into Run.scalar.
ENDED: Final = 0
ROWS: Final = 1
CHUNKS: Final = 2
STEPS: Final = 3
TODO: Final = 4
SLOWEST: Final = 5
"""Steps ended by the slowest worker that takes part."""
AT_SLOWEST: Final = 6
EVENTS: Final = 7
START_REQUESTS: Final = 8
"""Number of workers asked to begin a step."""
FREED: Final = 9
"""Source of events of the place whose computation has just ended; NONE if there is none."""
COMPLETE: Final = 10
"""Steps of which every update was made, where gradients are joined."""
AT_COMPLETE: Final = 11
"""Updates that were made so often and no oftener."""
NEEDED: Final = 12
"""Workers whose gradients an update takes."""
COUNTED: Final = 13
"""Workers counted for the step that is next to be handed over, where they are joined by step."""
HANDED_OVER: Final = 14
"""Steps whose updates were handed over, where they are joined by step."""
GATES_TODO: Final = 15
"""Gates that are to be asked."""
SCALARS: Final = 16

# Columns of Run.joined: what a server has joined, where each node goes on by its own state.
MADE_STEPS: Final = 0
"""Steps of which all its updates are made."""
HANDED_STEPS: Final = 1
"""Steps whose updates were handed over."""
COUNTED_WORKERS: Final = 2
"""Workers whose gradients have arrived for the step that is next to be handed over."""
UPDATES_LEFT: Final = 3
"""Updates of the step that was handed over last which are still to be made."""

# Bits of Run.mode: a worker's activities.
RECEIVING: Final = 1
COMPUTING: Final = 2
SENDING: Final = 4
MODES: Final = 9
"""Combinations of the three, and a ninth: between two steps."""
WAITING: Final = 8

# Values of Run.presence.
ABSENT: Final = 0
PRESENT: Final = 1
BUSY: Final = 2
"""In the midst of a step."""


class Step(NamedTuple):
    """One worker's step; see `netcosim.training.plan.StepPlan`.

    Attributes
    ----------
    place, size_bytes, waits, priority : (n,)
    after_start, after : (n + 1,), (edges,)
    sources : (recorded steps, sources)
    duration_ns : (recorded steps, n)
    slot : (n,) number of a transfer among all transfers; NONE for computations
    slot_op : (T,) the way back
    processor_of : (n,) processor of a computation; NONE for transfers
    first_place, places : (P,) where a processor's places begin, and how many it has
    queue_start : (P,) where its queue begins among the n entries of a worker's queues
    at_worker : (P,) 1 where the worker's own factor and speed count
    place_of : (U,) processor of a place
    link_of : (C,) link of a channel
    who, what : (sources of events,) worker and place, connection or link of each
    leaf_of : (C,) its number among the channels of that link
    on_link : (L,) channels of a link
    channel_at : (L, most channels of a link) the way back from `leaf_of`
    first_leaf : (8,) where each class of sources of events begins; see DOWNLINKS and so on
    sizes : (9,) W, C, K, n, T, P, U_worker, U, G
    shared_of : (P,) number of a processor that all workers share; NONE if each has its own
    shared_first, shared_queue : (S + 1,) where its places and its queue begin
    shared_processor : (places of shared processors,) the way back
    update : (updates,) operations that are done once for all workers
    once : (n,) 1 for these
    pulled_after : (n,) update of the step before that a first pull needs; NONE for all others
    pull, pull_start : (such pulls,), (n + 1,) the way back, by update
    released : (recorded steps, ...) operations behind updates, in the order of hand-over
    behind, behind_start : (edges,), (n + 1,) the updates that each of these waits for
    gate_of, message_of : (n,) gate that an operation is held at, and its number there; else NONE
    brings : (n,) the message that has arrived with an operation's end, by what is held; else NONE
    gate_op, gate_bytes, gate_generated : (G, M) of each message: operation, bytes, expected time
    gate_messages : (G,)
    part_of : (n,) node at which an operation is: 0 the worker, 1 + k server k, of transfers too;
        NONE of calls, which are in no part
    part_size : (1 + K,) what there is to be over in each part of a step; see `sim.kernels.parts`
    reset_op, reset_start : (...), (2 + K,) operations that wait for something, by part
    processor_part : (P,)
    call : (2, K) transfers of calls that ask for tensors, by direction; NONE where there are none
    ahead : (n,) what part of a server's computation it does between a request and the answer
    """

    place: Ints
    size_bytes: Ints
    waits: Ints
    priority: Ints
    after_start: Ints
    after: Ints
    sources: Ints
    duration_ns: Floats
    slot: Ints
    slot_op: Ints
    processor_of: Ints
    first_place: Ints
    places: Ints
    queue_start: Ints
    at_worker: Ints
    place_of: Ints
    link_of: Ints
    leaf_of: Ints
    on_link: Ints
    channel_at: Ints
    who: Ints
    what: Ints
    first_leaf: Ints
    sizes: Ints
    shared_of: Ints
    shared_first: Ints
    shared_queue: Ints
    shared_processor: Ints
    update: Ints
    once: Ints
    pulled_after: Ints
    pull: Ints
    pull_start: Ints
    released: Ints
    behind: Ints
    behind_start: Ints
    gate_of: Ints
    message_of: Ints
    brings: Ints
    gate_op: Ints
    gate_bytes: Ints
    gate_generated: Ints
    gate_messages: Ints
    part_of: Ints
    part_size: Ints
    reset_op: Ints
    reset_start: Ints
    processor_part: Ints
    call: Ints
    ahead: Floats


# Classes of sources of events, in the order in which they go at one time; indices of first_leaf.
DOWNLINKS: Final = 0
AT_WORKERS: Final = 1
UPLINKS: Final = 2
AT_SERVERS: Final = 3
SHARED_PLACES: Final = 4
"""Places of processors that all workers share."""
LINES: Final = 5
"""Transfers that arrive after a delay, by connection."""
REQUESTS: Final = 6
ACKNOWLEDGED: Final = 7
"""Messages whose senders hear of their arrival after a delay, by gate."""

W: Final = 0
C: Final = 1
K: Final = 2
N: Final = 3
T: Final = 4
P: Final = 5
U_WORKER: Final = 6
U: Final = 7
G: Final = 8


class Net(NamedTuple):
    """Links, random draws, and what the run keeps.

    Attributes
    ----------
    ns_per_byte : (L,) of a link that one connection has alone
    capacity : (2, K + W) bytes a nanosecond of every port, by direction; servers first
    both_busy : (1,) factor of a port's rate while its other direction is busy
    bucket : (L,) what a link carries at once after a rest, ns at full rate
    delay_ns : (W,)
    window, budget : windows of a stream and a connection; the largest chunk, bytes
    buffer : (2,) bytes of chunks that are chosen and have not left, 0: one chunk, on the link;
        whether they are chosen after each message that is handed over, not after all of a time
    option : the discipline's parameters
    draw : (W, steps) which recorded step each step repeats
    factor : (W, steps or 1) of all computations at the worker
    speed_start : (W + 1,) each worker's breakpoints in the next two
    speed_time, speed_work : when its speed changes, and the work done by then; ns
    staleness : (1,) how many steps a worker may be ahead of the slowest
    flag : (9,) KEEP_ROWS, KEEP_CHUNKS, STOP_AT_STEPS, COUNT_FROM, DELAYED, STOP_AT_LAST, JOIN,
        FIRST, IN_PARTS
    gate_option : the schedule's parameters
    gate_rate : (H, 1) bytes a second that each gate's connection may carry
    """

    ns_per_byte: Floats
    capacity: Floats
    both_busy: Floats
    bucket: Floats
    delay_ns: Floats
    window: Ints
    budget: Ints
    buffer: Ints
    option: Ints
    draw: Ints
    factor: Floats
    speed_start: Ints
    speed_time: Floats
    speed_work: Floats
    staleness: Ints
    flag: Ints
    gate_option: Ints
    gate_rate: Ints


KEEP_ROWS: Final = 0
KEEP_CHUNKS: Final = 1
STOP_AT_STEPS: Final = 2
COUNT_FROM: Final = 3
DELAYED: Final = 4
STOP_AT_LAST: Final = 5
JOIN: Final = 6
"""NO_JOIN, BY_STEP or BY_TENSOR."""
FIRST: Final = 7
"""Of how many workers gradients are joined."""
IN_PARTS: Final = 8
"""Whether each node goes on by its own state; see `sim.kernels.parts`."""

NO_JOIN: Final = 0
BY_STEP: Final = 1
BY_TENSOR: Final = 2


class Run(NamedTuple):
    """State of a simulation.

    Attributes
    ----------
    clock : (2,) now; when the run began
    scalar : (SCALARS,) see the indices above
    key, tree : the next time of each source of events, and the tournament among them
    flow_key, flow_tree : likewise inside each link, by target (clocked) or time (rated)
    clock_v, clock_t, speed : (L,) a link's virtual clock, when it was set or since when it rests,
        the factor of its rate
    active : (L,) connections that have a chunk on the link
    chunk_slot : (F,) the stream on the link; NONE while the connection is idle
    chunk_bytes, chunk_start : (F,)
    ahead_slot, ahead_bytes, ahead_head, ahead_count : (F, ...), (F, ...), (F,), (F,) rings of
        chunks that are chosen and wait for the link
    ahead_sum : (F,) bytes of them and of the chunk on the link
    base_v, base_bytes : (F,) the clock when the connection joined, bytes of its chunks since
    left_bytes, rate, since : (F,) of rated links: what is left of the chunk, its rate, since when
    port_left, port_users, decided : (K + W,), (K + W,), (F,) room for shares to work out rates
    connections : the disciplines' state; slots are numbered through all workers (W * T)
    shared, plan_slot, plan_bytes : (F, ...) the parts of that state that each connection has alone
    unsent : (W * T,) bytes of a stream that have not left
    waits : (W, n)
    ops_left, rec, done, limit, presence, started : (W,)
    queue, head, tail : (W, n), (W, P), (W, P)
    running : (W, U) operation at each place; NONE if free
    rest : (W, n) work that a computation still has, where it was changed; else < 0
    line_op, line_time, line_head, line_tail : (F, ...) transfers on their way after the last byte
    mode, mode_since, spent : (W,), (W,), (W, MODES) what a worker does, and the time spent so
    downs, ups, computes : (W,) how many connections and places are busy
    todo, noted : (F,) connections that are to choose a chunk, and whether they are among them
    ready, begun : (W, n) where rows are kept
    start_requested : (W,) whether a worker is to begin a step when time goes on
    row, row_time : (rows, 3), (rows, 3) worker, step, operation; ready, start, end
    chunk, chunk_time : (rows, 4), (rows, 2) worker, step, operation, bytes; start, end
    step_row, step_time : (rows, 3), (rows, 2) worker, step, updates that counted it; start, end
    shared_running : (places of shared processors,) owner * n + operation at each; NONE if free
    shared_line, shared_head, shared_count : rings of what waits for shared processors
    idle_from, idle_to : of shared processors: the last time in which one rested, as far as it was
        not used for what was done ahead; infinite if it still rests
    made, handed_over, counted : (n,) of updates: how often made and handed over, workers counted
    last_counted : (n,) of updates: recorded step of the worker that was counted last
    sent_step : (W, n) of updates: the last step whose gradients have arrived; NONE for none
    counted_step : (W, n) of updates: the last step for which the worker was counted
    sent, counted_for : (W,) updates whose gradients have arrived in this step, and that count them
    gate_stage, gate_line, gate_register : (H, M), (H, M), (H, REGISTERS) states of the gates
    gate_todo, gate_noted : (H,) gates that are to be asked, and whether they are among them
    ack_message, ack_time, ack_head, ack_count : (H, M), (H, M), (H,), (H,) rings of messages that
        have arrived, and of when their senders hear of it
    part_step, part_left, part_rec : (W, 1 + K) where each node goes on by its own state: number of
        a part's step, what is left of it, its recorded step
    asked, asked_ns : (W,) steps that a worker's requests have reached the servers for, and when the
        last one did
    joined : (1 + K, 4) what each server has joined; see MADE_STEPS and so on
    part_version : (W, 1 + K) steps made when a server answered a worker last; NONE before
    """

    clock: Floats
    scalar: Ints
    key: Floats
    tree: Ints
    flow_key: Floats
    flow_tree: Ints
    clock_v: Floats
    clock_t: Floats
    speed: Floats
    active: Ints
    chunk_slot: Ints
    chunk_bytes: Ints
    chunk_start: Floats
    ahead_slot: Ints
    ahead_bytes: Ints
    ahead_head: Ints
    ahead_count: Ints
    ahead_sum: Ints
    base_v: Floats
    base_bytes: Ints
    left_bytes: Floats
    rate: Floats
    since: Floats
    port_left: Floats
    port_users: Ints
    decided: Ints
    connections: State
    shared: Ints
    plan_slot: Ints
    plan_bytes: Ints
    unsent: Ints
    waits: Ints
    ops_left: Ints
    rec: Ints
    done: Ints
    limit: Ints
    presence: Ints
    started: Floats
    queue: Ints
    head: Ints
    tail: Ints
    running: Ints
    rest: Floats
    line_op: Ints
    line_time: Floats
    line_head: Ints
    line_tail: Ints
    mode: Ints
    mode_since: Floats
    spent: Floats
    downs: Ints
    ups: Ints
    computes: Ints
    todo: Ints
    noted: Ints
    ready: Floats
    begun: Floats
    start_requested: Ints
    row: Ints
    row_time: Floats
    chunk: Ints
    chunk_time: Floats
    step_row: Ints
    step_time: Floats
    shared_running: Ints
    shared_line: Ints
    shared_head: Ints
    shared_count: Ints
    idle_from: Floats
    idle_to: Floats
    made: Ints
    handed_over: Ints
    counted: Ints
    last_counted: Ints
    sent_step: Ints
    counted_step: Ints
    sent: Ints
    counted_for: Ints
    gate_stage: Ints
    gate_line: Ints
    gate_register: Ints
    gate_todo: Ints
    gate_noted: Ints
    ack_message: Ints
    ack_time: Floats
    ack_head: Ints
    ack_count: Ints
    part_step: Ints
    part_left: Ints
    part_rec: Ints
    asked: Ints
    asked_ns: Floats
    joined: Ints
    part_version: Ints


class Progress(Protocol):
    """Progress of workers, as in `Run` and in the fast path's state."""

    @property
    def scalar(self) -> Ints: ...
    @property
    def done(self) -> Ints: ...
    @property
    def limit(self) -> Ints: ...
    @property
    def presence(self) -> Ints: ...
