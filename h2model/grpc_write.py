"""Gathering of writes as in C-core: streams from the list's head until the write is full.

Source: C-core src/core/ext/transport/chttp2/transport/writing.cc and write_size_policy.cc. Shared
by the disciplines that are rules of C-core; like them it keeps to what numba can compile. What was
gathered has used up its credit. A stream that finds the connection without credit waits apart
("stalled by transport") and returns when a write begins with some.
"""

from typing import Final, NamedTuple

from h2model.protocol import FRAME_HEADER_BYTES
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
    append,
    push_head,
    push_tail,
    remove,
    take,
    unlink,
)

PLANNED: Final = OWN
EMITTED: Final = OWN + 1
UNSENT: Final = OWN + 2
"""Bytes of the write that the kernel has not taken."""
HEADED: Final = OWN + 3
"""Number of streams of the connection that have sent their HEADERS."""
PARKED_HEAD: Final = OWN + 4
PARKED_TAIL: Final = OWN + 5
TARGET: Final = OWN + 6
"""A write is full when it has at least so many bytes."""
STREAK: Final = OWN + 7
"""Fast writes in a row, as a negative number, or slow ones."""
TIMED_FROM: Final = OWN + 8
"""Time at which the write was gathered; NONE if its duration is no evidence."""
TAILED: Final = OWN + 9
"""1 if a message of the connection has ended."""

PARKED: Final = 3
"""Place of a stream that came to the head when the connection had no credit."""


class WriteRule(NamedTuple):
    """Rule by which streams are gathered into a write.

    Attributes
    ----------
    frame_bytes : payload of a full frame
    capped : True if a turn ends where the write is full; else it goes on as far as its credit
    finish_first : True if an unfinished stream goes to the head, else to the tail
    first_head_bytes, head_bytes : HEADERS before a connection's first message, before a later one
    first_tail_bytes, tail_bytes : HEADERS after the first message that ends, after a later one
    """

    frame_bytes: int
    capped: bool
    finish_first: bool
    first_head_bytes: int
    head_bytes: int
    first_tail_bytes: int
    tail_bytes: int


def begin(s: State, target: int) -> None:
    """Set the connection's first target; nothing waits for the connection's credit."""
    s.shared[TARGET] = target
    s.shared[TIMED_FROM] = NONE
    s.shared[PARKED_HEAD] = s.shared[PARKED_TAIL] = NONE


def ready(s: State, now: int, rule: WriteRule) -> bool:
    """Gather the next write when the last is with the kernel; True if something is to be emitted.

    The answer to a PING is a write of its own, without DATA: too small to be evidence of the pace.
    A write below 0.7 of the target is none either, and ends a fast streak.
    """
    if s.shared[EMITTED] < s.shared[PLANNED]:
        return True
    if s.shared[UNSENT] > 0:
        return False
    s.shared[TIMED_FROM] = NONE
    if s.shared[CONTROL] > 0:
        s.shared[CONTROL] = 0
        s.shared[STREAK] = max(s.shared[STREAK], 0)
    size = gather(s, s.shared[TARGET], rule)
    if s.shared[PLANNED] == 0:
        return False
    if size < s.shared[TARGET] * 7 // 10:
        s.shared[STREAK] = max(s.shared[STREAK], 0)
    else:
        s.shared[TIMED_FROM] = now
    return True


