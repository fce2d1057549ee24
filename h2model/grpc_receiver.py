"""Flow control of a gRPC receiver: credit for streams and connection, and the BDP probe.

Source: C-core, src/core/ext/transport/chttp2/transport/flow_control.cc and
src/core/lib/transport/bdp_estimator.cc, as grpcio 1.59.5 and 1.85.1 were seen to behave; in 1.17.0
and 1.39.0 the demand of a reader is its whole message.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from h2model.protocol import GRPC_PREFIX_BYTES
from h2model.records import REST_NS, Arriving, ReceiverModel

ALL_STREAMS: Final = -1
"""Target of an update by SETTINGS_INITIAL_WINDOW_SIZE."""

PING: Final = -2
"""Target of an update that is a PING, no credit."""

LEAST_URGENT_BYTES: Final = 8192

TIMER_LATE_NS: Final = 1_260_000
"""Lateness of a timer of 1.85.1, which counts whole milliseconds: the median of five
PINGs, 1.18 to 1.46 ms late, on connections of the built-in scenario and of the releases' example.
"""

_SAME_NS: Final = 1.0
"""Times this close are those of one segment."""

Update = tuple[int, int]
"""Target and bytes: a stream, 0 for the connection, `ALL_STREAMS` or `PING`."""


@dataclass(slots=True)
class _Stream:
    """Account of a stream; `ahead_bytes` is credit beyond the initial window less bytes received.

    Its last frame has `frame_bytes` and comes evenly in `lasts_ns`. The message's length is 0 as
    long as nothing came. What the message needs counts once somebody reads it.
    """

    ahead_bytes: int = GRPC_PREFIX_BYTES
    message_bytes: int = 0
    received_bytes: int = 0
    frame_bytes: int = 0
    since_ns: float = 0.0
    lasts_ns: float = 0.0
    arriving: Arriving | None = None
    is_read: bool = True

    def needed_bytes(self, now_ns: float) -> int:
        """Bytes that the reader, who knows all that was parsed, still waits for."""
        if not self.message_bytes:
            return GRPC_PREFIX_BYTES
        missing = 0
        if self.arriving is not None:
            come = self.arriving.bytes_after(max(0.0, now_ns - self.since_ns))
            missing = max(0, self.frame_bytes - come)
        elif now_ns < self.since_ns + self.lasts_ns:
            missing = round(self.frame_bytes * (1 - (now_ns - self.since_ns) / self.lasts_ns))
        elif now_ns <= self.since_ns:
            missing = self.frame_bytes
        return self.message_bytes - max(self.received_bytes - missing, GRPC_PREFIX_BYTES)


class GrpcAccount:
    """Account of the bytes that a gRPC receiver has got and granted; it outlives a burst.

    A frame counts as soon as its header has come: C-core's parser accounts for its length there.
    """

    at_start: Final = True

    def __init__(self, receiver: ReceiverModel) -> None:
        self.answer_first = receiver.answer_first
        self._window = receiver.window_bytes
        self._grown_bytes = 0
        self._progress = receiver.progress_bytes
        self._streams: dict[int, _Stream] = {}
        self._ending: list[tuple[float, int]] = []
        self._connection = max(receiver.window_bytes, receiver.connection_window_bytes)
        self._listens = receiver.listens
        self._probe = _probe_of(receiver)
        self._smoothed = Smoothed() if receiver.smoothed else None

    def begin(self, streams: Sequence[int]) -> list[Update]:
        """Begin a burst after a rest: credit that the connection lacks, and that of each request.

        What a stream gets by its request the connection gets, too. A pushed call brings nothing.
        """
        self._ending.clear()
        lacking = max(0, self._window - self._connection)
        if self._listens:
            self._streams = {stream: _Stream(ahead_bytes=0, is_read=False) for stream in streams}
            self._connection += lacking
            return [(0, lacking)]
        self._streams = {stream: _Stream() for stream in streams}
        self._connection += lacking + GRPC_PREFIX_BYTES * len(streams)
        return [(0, lacking), *((stream, GRPC_PREFIX_BYTES) for stream in streams)]

    def frame(
        self,
        stream: int,
        size: int,
        message: int,
        now_ns: float,
        lasts_ns: float = 0.0,
        arriving: Arriving | None = None,
    ) -> list[Update]:
        """Account for DATA of a stream whose message has so many bytes.

        Parameters
        ----------
        stream, size, message
            The frame's stream and bytes; the message's.
        now_ns, lasts_ns
            When its header is here, and how long until its last byte is.
        arriving
            How it comes in segments, if it does.

        Returns
        -------
        list of Update
            Updates that the receiver writes now.
        """
        self._forget_ended(now_ns)
        self._connection -= size
        asked = self._probe is not None and self._probe.received(size, now_ns)
        each = self._streams.setdefault(stream, _Stream())
        each.message_bytes = message
        each.frame_bytes, each.since_ns, each.lasts_ns = size, now_ns, lasts_ns
        each.arriving = arriving
        each.received_bytes += size
        each.ahead_bytes -= size
        updates = self._write_if_due(each, now_ns, asked=asked)
        if each.received_bytes >= message:
            self._ended(stream, now_ns + lasts_ns)
        return updates

    def accepted(self, stream: int, now_ns: float) -> list[Update]:
        """The application reads a pushed call from now on, if there is anything still to come."""
        each = self._streams.get(stream)
        if each is None:
            return []
        each.is_read = True
        return self._write_if_due(each, now_ns, asked=False)

    @property
    def look_ns(self) -> float | None:
        """Time at which the next PING is due, on the clock of the burst that begins."""
        return None if self._probe is None else self._probe.due_ns

    def rest(self, elapsed_ns: float) -> None:
        """End a burst; the next one's zero is so much later than its own."""
        if self._probe is not None:
            self._probe.rest(elapsed_ns)

    def answered(self, now_ns: float) -> tuple[float, list[Update]]:
        """Take a PING's answer: time to look again, and the updates that are written now."""
        if self._probe is None:
            return 0.0, []
        delay_ns = self._probe.complete(now_ns)
        target = 2 * self._probe.estimate_bytes
        if self._smoothed is not None:
            target = self._smoothed.step(target)
        else:
            target = 1 << (target - 1).bit_length()
        if target - self._window < target // 5:
            return now_ns + delay_ns, []
        self._grown_bytes += target - self._window
        self._window = target
        return now_ns + delay_ns, self._write(now_ns, asked=False) if self._is_drained() else []

    def look_again(self, now_ns: float) -> list[Update]:
        """Updates that are written when the time between two PINGs is over."""
        asked = self._probe is not None and self._probe.due(now_ns)
        return self._write(now_ns, asked=True) if asked else []

    def replied(self, stream: int, now_ns: float) -> list[Update]:
        """Updates that go with the reply to a whole message: all that wait for a write.

        The stream ends with its reply, so what it was allowed too much still counts here.
        """
        if not self._listens:
            return []
        asked = self._probe is not None and self._probe.carried(now_ns)
        updates = self._write(now_ns, asked=asked, anyway=True)
        self._streams.pop(stream, None)
        return updates

    def _ended(self, stream: int, whole_ns: float) -> None:
        """Forget a stream whose message is whole, unless it ends later.

        A client's counts as long as what came with its last byte is worked off.
        """
        if self._listens:
            return
        if self._streams[stream].arriving is None:
            del self._streams[stream]
        else:
            self._ending.append((whole_ns, stream))

    def _forget_ended(self, now_ns: float) -> None:
        while self._ending and self._ending[0][0] < now_ns - _SAME_NS:
            self._streams.pop(self._ending.pop(0)[1], None)

    def _write_if_due(self, stream: _Stream, now_ns: float, *, asked: bool) -> list[Update]:
        """Updates that are written after an event of a stream, if any are."""
        urgent = self._is_urgent(stream, now_ns) or self._is_drained()
        updates = self._write(now_ns, asked=asked) if asked or urgent else []
        if updates and self._probe is not None and self._probe.carried(now_ns):
            updates.insert(0, (PING, 0))
        return updates

    def _is_urgent(self, stream: _Stream, now_ns: float) -> bool:
        """True if an update is urgent: half the window used (old releases) or wanted (new ones)."""
        if self._smoothed is not None:
            return stream.ahead_bytes <= -self._window // 2 and self._wanted(stream, now_ns) > 0
        return self._wanted(stream, now_ns) > max(self._window // 2, LEAST_URGENT_BYTES)

    def _wanted(self, stream: _Stream, now_ns: float) -> int:
        if not stream.is_read:
            return 0
        return min(stream.needed_bytes(now_ns), self._progress) - stream.ahead_bytes

    def _is_drained(self) -> bool:
        """True if the connection has less than half of the credit that it shall have."""
        return self._connection < (self._target() + 1) // 2

    def _target(self) -> int:
        return self._window + sum(max(0, s.ahead_bytes) for s in self._streams.values())

    def _write(self, now_ns: float, *, asked: bool, anyway: bool = False) -> list[Update]:
        """Write all updates that are wanted together.

        What the connection lacks goes with it, and with what is written `anyway`.
        """
        updates: list[Update] = [(PING, 0)] if asked else []
        if self._grown_bytes:
            updates.append((ALL_STREAMS, self._grown_bytes))
            self._grown_bytes = 0
        for number, each in self._streams.items():
            wanted = self._wanted(each, now_ns)
            if wanted > 0:
                each.ahead_bytes += wanted
                updates.append((number, wanted))
        lacking = self._target() - self._connection
        if lacking > 0 and (updates or anyway or 2 * self._connection <= self._target()):
            self._connection += lacking
            updates.append((0, lacking))
        return updates


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


class Probe:
    """Estimator of the bandwidth-delay product, with the time of the next PING.

    The time between PINGs grows by 100 to 200 ms, drawn by the library; here by 150.
    """

    FIRST_DELAY_NS: Final = 100_000_000
    GROWTH_NS: Final = 150_000_000
    LONGEST_DELAY_NS: Final = 10_000_000_000
    FIRST_ESTIMATE_BYTES: Final = 65536

    def __init__(self, late_ns: float = 0.0) -> None:
        self._late_ns = late_ns
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
            self._send(now_ns)
        self._gathered_bytes += size_bytes
        return asks

    def due(self, now_ns: float) -> bool:
        """True if a PING goes out now that its time has come."""
        self.due_ns = None
        if self._gathered_bytes == 0:
            self._waits_for_data = True
            return False
        self._send(now_ns)
        return True

    def complete(self, now_ns: float) -> float:
        """Take a PING's answer; nanoseconds to wait before the next PING."""
        elapsed_ns = 0.0 if self._sent_ns is None else now_ns - self._sent_ns
        bandwidth = self._gathered_bytes / elapsed_ns if elapsed_ns > 0 else 0.0
        before = self._delay_ns
        if 3 * self._gathered_bytes > 2 * self.estimate_bytes and bandwidth > self._bandwidth:
            self.estimate_bytes = max(self._gathered_bytes, 2 * self.estimate_bytes)
            self._bandwidth = bandwidth
            self._delay_ns /= 2
        elif self._delay_ns < self.LONGEST_DELAY_NS:
            self._stable += 1
            if self._stable >= 2:
                self._delay_ns += self.GROWTH_NS
        if self._delay_ns != before:
            self._stable = 0
        self._sent_ns = None
        self._gathered_bytes = 0
        self.due_ns = now_ns + self._delay_ns + self._late_ns
        return self._delay_ns + self._late_ns

    def carried(self, now_ns: float) -> bool:
        """True if a PING goes out with what is written now."""
        return False

    def _send(self, now_ns: float) -> None:
        self._waits_for_data = False
        self._gathered_bytes = 0
        self._sent_ns = now_ns


class WaitingProbe(Probe):
    """Probe of grpcio 1.17.0: a PING that is due goes out with the next write.

    The first PING is one of the connection's first frames.
    """

    def __init__(self) -> None:
        super().__init__()
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


def _probe_of(receiver: ReceiverModel) -> Probe | None:
    if not receiver.probes:
        return None
    if receiver.probes_wait:
        return WaitingProbe()
    return Probe(0.0 if receiver.smoothed else TIMER_LATE_NS)
