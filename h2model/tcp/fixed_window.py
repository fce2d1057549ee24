"""Window of a connection that never has more than so many segments under way."""

import math


class FixedWindow:
    """Congestion window that stays as it is: a `h2model.tcp.connection.Window`.

    Attributes
    ----------
    window : segments that may be in flight
    threshold : where slow start ends: nowhere
    """

    slow_start = False

    def __init__(self, segments: int) -> None:
        self.window = segments
        self.threshold = math.inf

    def sampled(self, rtt_ns: float, acknowledged: int, sent: int, now: float) -> None:
        """Do nothing with a round trip's time."""

    def grow(self, acknowledged: int, now: float) -> None:
        """Do nothing: the window does not grow."""

    def lost(self) -> int:
        """The window, which stays."""
        return self.window

    def timed_out(self) -> None:
        """Do nothing: nothing is lost."""

    def rested(self, since_ns: float, now: float) -> None:
        """Do nothing: growth is none."""
