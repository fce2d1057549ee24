"""Receiver overhead: from a message's last byte on the wire to the message in the application.

Li et al. (ICPE'20, section 3.2.1) add alpha * size + beta. Two things are added here that a
receiver of several messages shows: it parses one message at a time, and while bytes of others still
arrive on its connection it has less of the processor for that.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations, pairwise
from typing import Final

import numpy as np
import numpy.typing as npt

from netcosim.spans import Span, united

STRETCHES: Final = tuple(round(1.0 + 0.1 * step, 1) for step in range(91))
"""Values tried for `Overhead.stretch`: nothing to ten times as long."""

_NEAR: Final = 0.05


@dataclass(frozen=True, slots=True, kw_only=True)
class Linear:
    """alpha * size + beta, in nanoseconds.

    The receiver is occupied for alpha * size; beta (waking up, a callback) delays a message and
    not the ones behind it, unless it `occupies` the receiver as well.
    """

    alpha_ns_per_byte: float
    beta_ns: float
    occupies: bool = False

    def ns(self, size_bytes: int, stretch: float = 1.0) -> int:
        """Cost of a message of so many bytes, times `stretch`."""
        return round(stretch * (self.alpha_ns_per_byte * size_bytes + self.beta_ns))


NOTHING: Final = Linear(alpha_ns_per_byte=0.0, beta_ns=0.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Overhead:
    """Overhead of a receiver as calibrated on another connection.

    Attributes
    ----------
    first : in the first burst of a connection: its process has not touched its memory yet
    later : in all others
    stretch : how many times longer parsing takes while DATA arrives on the same connection
    handover_first, handover_later : what the sender of these messages needs from its log of a
        message to the first byte that leaves, which is the copy that a library makes of it
    """

    first: Linear
    later: Linear
    stretch: float = 1.0
    handover_first: Linear = NOTHING
    handover_later: Linear = NOTHING


@dataclass(frozen=True, slots=True, kw_only=True)
class Acceptance:
    """Time that a server leaves a pushed call unread, from its HEADERS, as measured beforehand.

    The first call of a burst finds it asleep, later ones do not.
    """

    first_ns: int = 0
    later_ns: int = 0


AT_ONCE: Final = Acceptance()


@dataclass(frozen=True, slots=True, kw_only=True)
class Arrival:
    """A message whose last byte is at the receiver."""

    wire_end_ns: int
    size_bytes: int


def delivered_ends_ns(
    arrivals: Sequence[Arrival], busy: Sequence[Span], linear: Linear, stretch: float = 1.0
) -> list[int]:
    """Times at which each message is in the application, in the order given.

    Parameters
    ----------
    arrivals
        The messages of one connection, in any order; they are parsed in that of their ends.
    busy
        When DATA arrived on this connection: spans that may overlap, in any order.
    linear, stretch
        What parsing costs.

    Returns
    -------
    list of int
        Nanoseconds on the clock of the arrivals.
    """
    wire = united(busy)
    free = 0.0
    ends = [0] * len(arrivals)
    for i in sorted(range(len(arrivals)), key=lambda i: arrivals[i].wire_end_ns):
        begin = max(free, float(arrivals[i].wire_end_ns))
        free, end = _parsed(begin, arrivals[i], wire, linear, stretch)
        ends[i] = round(end)
    return ends


def in_turn_ends_ns(
    arrivals: Sequence[Arrival], busy: Sequence[Span], linear: Linear, stretch: float = 1.0
) -> list[int]:
    """Times at which each message is in an application that has one thread to read with.

    It reads the calls in the order in which they came, which is the one given: a message is not
    looked at before the one before it is delivered, however long it has been there. Parameters
    and result are otherwise those of `delivered_ends_ns`.
    """
    wire = united(busy)
    free = 0.0
    ends = []
    for arrival in arrivals:
        _, free = _parsed(max(free, float(arrival.wire_end_ns)), arrival, wire, linear, stretch)
        ends.append(round(free))
    return ends


def with_transport_ns(
    ready_ns: Sequence[int], sizes_bytes: Sequence[int], handover: Linear
) -> list[int]:
    """Times at which each message is with the transport, in the order given.

    One thread hands the messages over, one after the other: that the next one is handed over shows
    that this one is with the transport. Those of one instant were handed over as one: the
    transport knows all of them when it knows the first.
    """
    instants = sorted(set(ready_ns))
    following = dict(pairwise(instants))
    there: dict[int, int] = {}
    for ready, size in zip(ready_ns, sizes_bytes, strict=True):
        after = min(ready + handover.ns(size), following.get(ready, ready + handover.ns(size)))
        there[ready] = min(after, there.get(ready, after))
    return [there[ready] for ready in ready_ns]


def fit_linear(sizes_bytes: Sequence[int], overheads_ns: Sequence[int]) -> Linear:
    """The line with the least sum of absolute residuals; it neither falls nor starts below zero.

    Such a line leads through two of the points, or through one and with a slope or a start of
    zero; all are tried. A sample that the machine disturbed has no pull on it beyond its side.

    Raises
    ------
    ValueError
        No samples.
    """
    points = list(zip(sizes_bytes, overheads_ns, strict=True))
    if not points:
        raise ValueError("no samples to fit")
    lines = [(0.0, float(y)) for _, y in points] + [(y / x, 0.0) for x, y in points if x]
    for (x1, y1), (x2, y2) in combinations(points, 2):
        if x1 != x2:
            slope = (y2 - y1) / (x2 - x1)
            lines.append((slope, y1 - slope * x1))
    sizes, overheads = np.array(points, dtype=np.float64).T
    allowed = [line for line in lines if line[0] >= 0 and line[1] >= 0] or [(0.0, 0.0)]
    best = min(allowed, key=lambda line: _misfit(overheads, line[0] * sizes + line[1]))
    return Linear(alpha_ns_per_byte=best[0], beta_ns=best[1])


def fit_stretch(
    groups: Sequence[tuple[Sequence[Arrival], Sequence[Span], Linear, Sequence[int]]],
) -> float:
    """The least stretch whose sum of absolute residuals comes near the smallest one.

    Where parsing takes next to nothing, all explain the samples alike, and the noise would choose.

    Parameters
    ----------
    groups
        For each burst its arrivals, when DATA arrived, the line of messages that came alone, and
        when the arrivals were seen delivered.
    """

    def misfit(stretch: float) -> float:
        return math.fsum(
            abs(ours - seen)
            for arrivals, busy, linear, delivered in groups
            for ours, seen in zip(
                delivered_ends_ns(arrivals, busy, linear, stretch), delivered, strict=True
            )
        )

    misfits = [misfit(stretch) for stretch in STRETCHES]
    enough = min(misfits) * (1 + _NEAR)
    return next(s for s, left in zip(STRETCHES, misfits, strict=True) if left <= enough)


def _parsed(
    begin: float, arrival: Arrival, wire: Sequence[Span], linear: Linear, stretch: float
) -> tuple[float, float]:
    """Times at which the parser is free again and the message is in the application."""
    work_ns = linear.alpha_ns_per_byte * arrival.size_bytes
    free = _worked_off(begin, work_ns, wire, stretch)
    end = _worked_off(free, linear.beta_ns, wire, stretch)
    return (end if linear.occupies else free), end


def _worked_off(begin: float, work_ns: float, wire: Sequence[Span], stretch: float) -> float:
    """End of work that goes on at 1 / stretch of its speed while the wire is busy."""
    now = begin
    for start, end in wire:
        if end <= now:
            continue
        if work_ns <= start - now:
            break
        work_ns -= max(0.0, start - now)
        now = max(now, float(start))
        if work_ns * stretch <= end - now:
            return now + work_ns * stretch
        work_ns -= (end - now) / stretch
        now = float(end)
    return now + work_ns


def _misfit(seen: npt.NDArray[np.float64], ours: npt.NDArray[np.float64]) -> float:
    return float(np.abs(seen - ours).sum())
