"""Write cycle: round robin whose turns are capped by an adaptive target per write.

Source: grpcio 1.85.1; C-core, src/core/ext/transport/chttp2/transport/writing.cc and
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
streak. `head_first` and `head` are the bytes of the HEADERS before the first message of a
connection and before each later one, `tail_first` and `tail` of those after the first one that ends
and after each later one: they count against the target.
"""

from typing import Final

from h2model.disciplines import Traits
from h2model.grpc_write import WriteRule, begin, drop, emit, put_back, ready, taken
from h2model.observed import Observed
from h2model.state import NONE, State, push_tail

ABOUT = "turns of an adaptive write target that grows by half"
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
    "tail_first": 0,
    "tail": 0,
}
IN_WORDS = {"finish_first": "finishes messages first"}
TRAITS: Final = Traits(
    work_conserving=True, cyclic=True, timed=True, gathers=True, write_option="target_min"
)

# Places in State.option.
_TARGET: Final = 0
_TARGET_MIN: Final = 1
_TARGET_MAX: Final = 2
_FAST_NS: Final = 3
_SLOW_NS: Final = 4
_FRAME: Final = 5
_FINISH_FIRST: Final = 6
_HEAD_FIRST: Final = 7
_HEAD: Final = 8
_TAIL_FIRST: Final = 9
_TAIL: Final = 10

_MOST_TARGETS: Final = 4


def start(s: State) -> None:
    """Set the connection's first target."""
    begin(s, s.option[_TARGET])


def enqueued(s: State, i: int, now: int) -> None:
    """A new message waits at the tail."""
    push_tail(s, i)


def credited(s: State, i: int, now: int) -> None:
    """A stalled stream returns to the tail, with `finish_first` to the head."""
    put_back(s, i, s.option[_FINISH_FIRST] == 1)


def select(s: State, budget: int, now: int) -> tuple[int, int]:
    """Emit what the cycle has gathered; gather the next one when the last is with the kernel."""
    if ready(s, now, _write_rule(s)):
        return emit(s, budget)
    return NONE, 0


def prepare(s: State, now: int) -> None:
    """Gather the next cycle as soon as the kernel has the last one, whether it has room or not."""
    ready(s, now, _write_rule(s))


def _write_rule(s: State) -> WriteRule:
    return WriteRule(
        frame_bytes=s.option[_FRAME],
        capped=True,
        finish_first=s.option[_FINISH_FIRST] == 1,
        first_head_bytes=s.option[_HEAD_FIRST],
        head_bytes=s.option[_HEAD],
        first_tail_bytes=s.option[_TAIL_FIRST],
        tail_bytes=s.option[_TAIL],
    )


def sent(s: State, i: int, size: int, now: int) -> None:
    """Move the target by the cycle's duration when the kernel has all of it."""
    pace = (s.option[_FAST_NS], s.option[_SLOW_NS])
    taken(s, size, now, pace, (s.option[_TARGET_MIN], s.option[_TARGET_MAX]))


def cancelled(s: State, i: int, now: int) -> None:
    """Drop what the cycle has gathered of this stream and not emitted."""
    drop(s, i)


def suggested(observed: Observed) -> list[dict[str, int]]:
    """Possible targets at the burst's beginning: the target outlives the bursts before.

    With `finish_first` it serves as fifo does, and is called so.
    """
    targets = [OPTIONS["target"]]
    if not observed.first:
        while targets[-1] < max(observed.turn_bytes, default=0):
            targets.append(targets[-1] * 3 // 2)
    return [{"target": t, "frame": observed.frame_bytes} for t in targets[-_MOST_TARGETS:]]
