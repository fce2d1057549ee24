"""Readings of one way of a path, repeated until they agree on a rate.

The link is distinguished from the machine: the rate is that of frames that came back
to back, lost time is time in which the link stood still, and unexplained is what of it was lost
while every processor was free and neither end waited for one.
"""

import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Final, Self

from emu.network.punctuality import MACHINE, Punctuality
from emu.network.spacing import (
    Samples,
    Spans,
    lost_spans,
    measure_spacing,
    overlap_ns,
    unexplained_ns,
)
from netcosim.spans import united

AGREEMENT: Final = 0.001
AGREEMENT_BOTH: Final = 0.003
MOST_READINGS: Final = 4
START_UP: Final = 0.35
GRACE_NS: Final = 4_000_000
"""Time for the ends to fill a link again after a processor is back, beyond a round trip."""

_STEADY_UNEXPLAINED: Final = 0.01
"""Largest `unexplained` share with which readings may end before `MOST_READINGS`."""

_LEAST_FREE: Final = 0.3
"""Least share of a reading's time with every processor free, to judge the link by it."""

_DIGITS: Final = 3

Json = dict[str, Any]


@dataclass(frozen=True, kw_only=True, slots=True)
class Reading:
    """Samples of one direction in one reading.

    `waits` is when its sender or its receiver was ready to run and did not.
    """

    samples: Samples
    waits: Sequence[tuple[int, int]] = ()

    @classmethod
    def of(cls, half: Json) -> Self:
        """Build the reading from a probe's answer."""
        waits = tuple((start, end) for start, end in half["waits"] + half["sender"]["waits"])
        return cls(samples=steady(half["samples"]), waits=waits)


@dataclass(frozen=True, kw_only=True, slots=True)
class WayMeasured:
    """Measurement of one way of a path.

    Attributes
    ----------
    rate_bps : goodput of frames back to back; None where too few windows agree on one
    agreeing : the share of the windows that do
    goodput_bps : the highest goodput of a reading, pauses included
    lost : the share of its time that the link stood still, in the reading that
        lost least without an explanation
    unexplained : the share of the time in which every processor was free, that it stood still
    """

    rate_bps: int | None
    agreeing: float
    goodput_bps: int
    lost: float
    unexplained: float


@dataclass(frozen=True, kw_only=True, slots=True)
class Readings:
    """All readings of a way, or of both ways at once, and the last answer of the probe."""

    ways: tuple[WayMeasured, ...]
    count: int
    answer: Json


def read_way(
    read: Callable[[], tuple[Json, Sequence[Reading]]],
    *,
    goodput_bps: int,
    rate_bps: int,
    busy: Callable[[], Spans],
    grace_ns: int,
    agreement: float,
    punctuality: Punctuality = MACHINE,
) -> Readings:
    """Take readings until two agree on a rate in every direction, `MOST_READINGS` at most.

    Parameters
    ----------
    read
        Takes one reading: the probe's answer, and what it tells of each direction.
    goodput_bps, rate_bps
        What a direction should deliver, and the rate of the link.
    busy
        When some processor had no time to spare, so far.
    grace_ns
        How long the ends may need to fill the link again.
    agreement
        How far apart two readings may be, relatively.
    punctuality
        Of the link; it decides how many readings are enough.
    """
    taken: list[Sequence[Reading]] = []
    while True:
        answer, directions = read()
        taken.append(directions)
        spans = busy()
        ways = tuple(
            _measure(*each, goodput_bps, rate_bps, spans, grace_ns, punctuality)
            for each in _directions(taken)
        )
        if len(taken) >= MOST_READINGS or (
            len(taken) >= punctuality.readings
            and all(way.unexplained <= _STEADY_UNEXPLAINED for way in ways)
            and (len(taken) == 1 or _agree(taken, rate_bps, agreement))
        ):
            return Readings(ways=ways, count=len(taken), answer=answer)


def steady(samples: Samples) -> Samples:
    """Leave out the samples of the start-up."""
    if len(samples) < 2:
        return samples
    begin = samples[0][0] + round((samples[-1][0] - samples[0][0]) * START_UP)
    return [sample for sample in samples if sample[0] >= begin]


def goodput_bps(samples: Samples) -> int:
    """Goodput of the samples, pauses included: the slope of a least-squares line."""
    if len(samples) < 3 or samples[0][0] == samples[-1][0]:
        return 0
    times, sizes = zip(*samples, strict=True)
    return round(statistics.linear_regression(times, sizes).slope * 8e9)


def lost_shares(
    reading: Reading, rate_bps: float, busy: Spans, grace_ns: int
) -> tuple[float, float | None]:
    """Return the share of time that the link stood still, and that of time with free processors.

    The latter is None where processors were hardly ever free, or the receiver came to read but
    once: that says nothing of the link.
    """
    samples = reading.samples
    if len(samples) < 2 or samples[0][0] >= samples[-1][0]:
        return 1.0, None
    begin, end = samples[0][0], samples[-1][0]
    lost = lost_spans(samples, rate_bps)
    busy = united([*busy, *reading.waits])
    unexplained = unexplained_ns(lost, busy, grace_ns)
    free_ns = end - begin - overlap_ns(begin, end, busy, grace_ns)
    judged = free_ns >= _LEAST_FREE * (end - begin)
    return (
        sum(length for _, _, length in lost) / (end - begin),
        min(1.0, unexplained / free_ns) if judged else None,
    )


def best_loss(losses: Sequence[tuple[float, float | None]]) -> tuple[float, float]:
    """Choose the reading that lost least without an explanation, of those that tell of the link.

    Where none does, the one that lost least, and nothing of it is unexplained.
    """
    known = [(round(each, _DIGITS), lost, each) for lost, each in losses if each is not None]
    if not known:
        return min(lost for lost, _ in losses), 0.0
    _, lost, unexplained = min(known)
    return lost, unexplained


def _directions(
    taken: Sequence[Sequence[Reading]],
) -> list[tuple[list[Reading], list[Samples] | None]]:
    """All readings of each direction, with the samples of the other one, if there is one."""
    columns = [list(each) for each in zip(*taken, strict=True)]
    others: list[list[Samples] | None] = [
        [reading.samples for reading in column] for column in columns[::-1]
    ]
    if len(columns) == 1:
        others = [None]
    return list(zip(columns, others, strict=True))


def _measure(
    readings: Sequence[Reading],
    beside: Sequence[Samples] | None,
    goodput: int,
    rate_bps: int,
    busy: Spans,
    grace_ns: int,
    punctuality: Punctuality,
) -> WayMeasured:
    samples = [each.samples for each in readings]
    spacing = measure_spacing(samples, rate_bps, beside, punctuality)
    found = spacing.rate_bps or goodput
    losses = [lost_shares(each, found, busy, grace_ns) for each in readings]
    lost, unexplained = best_loss(losses)
    return WayMeasured(
        rate_bps=spacing.rate_bps,
        agreeing=spacing.share,
        goodput_bps=max(goodput_bps(each.samples) for each in readings),
        lost=lost,
        unexplained=unexplained,
    )


def _agree(taken: Sequence[Sequence[Reading]], rate_bps: int, agreement: float) -> bool:
    """True if in every direction two readings differ by `agreement` at most, relatively."""
    for readings, beside in _directions(taken):
        others = [None] * len(readings) if beside is None else [[other] for other in beside]
        each = (
            measure_spacing([reading.samples], rate_bps, other).rate_bps
            for reading, other in zip(readings, others, strict=True)
        )
        rates = sorted(rate for rate in each if rate is not None)
        if not any(high - low <= agreement * high for low, high in pairwise(rates)):
            return False
    return True