def taken(s: State, size: int, now: int, pace: tuple[int, int], bounds: tuple[int, int]) -> None:
    """Account for bytes that the kernel took; the duration of a whole write moves the target.

    Parameters
    ----------
    pace
        What is fast and what is slow, in nanoseconds: two in a row raise or lower the target.
    bounds
        The smallest and the largest target.
    """
    s.shared[UNSENT] -= size
    if s.shared[UNSENT] > 0 or s.shared[TIMED_FROM] == NONE:
        return
    fast_ns, slow_ns = pace
    smallest, largest = bounds
    elapsed = now - s.shared[TIMED_FROM]
    s.shared[TIMED_FROM] = NONE
    if elapsed < fast_ns:
        s.shared[STREAK] -= 1
        if s.shared[STREAK] == -2:
            s.shared[STREAK] = 0
            s.shared[TARGET] = min(s.shared[TARGET] * 3 // 2, largest)
    elif elapsed > slow_ns:
        s.shared[STREAK] += 1
        if s.shared[STREAK] == 2:
            s.shared[STREAK] = 0
            s.shared[TARGET] = max(s.shared[TARGET] // 3, smallest)
    else:
        s.shared[STREAK] = 0


def emit(s: State, budget: int) -> tuple[int, int]:
    """Emit the next bytes of the gathered write: slot and size."""
    k = s.shared[EMITTED]
    i = s.plan_slot[k]
    size = min(budget, s.plan_bytes[k])
    s.plan_bytes[k] -= size
    if s.plan_bytes[k] == 0:
        s.shared[EMITTED] += 1
    return i, size


def gather(s: State, target: int, rule: WriteRule) -> int:
    """Gather a write of up to `target` bytes; return its size, headers included."""
    s.shared[PLANNED] = 0
    s.shared[EMITTED] = 0
    if s.shared[CONNECTION_CREDIT] > 0:
        unpark_all(s, rule.finish_first)
    room = target
    while room > 0 and s.shared[HEAD] != NONE:
        i = s.shared[HEAD]
        if s.visits[i] == 0:
            room -= send_head(s, i, rule)
        if set_aside(s, i):
            continue
        if room <= 0 and s.shared[PLANNED] > 0:
            unlink(s, i, OUT)  # its HEADERS took what was left
            push_tail(s, i)
            break
        budget = payload(max(room, 1), rule.frame_bytes) if rule.capped else s.left[i]
        size = plan_turn(s, i, budget)
        room -= size + FRAME_HEADER_BYTES * (-(-size // rule.frame_bytes))
        unlink(s, i, OUT)
        if s.left[i] > 0:
            put_back(s, i, rule.finish_first)
        else:
            room -= send_tail(s, rule)
    return target - room


def set_aside(s: State, i: int) -> bool:
    """Take slot `i` out of the list if credit is lacking, its connection's or its own."""
    if s.shared[CONNECTION_CREDIT] <= 0:
        unlink(s, i, PARKED)
        append(s, i, PARKED_HEAD, PARKED_TAIL)
        return True
    if s.credit[i] <= 0:
        unlink(s, i, STALLED)
        return True
    return False


def plan_turn(s: State, i: int, budget: int) -> int:
    """Add a turn of slot `i` to the write; return its bytes."""
    size = allowed(s, i, budget)
    take(s, i, size)
    s.plan_slot[s.shared[PLANNED]] = i
    s.plan_bytes[s.shared[PLANNED]] = size
    s.shared[PLANNED] += 1
    s.shared[UNSENT] += size
    return size


def drop(s: State, i: int) -> None:
    """Forget what was gathered of slot `i` and not emitted."""
    if s.place[i] == PARKED:
        remove(s, i, PARKED_HEAD, PARKED_TAIL)
        s.place[i] = OUT
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


def put_back(s: State, i: int, at_head: bool) -> None:
    """Return slot `i` to the list."""
    if at_head:
        push_head(s, i)
    else:
        push_tail(s, i)


def payload(room: int, frame_bytes: int) -> int:
    """DATA bytes that go into `room`, frame by frame; the last frame's header may stick out."""
    whole = room // (frame_bytes + FRAME_HEADER_BYTES)
    return whole * frame_bytes + min(frame_bytes, room - whole * (frame_bytes + FRAME_HEADER_BYTES))


def send_head(s: State, i: int, rule: WriteRule) -> int:
    """Note that slot `i` sends its HEADERS; return their length, which its tag may say."""
    s.visits[i] = 1
    s.shared[HEADED] += 1
    if s.tag[i] > 0:
        return s.tag[i]
    return rule.first_head_bytes if s.shared[HEADED] == 1 else rule.head_bytes


def send_tail(s: State, rule: WriteRule) -> int:
    """Note that a message ends; return the length of its HEADERS."""
    first = s.shared[TAILED] == 0
    s.shared[TAILED] = 1
    return rule.first_tail_bytes if first else rule.tail_bytes


def unpark_all(s: State, at_head: bool) -> None:
    """Return those that waited for the connection's credit to the list, the first one first."""
    while s.shared[PARKED_HEAD] != NONE:
        i = s.shared[PARKED_HEAD]
        remove(s, i, PARKED_HEAD, PARKED_TAIL)
        put_back(s, i, at_head)
