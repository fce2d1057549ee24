"""Structure of a burst, read without any model: visits, turns, used-up windows, preemptions."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType

import numpy as np

from emu.capture.windows import CreditHistory
from emu.identify.bursts import Burst, Served
from emu.identify.choices import Credit, Queue, Wait, connection_stops

_NEAR = 0.02
"""Turns this close to one another count as equal."""

_MOST_COMPARED = 1000
_MOST_VISITS = 20_000
_NEARLY_ALL = 0.95

NO_PRIORITIES: Mapping[int, int] = MappingProxyType({})

_Levels = dict[int, set[int]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Turns:
    """Structure of one or several bursts; counts add up.

    Attributes
    ----------
    streams, contested : all streams; those that met another unfinished one
    total_bytes : DATA of all streams
    visits : visits of contested streams
    whole : contested streams that were served in one visit
    overtaken, pairs : pairs of contested streams first served against the order of requests; all
        pairs in a burst
    turn_bytes : sizes of the visits that left data and credit behind
    cut_apart : bytes from the end of each of these to that of the next
    credit_ended, connection_ended : visits that left data behind and ended with the credit of
        their stream, or the connection's
    limited, first_is_window : streams larger than the credit that their first visit found; of
        these, how many sent exactly that in it
    second_finishes : of the latter, how many finished with their second visit
    returned, out_of_turn, met_bytes, overtook, less_urgent : as of `choices.Queue`
    preempted : visits that ended, with data and credit left, as another stream was handed over
        and then served to its end
    untold : contested streams of bursts in which no HEADERS show the hand-over
    begin_ns, within_ns : times since the DATA before, of the first DATA of contested streams, and
        of DATA of the same stream
    frame_bytes : the largest DATA frame
    """

    streams: int = 0
    contested: int = 0
    total_bytes: int = 0
    visits: int = 0
    whole: int = 0
    overtaken: int = 0
    pairs: int = 0
    turn_bytes: tuple[int, ...] = ()
    cut_apart: tuple[int, ...] = ()
    credit_ended: int = 0
    connection_ended: int = 0
    limited: int = 0
    first_is_window: int = 0
    second_finishes: int = 0
    returned: int = 0
    out_of_turn: int = 0
    met_bytes: tuple[int, ...] = ()
    overtook: int = 0
    less_urgent: int = 0
    preempted: int = 0
    untold: int = 0
    begin_ns: tuple[int, ...] = ()
    within_ns: tuple[int, ...] = ()
    frame_bytes: int = 0

    def __add__(self, other: "Turns") -> "Turns":
        """Add the counts of both."""
        names = [name for name in self.__slots__ if name != "frame_bytes"]
        sums = {name: getattr(self, name) + getattr(other, name) for name in names}
        return Turns(frame_bytes=max(self.frame_bytes, other.frame_bytes), **sums)

    @property
    def usual_turn_bytes(self) -> int | None:
        """The size of most turns, where there is such a size; of sizes near it, the commonest."""
        if not self.turn_bytes:
            return None
        sizes, counts = np.unique(self.turn_bytes, return_counts=True)
        near = [int(counts[np.abs(sizes - size) <= _NEAR * size].sum()) for size in sizes.tolist()]
        best = int(np.argmax(near))
        if 2 * near[best] <= len(self.turn_bytes):
            return None
        close = np.abs(sizes - sizes[best]) <= _NEAR * sizes[best]
        return int(sizes[close][np.argmax(counts[close])])

    @property
    def mostly_whole(self) -> bool:
        """True if most streams went whole, in an order for which no hand-over is known."""
        return 2 * self.whole >= self.contested and 2 * self.untold >= self.contested

    @property
    def shuffled(self) -> bool:
        """True if streams began in no order of requests: over half the pairs that chance swaps."""
        return 2 * self.overtaken > self.pairs / 2

    @property
    def idled(self) -> bool:
        """True if most streams began after a pause in which another one could have gone on.

        That is twice as long as nearly all times within streams. Their sender had nothing else to
        send then, whatever had been asked for.
        """
        if not self.begin_ns or not self.within_ns:
            return False
        usual_ns = float(np.quantile(self.within_ns, _NEARLY_ALL))
        return float(np.median(self.begin_ns)) > 2 * usual_ns


def read_turns(
    burst: Burst,
    credit: CreditHistory | None,
    ahead_bytes: int,
    priorities: Mapping[int, int] = NO_PRIORITIES,
) -> Turns:
    """Read the structure off a burst.

    Parameters
    ----------
    burst
        The burst.
    credit
        The credit of its streams as the capture saw it; None where unknown.
    ahead_bytes
        The most bytes that its sender was ahead of the wire.
    priorities
        By stream, where they are known.
    """
    visits = _Visits(burst)
    contested = _contested(burst.streams)
    window, levels = _credit(burst, credit)
    queue = Queue(priorities)
    ended = _ended_visits(visits, contested, levels, queue, Credit(burst, ahead_bytes))
    begin_ns, within_ns = _gaps(burst, contested)
    limited = [s for s in burst.streams if s.stream in window and s.size_bytes > window[s.stream]]
    exact = [s for s in limited if visits.first_bytes(s.stream) == window[s.stream]]
    compared = min(len(contested), _MOST_COMPARED)
    return Turns(
        streams=len(burst.streams),
        contested=len(contested),
        total_bytes=burst.total_bytes,
        visits=sum(visits.count(stream) for stream in contested),
        whole=sum(visits.count(stream) == 1 for stream in contested),
        overtaken=_overtaken([s for s in burst.streams if s.stream in contested]),
        pairs=compared * (compared - 1) // 2,
        turn_bytes=tuple(ended.turn_bytes),
        cut_apart=tuple(np.diff(ended.cut_at).tolist()),
        credit_ended=ended.by_credit,
        connection_ended=ended.by_connection,
        limited=len(limited),
        first_is_window=len(exact),
        second_finishes=sum(visits.count(s.stream) == 2 for s in exact),
        returned=queue.returned,
        out_of_turn=queue.out_of_turn,
        met_bytes=tuple(queue.met_bytes),
        overtook=queue.overtook,
        less_urgent=queue.less_urgent,
        preempted=ended.preempted,
        untold=0 if headers_tell(burst) else len(contested),
        begin_ns=begin_ns,
        within_ns=within_ns,
        frame_bytes=burst.frame_bytes,
    )


class _Visits:
    """Visits of a burst in order, as (stream, bytes), and where those of each stream are."""

    def __init__(self, burst: Burst) -> None:
        self.runs = burst.runs()
        self._ends: list[int] = np.cumsum([size for _, size in self.runs]).tolist()
        self._served = {served.stream: served for served in burst.streams}
        self._stops = connection_stops(burst)
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

    def begin(self, place: int) -> int:
        """Position at which a visit begins."""
        return self._ends[place] - self.runs[place][1]

    def end(self, place: int) -> int:
        """Position at which a visit ends."""
        return self._ends[place]

    def is_stopped(self, place: int) -> bool:
        """True if a visit used up the connection's credit."""
        return self._ends[place] in self._stops

    def is_preempted(self, place: int) -> bool:
        """True if the next visit's stream came during this one, and is then served to its end."""
        if self._places[self.runs[place + 1][0]] != [place + 1]:
            return False
        following = self._served[self.runs[place + 1][0]]
        arrived_at = max(following.asked_at, min(following.opened_at, following.first_at))
        return self.begin(place) < arrived_at <= self.end(place)


