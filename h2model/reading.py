"""When an end of a connection reads what comes: together, and not while its application hands over.

In a guest the thread that hands messages over keeps the processor until it waits: the thread that
reads runs behind it.
"""

import math
from collections.abc import Iterable
from typing import Final

WAKING_NS: Final = 1_000
"""Time in which a thread of a guest wakes up: it reads all that came until then."""


class ReadTogether:
    """Arrivals that are read with the first of them, as they come while its reader wakes up."""

    def __init__(self) -> None:
        self._first_ns = -math.inf

    def first_ns(self, arrives_ns: float) -> float:
        """Arrival of the first of those with which this one is read; they come in order."""
        if arrives_ns > self._first_ns + WAKING_NS:
            self._first_ns = arrives_ns
        return self._first_ns


class HandOverRuns:
    """Runs of hand-overs less than a wake-up apart, in which nothing is read.

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
