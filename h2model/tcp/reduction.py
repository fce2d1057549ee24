"""Reduction of a congestion window while losses are repaired (RFC 9937, PRR)."""


class Reduction:
    """Window of one recovery, in proportion to what has come since the loss.

    Parameters
    ----------
    before
        The window before, segments.
    threshold
        Where it ends.
    """

    def __init__(self, before: int, threshold: int) -> None:
        self._before = before
        self._threshold = threshold
        self._delivered = 0
        self._sent = 0

    def sends(self) -> None:
        """Count a segment that is sent, new or again."""
        self._sent += 1

    def window(self, delivered: int, in_flight: int, *, repairs: bool) -> int:
        """Window behind an acknowledgement.

        Parameters
        ----------
        delivered, in_flight
            Segments that it says have come, and those still under way.
        repairs
            True if it acknowledges the first that was missing, and tells of no further loss.
        """
        self._delivered += delivered
        room = self._threshold - in_flight
        if room < 0:
            more = -(-self._threshold * self._delivered // self._before) - self._sent
        else:
            more = min(room, max(self._delivered - self._sent, delivered) + repairs)
        return in_flight + max(more, 0 if self._sent else 1)
