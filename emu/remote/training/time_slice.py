"""Slices of a node's time: many calls are made and taken slice by slice, and sent meanwhile."""

import time
from typing import Final

_LONGEST_NS: Final = 1_000_000


class TimeSlice:
    """A slice that begins now; in virtual time, where processors take none, it is never over."""

    def __init__(self) -> None:
        self._end_ns = time.monotonic_ns() + _LONGEST_NS

    @property
    def over(self) -> bool:
        """True if it has lasted long enough for others to have their turn."""
        return time.monotonic_ns() > self._end_ns
