"""Processor sharing: all streams that may send get equal shares, in grains of a few bytes.

Source: the fluid limit that flow-level models assume (for instance Lin et al., MASCOTS 2018, for the
links); here start-time fair queueing (Goyal et al., SIGCOMM 1996) over grains, which differs from the
fluid by at most one grain a stream.

A stream that arrives or returns starts at the present virtual time: it is owed nothing.
"""

from h2model.state import (
    HEAD,
    NONE,
    OUT,
    OWN,
    STALLED,
    State,
    allowed,
    push_tail,
    take,
    unlink,
)

OPTIONS: dict[str, int] = {"grain": 4096}
GRAIN = 0
VIRTUAL = OWN


def start(s: State) -> None:
    """Virtual time starts at zero."""


def enqueued(s: State, i: int, now: int) -> None:
    """A new message starts at the present virtual time."""
    s.tag[i] = s.shared[VIRTUAL]
    push_tail(s, i)


def credited(s: State, i: int, now: int) -> None:
    """A stalled stream starts again at the present virtual time."""
    s.tag[i] = max(s.tag[i], s.shared[VIRTUAL])
    push_tail(s, i)


def select(s: State, budget: int, now: int) -> tuple[int, int]:
    """The stream with the smallest virtual start; ties go to the one longer in the list."""
    best = NONE
    j = s.shared[HEAD]
    while j != NONE:
        after = s.after[j]
        if s.credit[j] <= 0:
            unlink(s, j, STALLED)
        elif best == NONE or s.tag[j] < s.tag[best]:
            best = j
        j = after
    if best == NONE:
        return NONE, 0
    size = allowed(s, best, min(budget, s.option[GRAIN]))
    if size == 0:
        return NONE, 0
    s.shared[VIRTUAL] = s.tag[best]
    s.tag[best] += size
    take(s, best, size)
    unlink(s, best, OUT)
    if s.left[best] > 0:
        push_tail(s, best)
    return best, size


def sent(s: State, i: int, size: int, now: int) -> None:
    """Nothing depends on when the kernel took the bytes."""


def cancelled(s: State, i: int, now: int) -> None:
    """Nothing kept beyond the ready list."""
