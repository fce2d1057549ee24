"""The BDP probe of a gRPC receiver: when its PINGs go, what it makes of their answers.

Source: C-core, src/core/lib/transport/bdp_estimator.cc and, for the window, flow_control.cc and
pid_controller.cc.
"""

import math
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Final

from h2model.records import REST_NS

ADDED_NS: Final = 1_002_000
"""What is added to a wait: a millisecond (C-core, timer_manager.cc), and the thread's wake-up where
nothing is late."""

LATE_NS: Final = 1_260_000
"""The same by a machine's clock: the median of five PINGs of 1.85.1, 1.18 to 1.46 ms late, on
connections of the built-in scenario and of the releases' example."""

AFTER_REST_NS: Final = 1_000
"""Time in which a guest's process that was at rest writes its PING after the first DATA: 1.04 us,
2 us more where the sender's first write is more than its socket takes (1.85.1, guests that serve
first come, first served)."""

_MS: Final = 1_000_000


class Smoothed:
    """The initial window behind a PID controller on its logarithm; at least 4 MiB.

    Source: grpcio 1.17.0 and 1.39.0; C-core, flow_control.cc and
    src/core/lib/transport/pid_controller.cc: gains 4, 8 and 0, integral within 10, control up to
    25, at most 100 ms a step, which is less than what is between two estimates here.
    """

    GAIN_P: Final = 4.0
    GAIN_I: Final = 8.0
    INTEGRAL_RANGE: Final = 10.0
    MOST: Final = 25.0
    STEP_S: Final = 0.1
    LEAST_LOG: Final = 22.0

    def __init__(self) -> None:
        self._control = self.LEAST_LOG
        self._error = 0.0
        self._integral = 0.0
        self._slope = 0.0

    def step(self, target_bytes: int) -> int:
        """The window after another estimate."""
        error = max(self.LEAST_LOG, math.log2(target_bytes)) - self._control
        self._integral += self.STEP_S * (self._error + error) / 2
        self._integral = min(max(self._integral, -self.INTEGRAL_RANGE), self.INTEGRAL_RANGE)
        slope = self.GAIN_P * error + self.GAIN_I * self._integral
        self._control = min(self._control + self.STEP_S * (self._slope + slope) / 2, self.MOST)
        self._error, self._slope = error, slope
        return int(2**self._control)


def growths_ms(delays_ms: Sequence[int]) -> Iterator[int]:
    """Growths of the delays between PINGs, one after the other."""
    delays = [Probe.FIRST_DELAY_NS // _MS, *delays_ms]
    return (after - before for before, after in pairwise(delays) if after > before)


class Probe:
    """Estimator of the bandwidth-delay product, with the time of the next PING.

    The time between PINGs grows by 100 to 200 ms, drawn by the library: by `growths_ms`, as
    far as it goes, and then by their mean. One that waits for DATA goes `after_rest_ns` after it.
    """

    FIRST_DELAY_NS: Final = 100_000_000
    MEAN_GROWTH_MS: Final = 150
    LONGEST_DELAY_NS: Final = 10_000_000_000
    FIRST_ESTIMATE_BYTES: Final = 65536

    def __init__(
        self, growths_ms: Iterator[int], late_ns: float = 0.0, after_rest_ns: float = 0.0
    ) -> None:
        self._growths_ms = growths_ms
        self._late_ns = late_ns
        self._after_rest_ns = after_rest_ns
        self.estimate_bytes = self.FIRST_ESTIMATE_BYTES
        self._bandwidth = 0.0
        self._delay_ns = float(self.FIRST_DELAY_NS)
        self._stable = 0
        self._gathered_bytes = 0
        self._waits_for_data = True
        self._sent_ns: float | None = None
        self.due_ns: float | None = None

    def rest(self, elapsed_ns: float) -> None:
        """Move its times to the next burst's clock, which begins anew."""
        if self.due_ns is not None:
            self.due_ns -= elapsed_ns
        if self._sent_ns is not None:
            self._sent_ns -= elapsed_ns

    def received(self, size_bytes: int, now_ns: float) -> bool:
        """Count bytes; True if a PING goes out because of them."""
        asks = self._waits_for_data
        if asks:
            self._send(now_ns + self._after_rest_ns)
        self._gathered_bytes += size_bytes
        return asks

    def waits_ns(self, now_ns: float) -> float:
        """Time until the PING that goes out now is written."""
        return 0.0 if self._sent_ns is None else max(0.0, self._sent_ns - now_ns)

    def due(self, now_ns: float) -> bool:
        """True if a PING goes out now that its time has come."""
        self.due_ns = None
        if self._gathered_bytes == 0:
            self._waits_for_data = True
            return False
        self._send(now_ns)
        return True

    def complete(self, now_ns: float) -> float:
        """Take a PING's answer; the time at which the next PING is due."""
        elapsed_ns = 0.0 if self._sent_ns is None else now_ns - self._sent_ns
        bandwidth = self._gathered_bytes / elapsed_ns if elapsed_ns > 0 else 0.0
        before = self._delay_ns
        if 3 * self._gathered_bytes > 2 * self.estimate_bytes and bandwidth > self._bandwidth:
            self.estimate_bytes = max(self._gathered_bytes, 2 * self.estimate_bytes)
            self._bandwidth = bandwidth
            self._delay_ns = self._delay_ns // (2 * _MS) * _MS
        elif self._delay_ns < self.LONGEST_DELAY_NS:
            self._stable += 1
            if self._stable >= 2:
                self._delay_ns += self._growth_ns()
        if self._delay_ns != before:
            self._stable = 0
        self._sent_ns = None
        self._gathered_bytes = 0
        self.due_ns = now_ns + self._delay_ns + self._late_ns
        return self.due_ns

    def carried(self, now_ns: float) -> bool:
        """True if a PING goes out with what is written now."""
        return False

    def _growth_ns(self) -> float:
        return float(next(self._growths_ms, self.MEAN_GROWTH_MS) * _MS)

    def _send(self, now_ns: float) -> None:
        self._waits_for_data = False
        self._gathered_bytes = 0
        self._sent_ns = now_ns


class WaitingProbe(Probe):
    """Probe of grpcio 1.17.0: a PING that is due goes out with the next write.

    The first PING is one of the connection's first frames.
    """

    def __init__(self, growths_ms: Iterator[int]) -> None:
        super().__init__(growths_ms)
        self.complete(0.0)
        self.rest(REST_NS)

    def received(self, size_bytes: int, now_ns: float) -> bool:
        """Count bytes; no PING goes out because of them."""
        self._gathered_bytes += size_bytes
        return False

    def due(self, now_ns: float) -> bool:
        """False: a PING that is due waits for the next write."""
        return False

    def carried(self, now_ns: float) -> bool:
        """True if a PING is due and none is on its way: it goes out now."""
        if self._sent_ns is not None or self.due_ns is None or now_ns < self.due_ns:
            return False
        self._send(now_ns)
        return True
