"""Processor sharing: all streams that may send get equal shares, in grains of a few bytes.

Source: the fluid limit that flow-level models assume (for instance Lin et al., MASCOTS 2018, for
the links); here start-time fair queueing (Goyal et al., SIGCOMM 1996) over grains, which differs
from the fluid by at most one grain a stream.

A stream that arrives or returns starts at the present virtual time: it is owed nothing. Whether a
stream has credit is looked at when its turn has come.
"""

from collections.abc import Mapping
from typing import Final

from h2model.disciplines import Traits
from h2model.observed import Observed
from h2model.state import HEAD, NONE, OUT, OWN, STALLED, State, allowed, push_by_tag, take, unlink

ABOUT = "equal shares in grains below a frame"
OPTIONS: dict[str, int] = {"grain": 4096}
TRAITS: Final = Traits(
    work_conserving=True, cyclic=True, turn_option="grain", in_turns="round_robin"
)

_GRAIN: Final = 0
_VIRTUAL: Final = OWN


def start(s: State) -> None:
    """Virtual time starts at zero."""


def enqueued(s: State, i: int, now: int) -> None:
    """A new message starts at the present virtual time."""
    credited(s, i, now)


def credited(s: State, i: int, now: int) -> None:
    """A stalled stream starts again at the present virtual time."""
    s.tag[i] = max(s.tag[i], s.shared[_VIRTUAL])
    push_by_tag(s, i)


def select(s: State, budget: int, now: int) -> tuple[int, int]:
    """The stream with the smallest virtual start; ties go to the one longer in the list."""
    while s.shared[HEAD] != NONE:
        i = s.shared[HEAD]
        if s.credit[i] <= 0:
            unlink(s, i, STALLED)
            continue
        size = allowed(s, i, min(budget, s.option[_GRAIN]))
        if size == 0:
            break
        s.shared[_VIRTUAL] = s.tag[i]
        s.tag[i] += size
        take(s, i, size)
        unlink(s, i, OUT)
        if s.left[i] > 0:
            push_by_tag(s, i)
        return i, size
    return NONE, 0


def sent(s: State, i: int, size: int, now: int) -> None:
    """Nothing depends on when the kernel took the bytes."""


def cancelled(s: State, i: int, now: int) -> None:
    """Nothing kept beyond the ready list."""


def suggested(observed: Observed) -> list[dict[str, int]]:
    """A grain of the usual turn, where that is below a frame."""
    usual = observed.usual_turn_bytes
    return [{"grain": usual if usual and observed.is_grain(usual) else OPTIONS["grain"]}]


def describe(options: Mapping[str, int]) -> str:
    """Its grain in words."""
    return f", {options['grain']} bytes"
