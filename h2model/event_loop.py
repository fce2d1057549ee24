"""Event loop of one or more connections, each at its share of the links at every moment."""

import heapq
import math
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Protocol

from h2model.events import At
from h2model.link import Queue
from h2model.records import Schedule
from h2model.sender import Sender

Shares = Callable[[frozenset[int]], Mapping[int, float]]
"""From the connections with data in their kernels, by position, to the rate of each in bits/s."""


class Sending(Protocol):
    """A connection's sending end, as the loop knows it."""

    @property
    def queue(self) -> Queue:
        """Queue of the kernel: all that was handed to it and has not left."""

    @property
    def has_messages(self) -> bool:
        """True if there is something that was not handed to the kernel."""

    def begin(self, at: At) -> None:
        """Schedule the events that are known before."""

    def apply(self, now: float, kind: int, stream: int, value: int) -> bool:
        """Take an event; True if a decision may follow from it."""

    def pump(self, now: float) -> None:
        """Decide as long as the kernel has room."""

    def share(self, rate_bps: float, now: float, keep: float) -> None:
        """Change the connection's share of its path; it keeps that part of what its bucket has."""

    def moved(self, now: float) -> None:
        """Learn that packets have come, or were acknowledged."""


def play(senders: Sequence[Sender], shares: Shares | None = None) -> list[Schedule]:
    """Play one burst to its end.

    Parameters
    ----------
    senders
        The connections.
    shares
        How the links are shared; None leaves every connection the rate that it has.

    Raises
    ------
    StandstillError
        The credit never lets a burst finish.
    """
    loop = EventLoop(shares)
    for position, sender in enumerate(senders):
        loop.begin(position, sender)
    while loop.next_ns < math.inf:
        loop.step()
    return [sender.finish() for sender in senders]


class EventLoop:
    """Events of connections, each with the sender of its burst, which another may follow.

    Parameters
    ----------
    shares
        How the links are shared, by the connections' positions; None leaves every connection the
        rate that it has.
    """

    def __init__(self, shares: Shares | None) -> None:
        self._senders: dict[int, Sending] = {}
        self._shares = None if shares is None else _Remembered(shares)
        self._events: list[tuple[float, int, int, Sending, int, int, int]] = []
        self._count = 0
        self._now = -math.inf
        self._busy: frozenset[int] = frozenset()

    @property
    def next_ns(self) -> float:
        """Time of the next event; infinite if there is none."""
        return self._events[0][0] if self._events else math.inf

    def begin(self, position: int, sender: Sending) -> None:
        """Begin a connection's burst; what was to come of the one before is dropped."""
        self._senders[position] = sender
        sender.begin(partial(self._at, position, sender))

    def step(self) -> None:
        """Let happen what is next, at one instant."""
        events, senders = self._events, self._senders
        now = self._now = events[0][0]
        deciding: list[int] = []
        touched: list[int] = []
        # What happens at one instant is known before the next decision falls.
        while events and events[0][0] == now:
            _, _, who, sender, kind, stream, value = heapq.heappop(events)
            if sender is not senders[who]:
                continue
            touched.append(who)
            if sender.apply(now, kind, stream, value):
                deciding.append(who)
        joined = self._join(self._shares, deciding, now) if self._shares else frozenset()
        for who in sorted(set(deciding)) if len(deciding) > 1 else deciding:
            senders[who].pump(now)
        if self._shares is not None:
            self._share(self._shares, touched, joined, now)

    def moved(self, position: int, now: float) -> None:
        """Let a connection learn that its packets have come, or were acknowledged."""
        self._now = now
        self._senders[position].moved(now)

    def _at(
        self, who: int, sender: Sending, time: float, kind: int, stream: int = 0, value: int = 0
    ) -> None:
        event = (max(time, self._now), self._count, who, sender, kind, stream, value)
        heapq.heappush(self._events, event)
        self._count += 1

    def _join(self, shares: Shares, deciding: Sequence[int], now: float) -> frozenset[int]:
        """Give those who may begin to send their part of the bucket, before they have sent."""
        having = frozenset(i for i in deciding if self._senders[i].has_messages)
        joining = having - self._busy
        if not joining or len(joining | self._busy) == 1:
            return frozenset()
        rates = shares(joining | self._busy)
        for i in joining:
            keep = _kept(shares, i, self._busy, rates[i])
            self._senders[i].queue.replan(rates[i], now, keep)
        return joining

    def _share(
        self, shares: Shares, touched: Sequence[int], joined: frozenset[int], now: float
    ) -> None:
        """Share the links anew when a connection became busy or idle."""
        before = self._busy
        changed = {i for i in touched if bool(self._senders[i].queue.waiting) != (i in before)}
        if not changed:
            return
        self._busy = after = before.symmetric_difference(changed)
        rates = shares(after)
        for i in sorted(after):
            queue = self._senders[i].queue
            keep = _kept(shares, i, before, rates[i]) if i in changed - joined else 1.0
            if keep < 1.0 or rates[i] != queue.rate_bps:
                self._senders[i].share(rates[i], now, keep)


def _kept(shares: Shares, joining: int, busy: frozenset[int], rate_bps: float) -> float:
    """The part that a joining connection has of the bucket of the link that limits it.

    A bucket fills while its link rests: where others were busy there is nothing, and those who
    come at once share it as they share the link.
    """
    alone_bps = shares(frozenset({joining}))[joining]
    if shares(busy | {joining})[joining] < alone_bps * _SAME:
        return 0.0
    return min(1.0, rate_bps / alone_bps)


_SAME = 1 - 1e-9


class _Remembered:
    """Cache of the shares, by the set of busy connections."""

    def __init__(self, shares: Shares) -> None:
        self._shares = shares
        self._known: dict[frozenset[int], Mapping[int, float]] = {}

    def __call__(self, busy: frozenset[int]) -> Mapping[int, float]:
        known = self._known.get(busy)
        if known is None:
            known = self._known[busy] = self._shares(busy)
        return known
