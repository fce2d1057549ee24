"""Runs of hand-overs, in which a sender reads nothing of what comes.

In a guest the thread that hands messages over keeps the processor until it waits: the thread that
reads runs behind it.
"""

from collections.abc import Iterable
from typing import Final

WAKING_NS: Final = 1_000
"""Time in which a thread wakes up: hand-overs so far apart have a wait between them."""


class HandOverRuns:
    """Intervals from the first hand-over of a run to its last.

    Parameters
    ----------
    times_ns
        When messages are handed over, in any order.
    """

    def __init__(self, times_ns: Iterable[int]) -> None:
        self._runs: list[tuple[int, int]] = []
        for time_ns in sorted(times_ns):
            if self._runs and time_ns - self._runs[-1][1] < WAKING_NS:
                self._runs[-1] = (self._runs[-1][0], time_ns)
            else:
                self._runs.append((time_ns, time_ns))

    def read_ns(self, now: float) -> float:
        """Time at which what has come by now is read."""
        for begin_ns, end_ns in self._runs:
            if begin_ns <= now < end_ns:
                now = end_ns + WAKING_NS
        return now
