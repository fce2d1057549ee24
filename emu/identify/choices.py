"""Choices of a sender: at the beginning of each visit, which streams waited, and who was chosen.

A stream waits from the end of its last visit, if that left it with data and credit. If the visit
used up its credit, it waits from when its *sender* had more: no later than the wire shows the grant
and the sender was ahead of the wire. Some rules let it keep its place in the queue, some let it
join the tail then. So the order in which two streams came to wait is certain or not, and only what
is certain is held against a rule. A visit that ended with the connection's credit tells nothing of
its stream's place: some rules go on with it, others queue it anew.
"""

from bisect import bisect_right
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import accumulate
from typing import Final

from emu.capture.windows import ALL_STREAMS, CONNECTION
from emu.identify.bursts import Burst

_NEVER: Final = 2**62


@dataclass(frozen=True, slots=True, kw_only=True)
class Wait:
    """A stream's wait, which began somewhere from `earliest` to `latest`.

    `credited` is where the wire shows the credit that it needed; None if it had some.
    """

    earliest: int
    latest: int
    credited: int | None = None


class Queue:
    """Streams that were served and have more to send, as a burst's visits are read in order.

    `urgency` has priorities by stream, where they are known.

    Attributes
    ----------
    returned : visits to streams of which it is certain that they had waited for longer than another
        one, or less long
    out_of_turn : of these, visits that passed over a stream which had waited for longer and had
        been given fewer bytes
    met_bytes : sizes of the visits that began while another stream certainly waited
    overtook : of these, visits that passed over a stream which was served first
    less_urgent : of these, visits that passed over a stream of higher priority
    """

    def __init__(self, urgency: Mapping[int, int]) -> None:
        self.returned = 0
        self.out_of_turn = 0
        self.met_bytes: list[int] = []
        self.overtook = 0
        self.less_urgent = 0
        self._urgency = urgency
        self._waits: dict[int, Wait] = {}
        self._rank: dict[int, int] = {}
        self._shares = _Shares()

    def served(self, stream: int, size_bytes: int, at: int) -> None:
        """Note a visit that begins at this position."""
        self._shares.credit(self._waits, at)
        mine = self._waits.pop(stream, None)
        rank = self._rank.setdefault(stream, len(self._rank))
        waiting = [other for other, wait in self._waits.items() if wait.latest <= at]
        if waiting:
            urgency = self._urgency.get(stream, 0)
            self.met_bytes.append(size_bytes)
            self.overtook += any(self._rank[other] < rank for other in waiting)
            self.less_urgent += any(self._urgency.get(other, 0) > urgency for other in waiting)
        if mine is not None:
            before = [o for o, wait in self._waits.items() if wait.latest < mine.earliest]
            behind = any(mine.latest < wait.earliest for wait in self._waits.values())
            self.returned += bool(before) or behind
            self.out_of_turn += any(self._shares.has_less(other, stream) for other in before)
        self._shares.serve(stream, size_bytes, queued=mine is not None)

    def waits(self, stream: int, wait: Wait) -> None:
        """Note that a stream's visit is over, with data left."""
        self._waits[stream] = wait


class _Shares:
    """Bytes that each stream was given, on the scale of start-time fair queueing.

    Source: Goyal et al., SIGCOMM 1996. A stream that comes, or had no credit, starts where those
    are that are served then. So what it missed before is not counted.
    """

    def __init__(self) -> None:
        self._given: dict[int, int] = {}
        self._virtual = 0
        self._back: set[int] = set()

    def credit(self, waits: Mapping[int, Wait], at: int) -> None:
        """Let streams whose credit has come start from here."""
        for stream, wait in waits.items():
            if wait.credited is not None and wait.credited <= at and stream not in self._back:
                self._back.add(stream)
                self._given[stream] = max(self._given[stream], self._virtual)

    def has_less(self, one: int, other: int) -> bool:
        return self._given[one] < self._given[other]

    def serve(self, stream: int, size_bytes: int, *, queued: bool) -> None:
        start = self._given.get(stream, self._virtual)
        if not queued:
            start = max(start, self._virtual)
        self._virtual = max(self._virtual, start)
        self._given[stream] = start + size_bytes
        self._back.discard(stream)


class Credit:
    """Credit of a burst's streams as their sender had it, by position.

    `ahead_bytes` is the most that the sender was ahead of the wire. What it decides at once, a
    visit or a write of several, it may have decided before the credit came.
    """

    def __init__(self, burst: Burst, ahead_bytes: int) -> None:
        self._burst = burst
        at_once = max((size for _, size in burst.runs()), default=0)
        self._ahead = min(ahead_bytes, _in_flight(burst)) + at_once
        self._levels: dict[int, tuple[list[int], list[int]]] = {}

    def wait(self, stream: int, sent_bytes: int, at: int) -> Wait:
        """The wait of a stream that had used up its credit with the visit that ended here."""
        if stream not in self._levels:
            self._levels[stream] = self._read(stream)
        levels, places = self._levels[stream]
        more = bisect_right(levels, sent_bytes)
        if more == len(levels):
            return Wait(earliest=at, latest=_NEVER, credited=_NEVER)
        latest = max(at, places[more] + self._ahead)
        return Wait(earliest=at, latest=latest, credited=max(at, places[more]))

    def _read(self, stream: int) -> tuple[list[int], list[int]]:
        """The highest credit granted up to each grant, and where that reached the sender."""
        mine = [g for g in self._burst.grants if g.stream in (stream, ALL_STREAMS)]
        granted = accumulate((g.amount for g in mine), initial=self._burst.initial_window or 0)
        return [*accumulate(granted, max)], [0, *(g.at for g in mine)]


def connection_stops(burst: Burst) -> set[int]:
    """Positions at which all was sent that the connection had been granted at some time."""
    if burst.connection_credit is None:
        return set()
    amounts = [grant.amount for grant in burst.grants if grant.stream == CONNECTION]
    return set(accumulate(amounts, initial=burst.connection_credit))


def _in_flight(burst: Burst) -> int:
    """The most credit that the connection had left: its sender was no further ahead."""
    if burst.connection_credit is None:
        return _NEVER
    granted = most = burst.connection_credit
    for grant in burst.grants:
        if grant.stream == CONNECTION:
            granted += grant.amount
            most = max(most, granted - grant.at)
    return most
