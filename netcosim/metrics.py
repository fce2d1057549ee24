"""Error metrics of predictions and Jain's index; every report, bench and test uses these.

The *order error* of a stream is |predicted - measured| position of its end in its connection's
bytes; the *share error* the same in the bytes of a link that connections share. The *time error* is
|predicted end - measured end| over the burst's length (primary), for all streams, or over the
stream's own end (secondary), for streams that end after the first tenth of the burst.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]

SECONDARY_FROM: Final = 0.1


@dataclass(frozen=True, slots=True, kw_only=True)
class ErrorStats:
    """Distribution of relative errors, as fractions, and the number of streams that it is of."""

    streams: int
    mean: float
    median: float
    p95: float
    p99: float
    max: float


def position_errors(predicted: Sequence[float], measured: Sequence[float]) -> Floats:
    """|predicted - measured| of positions between 0 and 1, one a stream.

    Raises
    ------
    ValueError
        There are none, or not as many of each.
    """
    if len(predicted) != len(measured) or not measured:
        raise ValueError(f"{len(predicted)} predicted positions, {len(measured)} measured ones")
    errors: Floats = np.abs(np.asarray(predicted) - np.asarray(measured))
    return errors


def primary_errors(predicted_ns: Sequence[int], measured_ns: Sequence[int]) -> Floats:
    """|predicted - measured| over the burst's length (the last measured end), one a stream.

    Raises
    ------
    ValueError
        The burst is empty, of different lengths, or took no time.
    """
    predicted, measured = _paired(predicted_ns, measured_ns)
    errors: Floats = np.abs(predicted - measured) / measured.max()
    return errors


def secondary_errors(predicted_ns: Sequence[int], measured_ns: Sequence[int]) -> Floats:
    """|predicted - measured| over the measured end, for streams that end after the first tenth.

    Raises
    ------
    ValueError
        The burst is empty, of different lengths, or took no time.
    """
    predicted, measured = _paired(predicted_ns, measured_ns)
    late = measured >= SECONDARY_FROM * measured.max()
    errors: Floats = np.abs(predicted[late] - measured[late]) / measured[late]
    return errors


def summarise(errors: Floats) -> ErrorStats:
    """Mean, median, p95, p99 and max of errors pooled over bursts.

    Raises
    ------
    ValueError
        There are none.
    """
    if errors.size == 0:
        raise ValueError("no errors to summarise")
    return ErrorStats(
        streams=int(errors.size),
        mean=float(errors.mean()),
        median=float(np.median(errors)),
        p95=float(np.percentile(errors, 95)),
        p99=float(np.percentile(errors, 99)),
        max=float(errors.max()),
    )


def jain_index(shares: Sequence[float]) -> float:
    """Jain's fairness index: 1 for equal shares, 1/n when one has all.

    Source: Jain, Chiu and Hawe, DEC-TR-301 (1984).

    Raises
    ------
    ValueError
        No shares, a negative one, or all zero.
    """
    values = np.asarray(shares, dtype=np.float64)
    if values.size == 0 or (values < 0).any() or not values.any():
        raise ValueError("shares must be >= 0 and not all zero")
    return float(values.sum() ** 2 / (values.size * (values**2).sum()))


def _paired(predicted_ns: Sequence[int], measured_ns: Sequence[int]) -> tuple[Floats, Floats]:
    predicted = np.asarray(predicted_ns, dtype=np.float64)
    measured = np.asarray(measured_ns, dtype=np.float64)
    if predicted.size != measured.size or measured.size == 0:
        raise ValueError(f"{predicted.size} predicted ends, {measured.size} measured ones")
    if measured.max() <= 0:
        raise ValueError("the burst took no time")
    return predicted, measured
