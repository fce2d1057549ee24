"""The flat state that every discipline works on, and the moves on its ready list.

Everything is an integer in an indexable sequence: Python lists when interpreted, int64 arrays
when compiled. Functions here and in `h2model.disciplines` keep to what numba can compile, so
that one source serves predictions, the real sender and the simulator.

A stream is known here by its slot, a small index; `h2model.machine` maps stream numbers to slots.
"""

from typing import Final, NamedTuple

Ints = list[int]

NONE: Final = -1

# Indices into State.shared: what belongs to the connection, not to one stream.
CONNECTION_CREDIT: Final = 0
HEAD: Final = 1
TAIL: Final = 2
CURRENT: Final = 3
TURN: Final = 4
ARRIVALS: Final = 5
CONTROL: Final = 6
"""Control frames that wait to be written, such as an answer to a PING."""
OWN: Final = 7
"""First of the registers a discipline may use as it likes."""
SHARED_SIZE: Final = 20

# Values of State.place.
OUT: Final = 0
READY: Final = 1
STALLED: Final = 2


class State(NamedTuple):
    """State of one connection's sender.

    Attributes
    ----------
    left : (slots,) bytes handed over and not yet taken by `next`
    credit : (slots,) the stream's flow-control window, bytes; may be negative (RFC 9113, 6.9.2)
    priority : (slots,) larger goes first where a discipline looks at it
    arrival : (slots,) sequence number of the hand-over
    visits : (slots,) turns begun
    tag : (slots,) a discipline's own value
    place : (slots,) OUT, READY (in the ready list), STALLED (no stream credit), or a rule's own
    before, after : (slots,) links of the ready list
    plan_slot, plan_bytes : (slots,) what of a gathered write is not yet emitted
    shared : (SHARED_SIZE,) connection credit, list ends, the turn in progress, registers
    option : the discipline's parameters in its declared order
    """

    left: Ints
    credit: Ints
    priority: Ints
    arrival: Ints
    visits: Ints
    tag: Ints
    place: Ints
    before: Ints
    after: Ints
    plan_slot: Ints
    plan_bytes: Ints
    shared: Ints
    option: Ints


def empty_state(capacity: int, options: Ints) -> State:
    """State of a connection without streams, with room for `capacity`, in lists."""
    shared = [0] * SHARED_SIZE
    shared[HEAD] = shared[TAIL] = shared[CURRENT] = NONE
    return State(
        left=[0] * capacity,
        credit=[0] * capacity,
        priority=[0] * capacity,
        arrival=[0] * capacity,
        visits=[0] * capacity,
        tag=[0] * capacity,
        place=[OUT] * capacity,
        before=[NONE] * capacity,
        after=[NONE] * capacity,
        plan_slot=[0] * capacity,
        plan_bytes=[0] * capacity,
        shared=shared,
        option=options,
    )


def extend_state(s: State, slots: int) -> None:
    """Add room for so many streams to a state in lists."""
    more = empty_state(slots, [])
    for name, values in zip(State._fields, s, strict=True):
        if name not in ("shared", "option"):
            values.extend(getattr(more, name))


def enter(s: State, i: int, window: int, priority: int) -> None:
    """Give slot `i` to a new stream, without bytes and with a whole window."""
    s.left[i] = s.tag[i] = s.visits[i] = 0
    s.credit[i] = window
    s.priority[i] = priority
    s.place[i] = OUT


def number_arrival(s: State, i: int) -> None:
    """Note that slot `i` is the next one that was handed over."""
    s.arrival[i] = s.shared[ARRIVALS]
    s.shared[ARRIVALS] += 1


def widen(s: State, i: int, size: int) -> bool:
    """Add `size` bytes to the credit of slot `i`; True if it was out of credit and no longer is."""
    s.credit[i] += size
    return s.place[i] == STALLED and s.credit[i] > 0


def append(s: State, i: int, head: int, tail: int) -> None:
    """Put slot `i`, which is in no list, at the end of the list with these ends."""
    last = s.shared[tail]
    s.before[i] = last
    s.after[i] = NONE
    if last == NONE:
        s.shared[head] = i
    else:
        s.after[last] = i
    s.shared[tail] = i


def remove(s: State, i: int, head: int, tail: int) -> None:
    """Take slot `i` out of the list with these ends."""
    first = s.before[i]
    last = s.after[i]
    if first == NONE:
        s.shared[head] = last
    else:
        s.after[first] = last
    if last == NONE:
        s.shared[tail] = first
    else:
        s.before[last] = first
    s.before[i] = NONE
    s.after[i] = NONE


def push_tail(s: State, i: int) -> None:
    """Put slot `i` at the tail of the ready list."""
    append(s, i, HEAD, TAIL)
    s.place[i] = READY


def push_head(s: State, i: int) -> None:
    """Put slot `i` at the head of the ready list."""
    first = s.shared[HEAD]
    s.before[i] = NONE
    s.after[i] = first
    if first == NONE:
        s.shared[TAIL] = i
    else:
        s.before[first] = i
    s.shared[HEAD] = i
    s.place[i] = READY


def insert_after(s: State, i: int, j: int) -> None:
    """Put slot `i` into the ready list behind slot `j`; NONE means the head."""
    if j == NONE:
        push_head(s, i)
    elif s.after[j] == NONE:
        push_tail(s, i)
    else:
        follower = s.after[j]
        s.before[i] = j
        s.after[i] = follower
        s.after[j] = i
        s.before[follower] = i
        s.place[i] = READY


def push_sorted(s: State, i: int) -> None:
    """Put slot `i` before all that have lower priority, or the same and arrived later."""
    j = s.shared[TAIL]
    while j != NONE and (
        s.priority[j] < s.priority[i]
        or (s.priority[j] == s.priority[i] and s.arrival[j] > s.arrival[i])
    ):
        j = s.before[j]
    insert_after(s, i, j)


def push_by_tag(s: State, i: int) -> None:
    """Put slot `i` before all that have a larger tag."""
    j = s.shared[TAIL]
    while j != NONE and s.tag[j] > s.tag[i]:
        j = s.before[j]
    insert_after(s, i, j)


def unlink(s: State, i: int, place: int) -> None:
    """Take slot `i` out of the ready list and note its new place."""
    remove(s, i, HEAD, TAIL)
    s.place[i] = place


def take(s: State, i: int, size: int) -> None:
    """Account for `size` bytes of slot `i` leaving the scheduler."""
    s.left[i] -= size
    s.credit[i] -= size
    s.shared[CONNECTION_CREDIT] -= size


def allowed(s: State, i: int, budget: int) -> int:
    """Bytes slot `i` may send now: its data, both credits, the budget."""
    return max(0, min(budget, s.left[i], s.credit[i], s.shared[CONNECTION_CREDIT]))
