"""The flat arrays of the fast path.

W workers, K servers, L = 2 * K links (downlinks first), R recorded steps, D downs, F forward
operations (all pulls are before the last one), S ups, Q processors at servers, J updates that are
done once for all workers, on Q' processors of their own.
"""

from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from h2model.state import State

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]

LOG_FULL: Final = 4
"""Returned by `advance` when a link's log has to grow; for others see `sim.kernels.arrays`."""

# Values of Shape.replay.
UNWATCHED: Final = 0
"""Nothing depends on when each push of the link ends."""
IN_ORDER: Final = 1
BY_VISITS: Final = 2
"""Some push is larger than a first visit."""
BY_DISCIPLINE: Final = 3
"""The discipline is asked for every chunk."""

WHOLE: Final = 1 << 40
"""Value of Shape.largest where there are no second visits: more bytes than any push has."""

# Values of FastRun.visit.
FIRST: Final = 0
SECOND: Final = 1

# Classes of sources of events, in the order in which they go at one time; indices of first_leaf.
DOWNLINKS: Final = 0
"""Ends of pulls, by server."""
HAND_OVERS: Final = 1
"""Pushes handed over to an idle connection, by worker and server."""
UPLINKS: Final = 2
"""Ends of busy periods of pushes, by server."""
STEP_ENDS: Final = 3
"""By worker."""
JOIN_END: Final = 4
"""The end of a step's last update, where servers join gradients; else there is none."""

W: Final = 0
K: Final = 1
F: Final = 2
Q: Final = 3


class Shape(NamedTuple):
    """One worker's step, sorted as the fast path needs it.

    Attributes
    ----------
    down_start : (K + 1,) where each server's downs begin among all
    down : (R or 1, D) downs of each server in the order in which they end; BY_DISCIPLINE, in which
        they are handed over
    down_cum : (R or 1, D) bytes of the connection up to each of those
    down_size, down_priority : (D,)
    chain : (1,) 1 if each forward operation waits for the one before it
    need_start, need : (F + 1,), the downs that each forward operation waits for
    first : forward operations that wait for nothing, in the order of hand-over
    waits : (F,) how many downs and forward operations each one waits for
    held_start, held : (D + 1,), the forward operations that wait for each down
    next_start, next_op : (F + 1,), the forward operations that wait for each of them
    forward_ns : (R, F)
    forward_sum, backward_sum : (R,)
    up_start : (K + 1,) where each server's ups begin among all
    up_size, up_priority : (S,) in the order in which they are handed over, by server
    up_cum : (S + K,) bytes before each of a server's ups, with one more entry for each server
    up_released : (S,) how many backward operations end before the hand-over; pushes behind the
        same one are handed over at once, those of others are not, even if at the same time
    offset_ns : (R, S) from the end of the last forward operation to the hand-over
    update : (S,) the processor that an up's update runs on, NONE if it has none
    update_ns : (R, S)
    joint : (J,) the processor of each update that is done once for all, in the order of hand-over
    joint_ns : (R, J)
    joint_first : (Q' + 1,) where each of their processors' places begin
    replay : (K,) how a busy period's ends are found; see above
    largest : (1,) bytes of a first visit
    first_leaf : (5,) where each class of sources of events begins; see DOWNLINKS and so on
    sizes : (4,) W, K, F, Q
    """

    down_start: Ints
    down: Ints
    down_cum: Ints
    down_size: Ints
    down_priority: Ints
    chain: Ints
    need_start: Ints
    need: Ints
    first: Ints
    waits: Ints
    held_start: Ints
    held: Ints
    next_start: Ints
    next_op: Ints
    forward_ns: Floats
    forward_sum: Floats
    backward_sum: Floats
    up_start: Ints
    up_size: Ints
    up_priority: Ints
    up_cum: Ints
    up_released: Ints
    offset_ns: Floats
    update: Ints
    update_ns: Floats
    joint: Ints
    joint_ns: Floats
    joint_first: Ints
    replay: Ints
    largest: Ints
    first_leaf: Ints
    sizes: Ints


class FastRun(NamedTuple):
    """State of a simulation. Names that `sim.kernels.arrays.Run` has, too, mean the same.

    Attributes
    ----------
    base_v, joined : (L, W) the link's clock, and the entry of its log, when the worker joined
    log_t, log_v, log_n : (L, entries) rings of what the link's clock did; entries is a power of two
    logged, oldest : (L,) how many entries there were; the first one that may still be needed
    downs_left, ups_left : (W,) links on which the worker's step has not ended
    next_up, busy_from : (W, K) the next up to be handed over, the first of the busy period
    forward_end, backward_end : (W,) when the last forward operation ends, and the last of all
    down_end : (W,) when the last pull ended
    free_at : (W, Q) when the server's processor has done all updates
    last : (W,) the latest end of an up or an update
    gathered : (1,) when the last of the gradients that are joined next arrived, so far
    gathered_rec : (1,) the recorded step of the worker that sent it
    place_free : (places of the processors of joint updates,) when each is free
    sending, sending_since, sent_computing, sent_only : (W,) uplinks in use, since when, and the
        time in use while the worker computed, and while it did not
    ended_at : (W,) when the worker's last step ended
    arrival : (W, D) ends of pulls
    order : (W, D) pulls of each server by their ends; (1, 1) in a chain, which needs none
    queue : room for a queue of pushes or of forward operations
    visit : which visit of a push each entry of the queue is
    unmet : (F,) how many things each operation of a forward pass still waits for
    taken : (K,) the next pull of each server that a forward pass takes in
    streams, unsent : the discipline's state, and bytes that have not left, of the busy period that
        is worked out; slots are numbers of pulls or of pushes
    shared : (L, W, SHARED_SIZE) the part of that state that each connection keeps; (1, 1,
        SHARED_SIZE) where no discipline is asked
    """

    clock: Floats
    scalar: Ints
    key: Floats
    tree: Ints
    flow_key: Floats
    flow_tree: Ints
    clock_v: Floats
    clock_t: Floats
    active: Ints
    base_v: Floats
    joined: Ints
    log_t: Floats
    log_v: Floats
    log_n: Floats
    logged: Ints
    oldest: Ints
    downs_left: Ints
    ups_left: Ints
    next_up: Ints
    busy_from: Ints
    forward_end: Floats
    backward_end: Floats
    down_end: Floats
    free_at: Floats
    last: Floats
    gathered: Floats
    gathered_rec: Ints
    place_free: Floats
    sending: Ints
    sending_since: Floats
    sent_computing: Floats
    sent_only: Floats
    ended_at: Floats
    rec: Ints
    done: Ints
    limit: Ints
    presence: Ints
    started: Floats
    spent: Floats
    start_requested: Ints
    arrival: Floats
    order: Ints
    queue: Ints
    visit: Ints
    unmet: Ints
    taken: Ints
    streams: State
    unsent: Ints
    shared: Ints
    step_row: Ints
    step_time: Floats
