"""Structure of a burst, read without any model: visits, turns, used-up windows, preemptions."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field

import numpy as np

from emu.capture.windows import CreditHistory
from emu.identify.bursts import Burst, Served

_NEAR = 0.02
"""Turns this close to one another count as equal."""

_MOST_COMPARED = 1000

_Levels = dict[int, set[int]]


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
    visits = _Visits(burst)
    contested = _contested(burst.streams)
    window, levels = _credit(burst, credit)
    ended, ring = _ended_visits(visits, contested, levels)
    limited = [s for s in burst.streams if s.stream in window and s.size_bytes > window[s.stream]]
    exact = [s for s in limited if visits.first_bytes(s.stream) == window[s.stream]]
    return Turns(
        streams=len(burst.streams),
        contested=len(contested),
        visits=sum(visits.count(stream) for stream in contested),
        whole=sum(visits.count(stream) == 1 for stream in contested),
        overtaken=_overtaken([s for s in burst.streams if s.stream in contested]),
        turn_bytes=tuple(ended.turn_bytes),
        credit_ended=ended.by_credit,
        limited=len(limited),
        first_is_window=len(exact),
        second_finishes=sum(visits.count(s.stream) == 2 for s in exact),
        returned=ring.returned,
        out_of_turn=ring.out_of_turn,
        preempted=ended.preempted,
        frame_bytes=burst.frame_bytes,
    )


class _Visits:
    """Visits of a burst in order, as (stream, bytes), and where those of each stream are."""

    def __init__(self, burst: Burst) -> None:
        self.runs = burst.runs()
        self._ends: list[int] = np.cumsum([size for _, size in self.runs]).tolist()
        self._served = {served.stream: served for served in burst.streams}
        self._places: dict[int, list[int]] = {}
        for place, (stream, _) in enumerate(self.runs):
            self._places.setdefault(stream, []).append(place)

    def count(self, stream: int) -> int:
        """Number of visits to a stream."""
        return len(self._places[stream])

    def first_bytes(self, stream: int) -> int:
        """Bytes of the first visit to a stream."""
        return self.runs[self._places[stream][0]][1]

    def is_last(self, place: int) -> bool:
        """True if a visit is the last one to its stream."""
        return self._places[self.runs[place][0]][-1] == place

    def is_preempted(self, place: int) -> bool:
        """True if the next visit's stream came during this one, and is then served to its end."""
        if self._places[self.runs[place + 1][0]] != [place + 1]:
            return False
        following = self._served[self.runs[place + 1][0]]
        arrived_at = max(following.asked_at, min(following.opened_at, following.first_at))
        return self._ends[place] - self.runs[place][1] < arrived_at <= self._ends[place]


@dataclass(slots=True)
class _Ended:
    """Visits that did not finish their stream, by their end.

    `by_credit` ended with the stream's credit; all others are turns, some of them `preempted`.
    """

    turn_bytes: list[int] = field(default_factory=list)
    by_credit: int = 0
    preempted: int = 0


def _ended_visits(
    visits: _Visits, contested: Collection[int], levels: _Levels
) -> tuple[_Ended, "_Ring"]:
    """Visits of contested streams by their end, and the order in which these streams were served.

    `levels` are the credit that each stream had been granted at any time.
    """
    ended, ring = _Ended(), _Ring()
    sent: dict[int, int] = {}
    for place, (stream, size) in enumerate(visits.runs):
        sent[stream] = sent.get(stream, 0) + size
        if stream not in contested:
            continue
        ring.served(stream)
        if visits.is_last(place):
            continue
        if sent[stream] in levels.get(stream, ()):
            ended.by_credit += 1
            continue
        ring.waits(stream)
        ended.turn_bytes.append(size)
        if visits.is_preempted(place):
            ended.preempted += 1
    return ended, ring


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
