"""Write cycle: round robin whose turns are capped by an adaptive target per write.

Source: C-core 1.60 to 1.85.1, src/core/ext/transport/chttp2/transport/writing.cc and
write_size_policy.cc. A cycle gathers up to `target` bytes (frame headers included) from the head
of the writable list, hands them to the socket, and the next cycle begins when the kernel took them
all. A stream that has more goes to the tail, with credit or without; one that comes to the head
without stream credit leaves the list and returns to the tail with its WINDOW_UPDATE; one that finds
the connection without credit waits apart, and returns when a cycle begins with some. The target
starts at 128 KiB; two writes in a row below 100 ms raise it by half (at most 16 MiB), two above 1 s
divide it by three (at least 32 KiB); a write below 0.7 of the target is no evidence and ends a fast
streak. The target outlives a burst: it belongs to the connection.

`finish_first` = 1 is the experiment `prioritize_finished_requests`: an unfinished or returning
stream goes to the head.

Credit is used up when a cycle gathers, as in C-core: a window that shrinks afterwards does not call
back what was gathered. An answer to a PING makes a write of its own without DATA, which ends a fast
streak. `head_first`, `head` and `tail` are the bytes of the HEADERS before the first message of a
connection, before each later one, and after each: they count against the target.
"""

from h2model.state import (
    CONNECTION_CREDIT,
    CONTROL,
    HEAD,
    NONE,
    OUT,
    OWN,
    STALLED,
    State,
    allowed,
    push_head,
    push_tail,
    take,
    unlink,
)

OPTIONS: dict[str, int] = {
    "target": 131072,
    "target_min": 32768,
    "target_max": 16777216,
    "fast_ns": 100_000_000,
    "slow_ns": 1_000_000_000,
    "frame": 16384,
    "finish_first": 0,
    "head_first": 0,
    "head": 0,
    "tail": 0,
}
TARGET_INITIAL = 0
TARGET_MIN = 1
TARGET_MAX = 2
FAST_NS = 3
SLOW_NS = 4
FRAME = 5
FINISH_FIRST = 6
HEAD_FIRST = 7
HEAD_LATER = 8
TAIL_BYTES = 9

TARGET = OWN
STREAK = OWN + 1
TIMED_FROM = OWN + 2
PLANNED = OWN + 3
EMITTED = OWN + 4
UNSENT = OWN + 5
PARKED_HEAD = OWN + 7
PARKED_TAIL = OWN + 8
PARKED = 3
"""Place of a stream that came to the head when the connection had no credit."""

HEADED = OWN + 6
"""How many streams of the connection have sent their HEADERS."""

FRAME_HEADER_BYTES = 9


def start(s: State) -> None:
    """The connection's first target."""
    s.shared[TARGET] = s.option[TARGET_INITIAL]
    s.shared[TIMED_FROM] = NONE
    s.shared[PARKED_HEAD] = s.shared[PARKED_TAIL] = NONE


def enqueued(s: State, i: int, now: int) -> None:
    """A new message waits at the tail."""
    push_tail(s, i)


def credited(s: State, i: int, now: int) -> None:
    """A stalled stream returns to the tail, with `finish_first` to the head."""
    _return(s, i)


def select(s: State, budget: int, now: int) -> tuple[int, int]:
    """Emit what the cycle has gathered; gather the next one when the last is with the kernel."""
    if s.shared[EMITTED] == s.shared[PLANNED]:
        if s.shared[UNSENT] > 0:
            return NONE, 0
        _gather(s, now)
        if s.shared[PLANNED] == 0:
            return NONE, 0
    k = s.shared[EMITTED]
    i = s.plan_slot[k]
    size = min(budget, s.plan_bytes[k])
    s.plan_bytes[k] -= size
    if s.plan_bytes[k] == 0:
        s.shared[EMITTED] += 1
    return i, size


