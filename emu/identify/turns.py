"""Structure of a burst, read without any model: visits, turns, used-up windows, preemptions."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from emu.capture.windows import CreditHistory
from emu.identify.bursts import Burst, Served

_NEAR = 0.02
"""Turns this close to one another count as equal."""

_MOST_COMPARED = 1000


@dataclass(frozen=True, slots=True, kw_only=True)
class Turns:
    """Structure of one or several bursts; counts add up.

    Attributes
    ----------
    streams, contested : all streams; those that met another unfinished one
    visits : visits of contested streams
    whole : contested streams that were served in one visit
    overtaken : pairs of contested streams first served against the order of hand-over
    turn_bytes : sizes of the visits that neither finished their stream nor ended with its credit
    credit_ended : visits that did not finish their stream and ended with its credit
    limited, first_is_window : streams larger than the credit that their first visit found; of
        these, how many sent exactly that in it
    second_finishes : of the latter, how many finished with their second visit
    returned, out_of_turn : visits of contested streams that had been served before and left with
        credit; of these, those that passed over a stream which had waited for longer
    preempted : visits that ended, with data and credit left, as another stream was handed over
        and then served to its end
    frame_bytes : the largest DATA frame
    """

    streams: int = 0
    contested: int = 0
    visits: int = 0
    whole: int = 0
    overtaken: int = 0
    turn_bytes: tuple[int, ...] = ()
    credit_ended: int = 0
    limited: int = 0
    first_is_window: int = 0
    second_finishes: int = 0
    returned: int = 0
    out_of_turn: int = 0
    preempted: int = 0
    frame_bytes: int = 0

    def __add__(self, other: "Turns") -> "Turns":
        """Add the counts of both."""
        names = [name for name in self.__slots__ if name != "frame_bytes"]
        sums = {name: getattr(self, name) + getattr(other, name) for name in names}
        return Turns(frame_bytes=max(self.frame_bytes, other.frame_bytes), **sums)

    @property
    def usual_turn_bytes(self) -> int | None:
        """The size of most turns, where there is such a size."""
        if not self.turn_bytes:
            return None
        sizes, counts = np.unique(self.turn_bytes, return_counts=True)
        near = [int(counts[np.abs(sizes - size) <= _NEAR * size].sum()) for size in sizes.tolist()]
        best = int(np.argmax(near))
        return int(sizes[best]) if 2 * near[best] > len(self.turn_bytes) else None


def read_turns(burst: Burst, credit: CreditHistory | None) -> Turns:
    """Read the structure off a burst; `credit` as the capture saw it, None where unknown."""
    runs = burst.runs()
    ends = np.cumsum([size for _, size in runs]).tolist()
    of = {served.stream: served for served in burst.streams}
    contested = _contested(burst.streams)
    visits: dict[int, list[int]] = {}
    for place, (stream, _) in enumerate(runs):
        visits.setdefault(stream, []).append(place)
    window, levels = _credit(burst, credit)
    sent: dict[int, int] = {}
    turn_bytes: list[int] = []
    credit_ended = preempted = 0
    ring = _Ring()
    for place, (stream, size) in enumerate(runs):
        sent[stream] = sent.get(stream, 0) + size
        if stream not in contested:
            continue
        ring.served(stream)
        if visits[stream][-1] == place:
            continue
        if sent[stream] in levels.get(stream, ()):
            credit_ended += 1
            continue
        ring.waits(stream)
        turn_bytes.append(size)
        following = of[runs[place + 1][0]]
        arrived = max(following.asked_at, min(following.opened_at, following.first_at))
        finishes = visits[following.stream] == [place + 1]
        preempted += finishes and ends[place] - size < arrived <= ends[place]
    limited = [s for s in burst.streams if s.stream in window and s.size_bytes > window[s.stream]]
    exact = [s for s in limited if runs[visits[s.stream][0]][1] == window[s.stream]]
    return Turns(
        streams=len(burst.streams),
        contested=len(contested),
        visits=sum(len(visits[stream]) for stream in contested),
        whole=sum(len(visits[stream]) == 1 for stream in contested),
        overtaken=_overtaken([s for s in burst.streams if s.stream in contested]),
        turn_bytes=tuple(turn_bytes),
        credit_ended=credit_ended,
        limited=len(limited),
        first_is_window=len(exact),
        second_finishes=sum(len(visits[s.stream]) == 2 for s in exact),
        returned=ring.returned,
        out_of_turn=ring.out_of_turn,
        preempted=preempted,
        frame_bytes=burst.frame_bytes,
    )


class _Ring:
    """Streams that were served and have more to send, those that have waited longest first."""

    def __init__(self) -> None:
        self._waiting: dict[int, None] = {}
        self.returned = 0
        self.out_of_turn = 0

    def served(self, stream: int) -> None:
        """Note that a stream is served, and whether it was another one's turn."""
        if stream in self._waiting:
            self.returned += 1
            self.out_of_turn += next(iter(self._waiting)) != stream
            del self._waiting[stream]

    def waits(self, stream: int) -> None:
        """Note that a stream's turn is over, with data and credit left."""
        self._waiting[stream] = None


def _contested(streams: Sequence[Served]) -> set[int]:
    """The streams that another one overlaps, from their request to their last byte."""
    found: set[int] = set()
    ahead: Served | None = None  # of those before, the one that lasts longest
    for one in sorted(streams, key=lambda s: s.asked_at):
        if ahead is not None and one.asked_at < ahead.last_at:
            found |= {one.stream, ahead.stream}
        if ahead is None or one.last_at > ahead.last_at:
            ahead = one
    return found


def headers_tell(burst: Burst) -> bool:
    """True if HEADERS show the hand-over: they come before the stream's first turn does.

    Senders that write HEADERS only with a stream's first DATA show nothing by them.
    """
    waiting = [s for s in burst.streams if s.asked_at < s.first_at]
    early = [s for s in waiting if s.opened_at < s.first_at]
    return 2 * len(early) > len(waiting)


def _overtaken(streams: Sequence[Served]) -> int:
    """Pairs first served in another order than asked for, of the first `_MOST_COMPARED` streams."""
    keys = [(s.asked_ns, s.opened_ns, s.stream) for s in streams]
    rank = {key: place for place, key in enumerate(sorted(keys))}
    ranks = np.array([rank[key] for key in keys[:_MOST_COMPARED]])
    return int((np.triu(ranks[:, None] > ranks[None, :])).sum())


_Levels = dict[int, set[int]]


def _credit(burst: Burst, credit: CreditHistory | None) -> tuple[dict[int, int], _Levels]:
    """Credit of each stream before its first DATA, and its levels of all credit granted."""
    window: dict[int, int] = {}
    levels: _Levels = {}
    if credit is None or burst.initial_window is None:
        return window, levels
    order = np.argsort(credit.stream, kind="stable")
    numbers, begin = np.unique(credit.stream[order], return_index=True)
    rows_of = dict(zip(numbers.tolist(), np.split(order, begin[1:]), strict=False))
    for served in burst.streams:
        left = credit.stream_left[rows_of.get(served.stream, order[:0])]
        moves = np.diff(left)
        falls = np.flatnonzero(moves < 0)
        if falls.size:
            window[served.stream] = int(left[falls[0]])
            sent = np.concatenate([[0], np.cumsum(np.where(moves < 0, -moves, 0))])
            levels[served.stream] = set((left + sent).tolist())
    return window, levels
