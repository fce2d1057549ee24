"""First in, first out: of the streams that may send, the one handed over first.

Source: Li et al. (ICPE 2020), section 3.3: with flow control disabled, whole streams go one after
another in the order in which they were scheduled. grpcio 1.17.0 and 1.39.0 do so with
GRPC_EXPERIMENTAL_DISABLE_FLOW_CONTROL at both ends.

A stream without credit is passed over, and takes its place by arrival when credit comes.
"""

from collections.abc import Sequence
from typing import Final

from h2model.disciplines import Traits
from h2model.state import HEAD, NONE, OUT, STALLED, State, allowed, push_sorted, take, unlink

ABOUT = "whole streams in the order of hand-over"
OPTIONS: dict[str, int] = {}
TRAITS: Final = Traits(work_conserving=True, by_arrival=True)


def start(s: State) -> None:
    """Nothing to prepare."""


def enqueued(s: State, i: int, now: int) -> None:
    """A new message takes its place by arrival; priorities are not looked at."""
    s.priority[i] = 0
    push_sorted(s, i)


def credited(s: State, i: int, now: int) -> None:
    """A stalled stream returns to its place by arrival."""
    push_sorted(s, i)


def select(s: State, budget: int, now: int) -> tuple[int, int]:
    """The first stream in the list that has credit."""
    while s.shared[HEAD] != NONE:
        i = s.shared[HEAD]
        if s.credit[i] <= 0:
            unlink(s, i, STALLED)
            continue
        size = allowed(s, i, budget)
        if size > 0:
            take(s, i, size)
            if s.left[i] == 0:
                unlink(s, i, OUT)
            return i, size
        break
    return NONE, 0


def sent(s: State, i: int, size: int, now: int) -> None:
    """Nothing depends on when the kernel took the bytes."""


def cancelled(s: State, i: int, now: int) -> None:
    """Nothing kept beyond the ready list."""


def visits(options: Sequence[int]) -> int:
    """One, from the first byte to the last."""
    return 1
