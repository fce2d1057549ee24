"""TCP's slow start: when a new connection may send which segment."""

from typing import Final

FIRST_SEGMENTS: Final = 10
"""Initial window (RFC 6928)."""


class SlowStart:
    """Times from which segments may be sent, as acknowledgements of earlier ones widen the window.

    Each acknowledged segment widens it by one (RFC 5681, section 3.1): two go for one that came.
    """

    def __init__(self, round_trip_ns: float) -> None:
        self._round_trip_ns = round_trip_ns
        self._left_ns: list[float] = []

    def allowed_ns(self, number: int) -> float:
        """Time from which a segment may be sent, the first one is number 0."""
        if number < FIRST_SEGMENTS:
            return 0.0
        return self._left_ns[(number - FIRST_SEGMENTS) // 2] + self._round_trip_ns

    def window(self, number: int) -> int:
        """Segments of the window when this segment may be sent."""
        return FIRST_SEGMENTS + max(0, number - FIRST_SEGMENTS) // 2

    def leaves(self, number: int, time_ns: float) -> None:
        """Note when a segment leaves; what was noted of later ones is void."""
        del self._left_ns[number:]
        self._left_ns.append(time_ns)
