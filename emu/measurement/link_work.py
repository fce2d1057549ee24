"""Replay of a link's token bucket over its captured frames, to find the time that it lost.

A link of a rate with a token bucket earns a frame's time while it waits, up to the bucket's size.
What it earns beyond that can never be used: that time is lost, whatever comes later. Replaying the
bucket over the frames as captured shows it, but for one thing: a capture stamps a frame when its
receiver's processor takes it, so a processor that was away makes frames look late, and then come
faster than the link can carry them. What they come too fast proves that so much was not lost.
"""

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Final, Self

import numpy as np
import numpy.typing as npt

from emu.capture.report import Packets
from netcosim.spans import Span, Spans
from topo.spec import FRAME_BYTES

WINDOW_FRAMES: Final = 16
_LEAST_WINDOWS: Final = 20
_UPPER: Final = 0.9
_MOST_RATE: Final = 1.02
_PAUSE_FRAMES: Final = 8
"""Frames farther apart than the time of so many of the largest were not back to back."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LinkWork:
    """The frames of one direction of a link in order of time, and the time each takes there.

    `time_ns` is of the capture, `done_ns` the link's time for all frames up to and with this one,
    `lost` the spans in which the link's bucket was full and nothing came.
    """

    time_ns: Sequence[int]
    done_ns: Sequence[float]
    lost: Spans
    rate_bps: int
    seen_bps: float | None

    @classmethod
    def of(cls, packets: Sequence[Packets], rate_bps: int, bucket_bytes: int) -> Self:
        """Replay the bucket over all that crossed the direction; it was full before.

        Parameters
        ----------
        packets
            The frames that each receiver behind it captured, with their sizes as the link counts
            them.
        rate_bps, bucket_bytes
            The link as configured.
        """
        time_ns = np.concatenate([each.time_ns for each in packets])
        size_bytes = np.concatenate([each.size_bytes for each in packets])
        order = np.argsort(time_ns, kind="stable")
        times: list[int] = time_ns[order].tolist()
        work = (size_bytes[order] * 8e9 / rate_bps).tolist()
        return cls(
            time_ns=times,
            done_ns=list(accumulate(work)),
            lost=_lost(times, work, bucket_bytes * 8e9 / rate_bps),
            rate_bps=rate_bps,
            seen_bps=_seen_bps(time_ns[order], size_bytes[order], rate_bps, bucket_bytes),
        )

    def between(self, start_ns: int, end_ns: int) -> float:
        """The link's time for the frames that came after the one time and up to the other."""
        return self._done(end_ns) - self._done(start_ns) if start_ns < end_ns else 0.0

    def _done(self, time_ns: int) -> float:
        place = bisect_right(self.time_ns, time_ns)
        return self.done_ns[place - 1] if place else 0.0


def _lost(times: Sequence[int], work: Sequence[float], bucket_ns: float) -> Spans:
    lost: list[Span] = []
    tokens, last = bucket_ns, times[0] if times else 0
    for now, cost in zip(times, work, strict=True):
        tokens += now - last
        if tokens > bucket_ns:
            lost.append((now - round(tokens - bucket_ns), now))
            tokens = bucket_ns
        tokens -= cost
        last = now
        # A frame leaves while there are tokens, and may overdraw by itself: more is not possible.
        if tokens < -cost:
            _take_back(lost, -cost - tokens)
            tokens = -cost
    return tuple(span for span in lost if span[1] > span[0])


def _take_back(lost: list[Span], excess_ns: float) -> None:
    """Shorten the last losses by the time that frames came too fast."""
    while lost and excess_ns >= 1:
        start, end = lost.pop()
        if end - start > excess_ns:
            lost.append((start, end - round(excess_ns)))
            return
        excess_ns -= end - start


def _seen_bps(
    time_ns: npt.NDArray[np.int64],
    size_bytes: npt.NDArray[np.int64],
    rate_bps: int,
    bucket_bytes: int,
) -> float | None:
    """The rate of frames that came back to back, in bits per second; None for too few.

    The upper decile of the rates over windows of `WINDOW_FRAMES`, as the sender may hold frames
    back in the others. Windows with a pause in them say nothing, nor do those right behind one, for
    as many frames as the bucket lets pass at line speed.
    """
    if time_ns.size <= WINDOW_FRAMES:
        return None
    pauses = np.diff(time_ns) > _PAUSE_FRAMES * FRAME_BYTES * 8e9 / rate_bps
    before = np.concatenate([[0], np.cumsum(pauses)])  # of each frame
    behind = -(-bucket_bytes // FRAME_BYTES) + 1
    starts = np.arange(0, time_ns.size - WINDOW_FRAMES, WINDOW_FRAMES)
    ends = starts + WINDOW_FRAMES
    whole = before[ends] == before[np.maximum(starts - behind, 0)]
    starts, ends = starts[whole], ends[whole]
    done = np.cumsum(size_bytes)
    taken = time_ns[ends] - time_ns[starts]
    rates = (done[ends] - done[starts]) * 8e9 / np.maximum(taken, 1)
    rates = rates[rates <= _MOST_RATE * rate_bps]
    return float(np.quantile(rates, _UPPER)) if rates.size >= _LEAST_WINDOWS else None
