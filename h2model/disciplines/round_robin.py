"""Round robin with a quantum: each turn sends up to `quantum` bytes, then the next stream's turn.

Source: the textbook rule; what RFC 9113, section 5.2 leaves to the implementation and many HTTP/2
servers do with a quantum of one frame.

A stream that runs out of credit loses the rest of its turn and returns to the tail.
"""

from collections.abc import Mapping
from typing import Final

from h2model.disciplines import Traits
from h2model.observed import Observed
from h2model.state import (
    CURRENT,
    HEAD,
    NONE,
    OUT,
    STALLED,
    TURN,
    State,
    allowed,
    push_tail,
    take,
    unlink,
)

ABOUT = "equal turns"
OPTIONS: dict[str, int] = {"quantum": 16384}
TRAITS: Final = Traits(
    work_conserving=True, cyclic=True, turn_option="quantum", in_turns="processor_sharing"
)

_QUANTUM: Final = 0


def start(s: State) -> None:
    """No turn is in progress."""


def enqueued(s: State, i: int, now: int) -> None:
    """A new message waits at the tail."""
    push_tail(s, i)


def credited(s: State, i: int, now: int) -> None:
    """A stalled stream returns to the tail."""
    push_tail(s, i)


def select(s: State, budget: int, now: int) -> tuple[int, int]:
    """Go on with the turn in progress, or begin the next one."""
    while True:
        i = s.shared[CURRENT]
        if i == NONE:
            i = s.shared[HEAD]
            if i == NONE:
                return NONE, 0
            if s.credit[i] <= 0:
                unlink(s, i, STALLED)
                continue
            unlink(s, i, OUT)
            s.shared[CURRENT] = i
            s.shared[TURN] = s.option[_QUANTUM]
            s.visits[i] += 1
        elif s.credit[i] <= 0:
            s.shared[CURRENT] = NONE
            s.place[i] = STALLED
            continue
        size = allowed(s, i, min(budget, s.shared[TURN]))
        if size == 0:
            return NONE, 0
        take(s, i, size)
        s.shared[TURN] -= size
        if s.left[i] == 0:
            s.shared[CURRENT] = NONE
        elif s.shared[TURN] == 0:
            s.shared[CURRENT] = NONE
            push_tail(s, i)
        return i, size


def sent(s: State, i: int, size: int, now: int) -> None:
    """Nothing depends on when the kernel took the bytes."""


def cancelled(s: State, i: int, now: int) -> None:
    """End the turn if it was this stream's."""
    if s.shared[CURRENT] == i:
        s.shared[CURRENT] = NONE


def suggested(observed: Observed) -> list[dict[str, int]]:
    """A quantum of the usual turn; one below any frame would be processor sharing in grains."""
    quantum = observed.usual_turn_bytes or observed.median_turn_bytes or OPTIONS["quantum"]
    return [{"quantum": OPTIONS["quantum"] if observed.is_grain(quantum) else quantum}]


def describe(options: Mapping[str, int]) -> str:
    """Its quantum in words."""
    return f" of {options['quantum']} bytes"
