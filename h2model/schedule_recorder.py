"""Collects what was served in a simulated burst into its schedule."""

from h2model.records import Interval, Schedule


class ScheduleRecorder:
    """Collects a schedule.

    Attributes
    ----------
    ends : of each stream that is done the time of its last byte at the receiver
    stalls : times in which the link idled because nothing with data had credit
    """

    def __init__(self) -> None:
        self.ends: dict[int, int] = {}
        self.stalls: list[tuple[int, int]] = []
        self._intervals: list[tuple[int, float, float, int]] = []
        self._carried: list[tuple[float, int]] = [(0.0, 0)]

    def served(self, stream: int, start: float, end: float, size: int) -> None:
        """Note bytes of a stream that came from when to when."""
        before_ns, so_far = self._carried[-1]
        if start > before_ns:  # nothing came meanwhile
            self._carried.append((start, so_far))
        self._carried.append((end, so_far + size))
        last = self._intervals[-1] if self._intervals else None
        if last is not None and last[0] == stream and start - last[2] < 1.0:
            self._intervals[-1] = (stream, last[1], end, last[3] + size)
        else:
            self._intervals.append((stream, start, end, size))

    def schedule(self) -> Schedule:
        """The schedule of all that was noted."""
        intervals = tuple(
            Interval(stream=s, start_ns=round(a), end_ns=round(b), size_bytes=n)
            for s, a, b, n in self._intervals
        )
        return Schedule(
            end_ns=self.ends,
            intervals=intervals,
            stalls=tuple(self.stalls),
            carried=tuple(self._carried),
        )
