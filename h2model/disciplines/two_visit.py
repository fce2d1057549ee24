"""Two-visit: a first visit of at most the credit it finds, a second one to completion.

Source: Li et al. (ICPE 2020), section 3.2.2 and Fig. 12, with WIN the stream's credit at the moment
of the first visit. grpcio 1.17.0, 1.39.0 and 1.59.5 behave so (C-core, src/core/ext/transport/
chttp2/transport/writing.cc: no cap on a write, the unfinished stream goes to the tail of the
writable list) as long as credit for the rest has come by the second visit.

`requeue_at_completion` = 0: the remainder goes to the tail when the first visit is chosen, ahead of
streams that arrive while its bytes are on their way (C-core). 1: when the first visit's bytes have
been taken, behind them (the paper's text allows either).

A stream that is out of credit when its turn comes, or runs out of it in a later visit, leaves the
list and returns to the tail with the next credit, to go on to completion. Connection credit bounds
what may be sent now, not the visit: a visit that it interrupts goes on.

`write` > 0 is the rule as C-core carries it out: visits are gathered into writes, each with the
credit that it finds when the write is gathered, and a write ends with the visit that takes it past
its target. That is `write` bytes, and stays so (1 MiB in 1.17.0 and 1.39.0), unless `write_max` is
larger: then it moves as in `write_cycle`, from 128 KiB up to 16 MiB in 1.59.5. `frame` is the
payload of a full frame there.
"""

from collections.abc import Mapping, Sequence
from typing import Final

from h2model.disciplines import Traits
from h2model.grpc_write import WriteRule, begin, drop, emit, ready, taken
from h2model.observed import Observed
from h2model.state import (
    CONNECTION_CREDIT,
    CURRENT,
    HEAD,
    NONE,
    OUT,
    READY,
    STALLED,
    TURN,
    State,
    allowed,
    push_tail,
    take,
    unlink,
)

ABOUT = "a first visit of at most the window, then the rest to completion"
OPTIONS: dict[str, int] = {
    "requeue_at_completion": 0,
    "write": 0,
    "write_max": 0,
    "frame": 16384,
}
TRAITS: Final = Traits(
    work_conserving=True, gathers=True, cyclic=True, to_the_end=True, without_windows="fifo"
)

# Places in State.option.
_REQUEUE_AT_COMPLETION: Final = 0
_WRITE: Final = 1
_WRITE_MAX: Final = 2
_FRAME: Final = 3

_LEAST_TARGET: Final = 32768
_FAST_NS: Final = 100_000_000
_SLOW_NS: Final = 1_000_000_000


def start(s: State) -> None:
    """No visit is in progress."""
    begin(s, s.option[_WRITE])


def enqueued(s: State, i: int, now: int) -> None:
    """A new message waits at the tail for its first visit."""
    if s.option[_WRITE] == 0:
        s.visits[i] = 0
    push_tail(s, i)


def credited(s: State, i: int, now: int) -> None:
    """A stalled stream returns to the tail."""
    push_tail(s, i)


def select(s: State, budget: int, now: int) -> tuple[int, int]:
    """Go on with the visit in progress, or begin the next one."""
    if s.option[_WRITE] > 0:
        if ready(s, now, _write_rule(s)):
            return emit(s, budget)
        return NONE, 0
    while True:
        i = s.shared[CURRENT]
        if i == NONE:
            i = s.shared[HEAD]
            if i == NONE:
                return NONE, 0
            if s.credit[i] <= 0:
                unlink(s, i, STALLED)
                continue
            if s.shared[CONNECTION_CREDIT] <= 0:
                return NONE, 0  # a visit begins with its first byte
            _begin(s, i)
        size = allowed(s, i, min(budget, s.shared[TURN]))
        if size > 0:
            take(s, i, size)
            s.shared[TURN] -= size
            _end_if_over(s, i)
            return i, size
        if s.credit[i] > 0:
            return NONE, 0
        s.shared[CURRENT] = NONE
        if s.place[i] != READY:
            s.place[i] = STALLED


def prepare(s: State, now: int) -> None:
    """Gather the next write as soon as the kernel has the last one, whether it has room or not."""
    if s.option[_WRITE] > 0:
        ready(s, now, _write_rule(s))


def _write_rule(s: State) -> WriteRule:
    """A visit goes on beyond the write that it fills; HEADERS are not counted."""
    return WriteRule(
        frame_bytes=s.option[_FRAME],
        capped=False,
        finish_first=False,
        first_head_bytes=0,
        head_bytes=0,
        first_tail_bytes=0,
        tail_bytes=0,
    )


def _begin(s: State, i: int) -> None:
    unlink(s, i, OUT)
    s.shared[CURRENT] = i
    s.visits[i] += 1
    if s.visits[i] > 1:
        s.shared[TURN] = s.left[i]
        return
    s.shared[TURN] = min(s.left[i], s.credit[i])
    if s.left[i] > s.shared[TURN] and s.option[_REQUEUE_AT_COMPLETION] == 0:
        push_tail(s, i)


def _end_if_over(s: State, i: int) -> None:
    if s.left[i] == 0:
        s.shared[CURRENT] = NONE
        if s.place[i] == READY:
            unlink(s, i, OUT)
    elif s.shared[TURN] == 0:
        s.shared[CURRENT] = NONE
        if s.place[i] != READY:
            push_tail(s, i)


def sent(s: State, i: int, size: int, now: int) -> None:
    """A write is over when the kernel has all of it."""
    first = s.option[_WRITE]
    if first > 0:
        largest = max(first, s.option[_WRITE_MAX])
        smallest = _LEAST_TARGET if largest > first else first
        taken(s, size, now, (_FAST_NS, _SLOW_NS), (smallest, largest))


def cancelled(s: State, i: int, now: int) -> None:
    """End the visit if it was this stream's."""
    drop(s, i)
    if s.shared[CURRENT] == i:
        s.shared[CURRENT] = NONE


def visits(options: Sequence[int]) -> int:
    """Two, unless they are cut where writes end."""
    return 0 if options[_WRITE] > 0 else 2


def suggested(observed: Observed) -> list[dict[str, int]]:
    """Options for single decisions, and for writes gathered as in grpcio 1.17.0 to 1.59.5."""
    single = [{"requeue_at_completion": flag} for flag in (0, 1)]
    writes = [{"write": 1 << 20}, {"write": 1 << 17, "write_max": 1 << 24}]
    return [*single, *({**each, "frame": observed.frame_bytes} for each in writes)]


def describe(options: Mapping[str, int]) -> str:
    """Its variant in words."""
    if options.get("requeue_at_completion"):
        return "; the rest waits behind streams that come during the first visit"
    if options.get("write"):
        return f"; gathered into writes of some {options['write']} bytes"
    return ""
