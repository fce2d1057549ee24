"""Flow control of a gRPC receiver: credit for streams and connection, and the BDP probe.

Source: C-core, src/core/ext/transport/chttp2/transport/flow_control.cc and
src/core/lib/transport/bdp_estimator.cc, as grpcio 1.59.5 and 1.85.1 were seen to behave; in 1.17.0
and 1.39.0 the demand of a reader is its whole message.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from h2model.probe import (
    ADDED_NS,
    AFTER_REST_NS,
    LATE_NS,
    Probe,
    Smoothed,
    WaitingProbe,
    growths_ms,
)
from h2model.protocol import GRPC_PREFIX_BYTES
from h2model.records import Arriving, ReceiverModel

ALL_STREAMS: Final = -1
"""Target of an update by SETTINGS_INITIAL_WINDOW_SIZE."""

PING: Final = -2
"""Target of an update that is a PING, no credit."""

LEAST_URGENT_BYTES: Final = 8192

_PING_NS: Final = 2_000.0
"""Time that it takes to write a PING: what comes meanwhile is parsed before it."""

_SAME_NS: Final = 1.0
"""Times this close are those of one segment."""

Update = tuple[int, int]
"""Target and bytes: a stream, 0 for the connection, `ALL_STREAMS` or `PING`.

Of a PING not bytes, but in how many nanoseconds it is written."""


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

    def __init__(self, receiver: ReceiverModel, *, punctual: bool = False) -> None:
        self.answer_first = receiver.answer_first
        self._window = receiver.window_bytes
        self._grown_bytes = 0
        self._progress = receiver.progress_bytes
        self._streams: dict[int, _Stream] = {}
        self._ending: list[tuple[float, int]] = []
        self._connection = max(receiver.window_bytes, receiver.connection_window_bytes)
        self._listens = receiver.listens
        self._probe = _probe_of(receiver, punctual=punctual)
        self.sender_probes = receiver.probes and not receiver.probes_wait and punctual
        self._smoothed = Smoothed() if receiver.smoothed else None

    def begin(self, streams: Sequence[int]) -> list[Update]:
        """Begin a burst after a rest: credit that the connection lacks, and that of each request.

        What a stream gets by its request the connection gets with it, unless it has more than it
        shall have. A pushed call brings nothing.
        """
        self._ending.clear()
        lacking = max(0, self._window - self._connection)
        if self._listens:
            self._streams = {stream: _Stream(ahead_bytes=0, is_read=False) for stream in streams}
            self._connection += lacking
            return [(0, lacking)]
        self._streams = {}
        self._connection += lacking
        updates = [(0, lacking)]
        target = self._window
        for stream in streams:
            self._streams[stream] = _Stream()
            updates.append((stream, GRPC_PREFIX_BYTES))
            target += GRPC_PREFIX_BYTES
            if target > self._connection:
                updates.append((0, target - self._connection))
                self._connection = target
        return updates

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
        if each.received_bytes >= message and arriving is None and not self._listens:
            del self._streams[stream]
        return updates

    def closed(self, stream: int, time_ns: float) -> None:
        """Forget a stream that ends so late, with the trailers; in segments they have their own.

        A client's counts as long as what came with them is worked off.
        """
        if not self._listens and stream in self._streams:
            self._ending.append((time_ns, stream))

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
        look_ns = self._probe.complete(now_ns)
        target = 2 * self._probe.estimate_bytes
        if self._smoothed is not None:
            target = self._smoothed.step(target)
        else:
            target = 1 << (target - 1).bit_length()
        if target - self._window < target // 5:
            return look_ns, []
        self._grown_bytes += target - self._window
        self._window = target
        return look_ns, self._write(now_ns, asked=False) if self._is_drained() else []

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

    def _forget_ended(self, now_ns: float) -> None:
        while self._ending and self._ending[0][0] < now_ns - _SAME_NS:
            self._streams.pop(self._ending.pop(0)[1], None)

    def _write_if_due(self, stream: _Stream, now_ns: float, *, asked: bool) -> list[Update]:
        """Updates that are written after an event of a stream, if any are."""
        urgent = self._is_urgent(stream, now_ns) or self._is_drained()
        updates = self._write(now_ns, asked=asked) if asked or urgent else []
        if updates and self._probe is not None and self._probe.carried(now_ns):
            updates.insert(0, self._ping(now_ns))
        return updates

    def _ping(self, now_ns: float) -> Update:
        return PING, 0 if self._probe is None else round(self._probe.waits_ns(now_ns))

    def _is_urgent(self, stream: _Stream, now_ns: float) -> bool:
        """True if an update is urgent: half the window used (old releases) or wanted (new ones)."""
        if self._smoothed is not None:
            return stream.ahead_bytes <= -self._window // 2 and self._wanted(stream, now_ns) > 0
        return self._wanted(stream, now_ns) > max(self._window // 2, LEAST_URGENT_BYTES)

    def _wanted(self, stream: _Stream, now_ns: float) -> int:
        if not stream.is_read:
            return 0
        needed = stream.needed_bytes(now_ns)
        return min(needed, self._progress) - stream.ahead_bytes if needed else 0

    def _is_drained(self) -> bool:
        """True if the connection has less than half of the credit that it shall have."""
        return self._connection < (self._target() + 1) // 2

    def _target(self) -> int:
        return self._window + sum(max(0, s.ahead_bytes) for s in self._streams.values())

    def _write(self, now_ns: float, *, asked: bool, anyway: bool = False) -> list[Update]:
        """Write all updates that are wanted together.

        What the connection lacks goes with it, and with what is written `anyway`.
        """
        updates: list[Update] = [self._ping(now_ns)] if asked else []
        if self._grown_bytes:
            updates.append((ALL_STREAMS, self._grown_bytes))
            self._grown_bytes = 0
        parsed_ns = now_ns + (_PING_NS if asked else 0.0)
        for number, each in self._streams.items():
            wanted = self._wanted(each, parsed_ns)
            if wanted > 0:
                each.ahead_bytes += wanted
                updates.append((number, wanted))
        lacking = self._target() - self._connection
        if lacking > 0 and (updates or anyway or 2 * self._connection <= self._target()):
            self._connection += lacking
            updates.append((0, lacking))
        return updates


def _probe_of(receiver: ReceiverModel, *, punctual: bool) -> Probe | None:
    if not receiver.probes:
        return None
    growths = growths_ms(receiver.ping_delays_ms)
    if receiver.probes_wait:
        return WaitingProbe(growths)
    if receiver.smoothed:
        return Probe(growths)
    return Probe(growths, ADDED_NS, AFTER_REST_NS) if punctual else Probe(growths, LATE_NS)