@dataclass(slots=True)
class _Ended:
    """Visits that did not finish their stream, by their end.

    `by_credit` ended with the stream's credit, `by_connection` with the connection's; all others
    are turns, some of them `preempted`, which end at `cut_at`.
    """

    turn_bytes: list[int] = field(default_factory=list)
    cut_at: list[int] = field(default_factory=list)
    by_credit: int = 0
    by_connection: int = 0
    preempted: int = 0


def _ended_visits(
    visits: _Visits, contested: Collection[int], levels: _Levels, queue: Queue, credit: Credit
) -> _Ended:
    """Read visits of contested streams by their end, and put them through the queue.

    `levels` are the credit that each stream had been granted at any time.
    """
    ended = _Ended()
    sent: dict[int, int] = {}
    for place, (stream, size) in enumerate(visits.runs[:_MOST_VISITS]):
        sent[stream] = sent.get(stream, 0) + size
        if stream not in contested:
            continue
        queue.served(stream, size, visits.begin(place))
        if visits.is_last(place):
            continue
        at = visits.end(place)
        if sent[stream] in levels.get(stream, ()):
            ended.by_credit += 1
            queue.waits(stream, credit.wait(stream, sent[stream], at))
            continue
        if visits.is_stopped(place):
            ended.by_connection += 1
            continue
        queue.waits(stream, Wait(earliest=at, latest=at))
        ended.turn_bytes.append(size)
        ended.cut_at.append(at)
        if visits.is_preempted(place):
            ended.preempted += 1
    return ended


def _gaps(burst: Burst, contested: Collection[int]) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Times since the DATA before: of the first DATA of streams, and of DATA within a visit."""
    streams, times_ns = burst.stream[:_MOST_VISITS], burst.time_ns[:_MOST_VISITS]
    since_ns = np.diff(times_ns)
    _, first = np.unique(streams, return_index=True)
    begins = [place for place in first.tolist() if place and int(streams[place]) in contested]
    within = streams[1:] == streams[:-1]
    return tuple(since_ns[np.array(begins, dtype=np.int64) - 1].tolist()), tuple(
        since_ns[within].tolist()
    )


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
    ranks = np.array([served.asked_rank for served in streams[:_MOST_COMPARED]])
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
