"""Speed of a worker over time: piecewise constant, given as the work done by each breakpoint."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class SpeedTrace:
    """Speed as breakpoints: at least two, the first at time 0; after the last the speed stays.

    Attributes
    ----------
    time_ns : (breakpoints,) increasing
    work_ns : (breakpoints,) what would be done by then, in ns at speed 1; increasing
    """

    time_ns: Floats
    work_ns: Floats

    def end_of(self, begin_ns: float, work_ns: float) -> float:
        """End of work that begins at a time, at the speed that there will be."""
        time, done = self.time_ns, self.work_ns
        i = min(max(int(np.searchsorted(time, begin_ns, side="right")) - 1, 0), len(time) - 2)
        goal = float(done[i] + (begin_ns - time[i]) * self._speed(i)) + work_ns
        while i + 2 < len(time) and done[i + 1] < goal:
            i += 1
        return max(begin_ns, float(time[i] + (goal - done[i]) / self._speed(i)))

    def work_by(self, at_ns: float) -> float:
        """Work done from time 0 to a time, in ns at speed 1."""
        time, done = self.time_ns, self.work_ns
        i = min(max(int(np.searchsorted(time, at_ns, side="right")) - 1, 0), len(time) - 2)
        return float(done[i] + (at_ns - time[i]) * self._speed(i))

    def _speed(self, i: int) -> float:
        """Work done a nanosecond behind breakpoint `i`; the last segment goes on for ever."""
        return float(
            (self.work_ns[i + 1] - self.work_ns[i]) / (self.time_ns[i + 1] - self.time_ns[i])
        )
