"""Estimate of a link's rate from the spacing of back-to-back frames, and of its lost time.

Bytes over time tell what a link delivered, the machine's pauses included. While a link is busy its
frames come at one distance, whatever happened before: windows of 20 ms in which nothing paused
agree on one rate, and they are many. A window with a pause is slower, each by a length of its own;
a window after a pause is faster, as the token bucket has filled, each by how much of the bucket it
holds. So the rate is where windows cluster, and neither of the two moves it.

The same samples show what a pause takes from a link for good (`lost_spans`).
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from emu.network.punctuality import MACHINE, Punctuality
from topo.spec import FRAME_BYTES, PAYLOAD_BYTES

_LEAST_FRAMES: Final = 16
_WIDTH: Final = 0.005
"""Rates this close belong together: an arrival may be late by 50 us, 1/400 of a window."""

LEAST_SHARE: Final = 0.1
"""Least share of all windows in the cluster; rates cluster by chance to a fifth of that."""

_LEAST_WINDOWS: Final = 10
_BUSY: Final = 0.9
"""The share of a link's rate from which on a direction counts as busy, both ways at once."""

_STEP_NS: Final = 1_000_000

Samples = Sequence[Sequence[int]]
Floats = npt.NDArray[np.float64]
Spans = Sequence[tuple[int, int]]


@dataclass(frozen=True, kw_only=True, slots=True)
class Spacing:
    """The rate at which frames came back to back, payload only, in bits per second.

    `share` is that of the windows that agree on it; where they are too few, `rate_bps` is None.
    """

    rate_bps: int | None
    share: float


def window_ns(rate_bps: int, punctuality: Punctuality = MACHINE) -> int:
    """Length of a window on a link of this rate, in nanoseconds."""
    return max(punctuality.window_ns, round(_LEAST_FRAMES * FRAME_BYTES * 8e9 / rate_bps))


def measure_spacing(
    readings: Iterable[Samples],
    rate_bps: int,
    beside: Sequence[Samples] | None = None,
    punctuality: Punctuality = MACHINE,
) -> Spacing:
    """Find the rate on which the windows of all readings agree.

    Parameters
    ----------
    readings
        Samples of each: the kernel's time of arrival in ns, bytes so far.
    rate_bps
        The rate that the link is meant to have; it decides only how long a window is.
    beside
        The samples of the other direction during each reading, if windows count only where it was
        busy as well.
    punctuality
        Of the link; it decides how long a window is at least.
    """
    length_ns = window_ns(rate_bps, punctuality)
    busy_bps = _BUSY * rate_bps * PAYLOAD_BYTES / FRAME_BYTES
    found = [
        _rates(samples, length_ns, None if beside is None else beside[i], busy_bps)
        for i, samples in enumerate(readings)
    ]
    rates = np.sort(np.concatenate([np.empty(0), *found]))
    if rates.size < _LEAST_WINDOWS:
        return Spacing(rate_bps=None, share=0.0)
    ends = np.searchsorted(rates, rates * (1 + _WIDTH), side="right")
    densest = int(np.argmax(ends - np.arange(rates.size)))
    cluster = rates[densest : ends[densest]]
    share = cluster.size / rates.size
    if share < LEAST_SHARE or cluster.size < _LEAST_WINDOWS:
        return Spacing(rate_bps=None, share=share)
    return Spacing(rate_bps=round(float(cluster.mean())), share=share)


def lost_spans(samples: Samples, goodput_bps: float) -> list[tuple[int, int, int]]:
    """Find the intervals in which a link that always had data lost time for good.

    An arrival may be late and those after it make up for it, as far as the token bucket holds what
    was saved. What the rest of the reading never makes up for is lost.

    Returns
    -------
    list
        Start and end of each interval between two samples in which time was lost, and how much of
        it, in ns.
    """
    times, sizes = _columns(samples)
    late = times - times[:1] - sizes * 8e9 / goodput_bps
    for_good = np.minimum.accumulate(late[::-1])[::-1]
    losses = np.diff(for_good)
    return [
        (int(times[i]), int(times[i + 1]), round(float(losses[i]))) for i in np.flatnonzero(losses)
    ]


def unexplained_ns(lost: Iterable[tuple[int, int, int]], busy: Spans, grace_ns: int) -> int:
    """Part of the lost time that no busy processor explains, in nanoseconds.

    Parameters
    ----------
    lost
        As `lost_spans` returns it.
    busy
        When some processor had no time to spare: disjoint, in order.
    grace_ns
        How much longer the ends may need to fill the link again.
    """
    total = 0
    for start, end, length in lost:
        covered = overlap_ns(start, end, busy, grace_ns)
        total += max(0, length - covered)
    return total


def overlap_ns(start: int, end: int, busy: Spans, grace_ns: int) -> int:
    """Part of a time that is busy, or follows a busy one by `grace_ns` at most."""
    covered, reached = 0, start
    for begin, stop in busy:
        first, last = max(begin, reached), min(stop + grace_ns, end)
        if first < last:
            covered += last - first
            reached = last
    return covered


def together(readings: Iterable[Samples], begin_ns: int, end_ns: int) -> list[list[int]]:
    """Put several receivers' samples together, as if one had received what all did.

    Between two samples of a receiver its bytes came at an even pace.

    Parameters
    ----------
    readings
        The samples of each receiver.
    begin_ns, end_ns
        A time in which all of them received.
    """
    times = np.arange(begin_ns, end_ns, _STEP_NS)
    total = np.zeros(times.size)
    for samples in readings:
        total += bytes_at(samples, times)
    found: list[list[int]] = np.stack([times, np.round(total).astype(np.int64)], axis=1).tolist()
    return found


def bytes_at(samples: Samples, times_ns: npt.NDArray[np.int64]) -> Floats:
    """Return how many bytes had arrived at these times, interpolated between samples."""
    times, sizes = _columns(samples)
    if not times.size:
        return np.zeros(times_ns.size)
    # From the first sample on: a float does not hold nanoseconds since 1970.
    found: Floats = np.interp(times_ns - times[0], times - times[0], sizes)
    return found


def _rates(samples: Samples, length_ns: int, beside: Samples | None, busy_bps: float) -> Floats:
    """The rate of the window that begins at each sample, if the other direction is busy in it."""
    times, sizes = _columns(samples)
    ends = np.searchsorted(times, times + length_ns)
    starts = np.flatnonzero(ends < times.size)
    ends = ends[starts]
    lengths = times[ends] - times[starts]
    found: Floats = (sizes[ends] - sizes[starts]) * 8e9 / lengths
    if beside is None or not starts.size:
        return found
    arrived = bytes_at(beside, times[ends]) - bytes_at(beside, times[starts])
    return found[arrived * 8e9 >= busy_bps * lengths]


def _columns(samples: Samples) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Times and sizes of samples; times never decrease, even if the clock was set back."""
    array = np.array(samples, np.int64).reshape(-1, 2)
    return np.maximum.accumulate(array[:, 0]) if array.size else array[:, 0], array[:, 1]
