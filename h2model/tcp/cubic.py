"""CUBIC: how a congestion window grows and shrinks, in segments.

Sources: RFC 9438 for the function, RFC 9406 for when slow start ends. Linux differs from both in
constants, and counts time in ticks (net/ipv4/tcp_cubic.c); what it does is what is modelled.
"""

import math
from typing import Final

INITIAL_SEGMENTS: Final = 10
"""RFC 6928."""

_KEPT: Final = 717 / 1024
"""Part of the window that is left behind a loss."""

_SCALE: Final = 0.4
"""Segments a second cubed."""

_RENO: Final = 15 / 8
"""Of a window, the acknowledged segments for which one that is as fair as Reno's grows by one."""

_TICK_NS: Final = 10_000_000
_S: Final = 1e9
_LEAST_HYSTART: Final = 16
_LEAST_SAMPLES: Final = 8
_TRAIN_NS: Final = 2_000_000
_LEAST_DELAY_NS, _MOST_DELAY_NS = 4_000_000, 16_000_000
_MOST_ACK_DELAY_NS: Final = 1_000_000


class Cubic:
    """Congestion window of one way of a connection.

    Attributes
    ----------
    window : segments that may be in flight
    threshold : where slow start ends

    Parameters
    ----------
    round_trip_ns
        Of the path without queues, as the connection's first packets found it.
    """

    def __init__(self, round_trip_ns: float) -> None:
        self.window = INITIAL_SEGMENTS
        self.threshold = math.inf
        self._least_rtt_ns = round_trip_ns
        self._round_ends = 0
        self._round_since_ns = self._last_ack_ns = 0.0
        self._round_rtt_ns = math.inf
        self._samples = 0
        self._forget()

    def _forget(self) -> None:
        self._since_ns: float | None = None  # when growth by the cubic function began
        self._most = 0.0  # window at the last loss
        self._turns_s, self._origin = 0.0, 0.0  # when the function is flat, and where
        self._last_tick = -1
        self._last_window = 0
        self._per_segment = 0.0  # acknowledged segments for which the window grows by one
        self._counted = 0.0  # of them
        self._reno, self._reno_acked = 0.0, 0.0  # the window that Reno would have
        self._left_early = False

    @property
    def slow_start(self) -> bool:
        """True while the window is below the threshold."""
        return self.window < self.threshold

    def sampled(self, rtt_ns: float, acknowledged: int, sent: int, now: float) -> None:
        """Take a round trip's time; segments below `acknowledged` are, `sent` have been sent."""
        if self._since_ns is not None and now - self._since_ns < _S:
            return
        self._least_rtt_ns = min(self._least_rtt_ns, rtt_ns)
        if not self._left_early and self.slow_start:
            self._look_for_queue(rtt_ns, acknowledged, sent, now)

    def _look_for_queue(self, rtt_ns: float, acknowledged: int, sent: int, now: float) -> None:
        if acknowledged > self._round_ends:
            self._round_since_ns = self._last_ack_ns = now
            self._round_ends = sent
            self._round_rtt_ns, self._samples = math.inf, 0
        if self.window < _LEAST_HYSTART:
            return
        if now - self._last_ack_ns <= _TRAIN_NS:
            self._last_ack_ns = now
            if now - self._round_since_ns > (self._least_rtt_ns + _MOST_ACK_DELAY_NS) / 2:
                self._leave_slow_start()
        self._round_rtt_ns = min(self._round_rtt_ns, rtt_ns)
        if self._samples < _LEAST_SAMPLES:
            self._samples += 1
            return
        more_ns = min(max(self._least_rtt_ns / 8, _LEAST_DELAY_NS), _MOST_DELAY_NS)
        if self._round_rtt_ns > self._least_rtt_ns + more_ns:
            self._leave_slow_start()

    def _leave_slow_start(self) -> None:
        self._left_early = True
        self.threshold = self.window

    def grow(self, acknowledged: int, now: float) -> None:
        """Grow by what was acknowledged, while the window is what bounds the sender."""
        if self.slow_start:
            grown = min(self.window + acknowledged, self.threshold)
            acknowledged -= int(grown) - self.window
            self.window = int(grown)
            if not acknowledged:
                return
        self._update(acknowledged, now)
        self._add(acknowledged)

    def _add(self, acknowledged: int) -> None:
        if self._counted >= self._per_segment:
            self._counted = 0.0
            self.window += 1
        self._counted += acknowledged
        if self._counted >= self._per_segment:
            more = int(self._counted / self._per_segment)
            self._counted -= more * self._per_segment
            self.window += more

    def _update(self, acknowledged: int, now: float) -> None:
        """Find for how many acknowledged segments the window grows by one."""
        self._reno_acked += acknowledged
        tick = int(now / _TICK_NS)
        if self._last_window == self.window and tick - self._last_tick <= 3:
            return
        if self._since_ns is None or tick != self._last_tick:
            self._last_tick, self._last_window = tick, self.window
            self._find_target(acknowledged, now)
        while self._reno_acked > self.window * _RENO:
            self._reno_acked -= self.window * _RENO
            self._reno += 1
        if self._reno > self.window:
            self._per_segment = min(self._per_segment, self.window / (self._reno - self.window))
        self._per_segment = max(self._per_segment, 2.0)

    def _find_target(self, acknowledged: int, now: float) -> None:
        if self._since_ns is None:
            self._since_ns = now
            self._reno_acked, self._reno = acknowledged, self.window
            self._turns_s = (max(0.0, self._most - self.window) / _SCALE) ** (1 / 3)
            self._origin = max(self._most, self.window)
        elapsed_s = (now - self._since_ns + self._least_rtt_ns) / _S
        target = self._origin + _SCALE * (elapsed_s - self._turns_s) ** 3
        more = target - self.window
        self._per_segment = self.window / more if more > 0 else 100.0 * self.window
        if not self._most:
            self._per_segment = min(self._per_segment, 20.0)

    def lost(self) -> int:
        """Note a loss; the threshold that follows from it."""
        self._since_ns = None
        most = self.window * (1 + _KEPT) / 2 if self.window < self._most else self.window
        self._most = most
        self.threshold = max(int(self.window * _KEPT), 2)
        return int(self.threshold)

    def timed_out(self) -> None:
        """Forget everything but the window: a timer ran out."""
        self._forget()
        self._least_rtt_ns = math.inf

    def rested(self, since_ns: float, now: float) -> None:
        """Leave out a rest of the sender: growth goes on as if it had not been."""
        if self._since_ns is not None and now > since_ns:
            self._since_ns = min(now, self._since_ns + now - since_ns)