def _gather(s: State, now: int) -> None:
    s.shared[PLANNED] = 0
    s.shared[EMITTED] = 0
    s.shared[TIMED_FROM] = NONE
    if s.shared[CONTROL] > 0:
        s.shared[CONTROL] = 0
        s.shared[STREAK] = max(s.shared[STREAK], 0)
    room = s.shared[TARGET]
    if s.shared[CONNECTION_CREDIT] > 0:
        _unpark_all(s)
    while room > 0 and s.shared[HEAD] != NONE:
        i = s.shared[HEAD]
        if s.visits[i] == 0:
            room -= _head_bytes(s, i)
        if s.shared[CONNECTION_CREDIT] <= 0:
            unlink(s, i, PARKED)
            _park(s, i)
            continue
        if s.credit[i] <= 0:
            unlink(s, i, STALLED)
            continue
        if room <= 0 and s.shared[PLANNED] > 0:
            unlink(s, i, OUT)  # its HEADERS took what was left
            push_tail(s, i)
            break
        size = allowed(s, i, _payload(max(room, 1), s.option[FRAME]))
        take(s, i, size)
        s.plan_slot[s.shared[PLANNED]] = i
        s.plan_bytes[s.shared[PLANNED]] = size
        s.shared[PLANNED] += 1
        s.shared[UNSENT] += size
        room -= size + FRAME_HEADER_BYTES * (-(-size // s.option[FRAME]))
        unlink(s, i, OUT)
        if s.left[i] > 0:
            _return(s, i)
        else:
            room -= s.option[TAIL_BYTES]
    if s.shared[PLANNED] == 0:
        return
    if s.shared[TARGET] - room < s.shared[TARGET] * 7 // 10:
        s.shared[STREAK] = max(s.shared[STREAK], 0)
    else:
        s.shared[TIMED_FROM] = now


def _park(s: State, i: int) -> None:
    """Have slot `i` wait for the connection's credit, behind those that wait already."""
    last = s.shared[PARKED_TAIL]
    s.before[i] = last
    s.after[i] = NONE
    if last == NONE:
        s.shared[PARKED_HEAD] = i
    else:
        s.after[last] = i
    s.shared[PARKED_TAIL] = i


def _unpark(s: State, i: int) -> None:
    """Take slot `i` out of those that wait for the connection's credit."""
    first = s.before[i]
    last = s.after[i]
    if first == NONE:
        s.shared[PARKED_HEAD] = last
    else:
        s.after[first] = last
    if last == NONE:
        s.shared[PARKED_TAIL] = first
    else:
        s.before[last] = first
    s.before[i] = NONE
    s.after[i] = NONE
    s.place[i] = OUT


def _unpark_all(s: State) -> None:
    """Those that waited for the connection's credit return, the first one first."""
    while s.shared[PARKED_HEAD] != NONE:
        i = s.shared[PARKED_HEAD]
        _unpark(s, i)
        _return(s, i)


def _head_bytes(s: State, i: int) -> int:
    """Note that slot `i` sends its HEADERS, and say how long they are."""
    s.visits[i] = 1
    s.shared[HEADED] += 1
    return s.option[HEAD_FIRST] if s.shared[HEADED] == 1 else s.option[HEAD_LATER]


def _payload(room: int, frame: int) -> int:
    """DATA bytes that go into `room`, frame by frame; the last frame's header may stick out."""
    whole = room // (frame + FRAME_HEADER_BYTES)
    return whole * frame + min(frame, room - whole * (frame + FRAME_HEADER_BYTES))


def _return(s: State, i: int) -> None:
    if s.option[FINISH_FIRST] == 1:
        push_head(s, i)
    else:
        push_tail(s, i)


def sent(s: State, i: int, size: int, now: int) -> None:
    """When the kernel has all of the cycle, its duration moves the target."""
    s.shared[UNSENT] -= size
    if s.shared[UNSENT] > 0 or s.shared[TIMED_FROM] == NONE:
        return
    elapsed = now - s.shared[TIMED_FROM]
    s.shared[TIMED_FROM] = NONE
    if elapsed < s.option[FAST_NS]:
        s.shared[STREAK] -= 1
        if s.shared[STREAK] == -2:
            s.shared[STREAK] = 0
            s.shared[TARGET] = min(s.shared[TARGET] * 3 // 2, s.option[TARGET_MAX])
    elif elapsed > s.option[SLOW_NS]:
        s.shared[STREAK] += 1
        if s.shared[STREAK] == 2:
            s.shared[STREAK] = 0
            s.shared[TARGET] = max(s.shared[TARGET] // 3, s.option[TARGET_MIN])
    else:
        s.shared[STREAK] = 0


def cancelled(s: State, i: int, now: int) -> None:
    """What the cycle had gathered of this stream and not emitted is dropped."""
    if s.place[i] == PARKED:
        _unpark(s, i)
    kept = s.shared[EMITTED]
    for k in range(s.shared[EMITTED], s.shared[PLANNED]):
        if s.plan_slot[k] == i:
            s.shared[UNSENT] -= s.plan_bytes[k]
            s.shared[CONNECTION_CREDIT] += s.plan_bytes[k]
        else:
            s.plan_slot[kept] = s.plan_slot[k]
            s.plan_bytes[kept] = s.plan_bytes[k]
            kept += 1
    s.shared[PLANNED] = kept
