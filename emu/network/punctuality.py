"""Slack that links and TCP have for a kernel whose timers are late."""

import math
from dataclasses import dataclass
from typing import Final

from emu.network.buckets import bucket_bytes
from topo.spec import FRAME_BYTES, NetSpec

_LEAST_SEGMENTS: Final = 100
_POLLED_BYTES: Final = 2048
"""Bytes that a link carries between two looks for room, in a guest: looking takes no time there."""

_LEAST_TRIP_NS: Final = 1_000_000
"""Round trip below which TCP's start is over before a reading begins."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Punctuality:
    """Slack of links and TCP, so that a kernel that is late at times loses little.

    Attributes
    ----------
    bucket_s : a link's token bucket as time of its rate: it must hold what the rate brings while
        the timer or the processor is late, else that is lost for good; yet a full bucket leaves at
        line speed, so it shortens a burst after a pause by as much
    bunch_s : TCP hands segments to the queues in bunches, which leave at line speed: as many as
        the rate brings in this time
    reading_s, reading_trips, readings : the least length of a reading of a link, in seconds and in
        round trips, and how many readings must agree
    trip_pause_s : pause before each round trip that is measured, in which a link's token bucket
        fills again: a round trip is then that of a packet that does not wait
    prompt : TCP acknowledges every segment, not every second one, to spare no processor; and it
        holds no small segment back until an earlier one has left the queue, which with a link's
        delay is that much later
    begins_full : connections begin with a window that covers their path, to measure links and
        not TCP's start
    flight_segments : most segments of a connection that are sent and not acknowledged where no
        packet is delayed and none dropped, so that the link is never idle for it; 0: as TCP has it.
        Small messages then share segments as long as they wait, and do not each take one of their
        own as long as TCP's window is wide, which depends on what was before
    """

    bucket_s: float
    bunch_s: float
    reading_s: float
    reading_trips: int
    readings: int
    trip_pause_s: float = 0.0
    prompt: bool = False
    begins_full: bool = False
    flight_segments: int = 0

    def bucket_bytes(self, rate_bps: int) -> int:
        """Size of a link's token bucket: at least so much that two frames leave at once.

        That is a little less than two frames, as HTB charges a frame when it has left.
        """
        return bucket_bytes(max(2 * FRAME_BYTES, round(rate_bps / 8 * self.bucket_s)), rate_bps)

    @property
    def window_ns(self) -> int:
        """Shortest window that shows a link's rate: ten times what the bucket holds.

        What that brings after a pause moves a window by a tenth at most.
        """
        return round(1e10 * self.bucket_s)

    def bunch_segments(self, rate_bps: int, loss: float = 0.0) -> int:
        """Most segments that TCP may queue as one; one if packets are to be lost one by one."""
        return 1 if loss else max(1, int(rate_bps / 8 * self.bunch_s / FRAME_BYTES))

    def initial_segments(self, rate_bps: int, round_trip_ns: int) -> int:
        """Segments that a connection may begin with; 0 leaves it to the kernel."""
        if not self.begins_full or round_trip_ns < _LEAST_TRIP_NS:
            return 0
        return _LEAST_SEGMENTS + rate_bps * round_trip_ns // (8 * 10**9 * FRAME_BYTES)

    def most_segments(self, spec: NetSpec) -> int:
        """Most segments of a connection under way in a network; 0 leaves it to TCP."""
        plain = all(
            each.link.model == "fair" and not each.link.loss and not each.link.delay
            for each in spec.links
        )
        return self.flight_segments if plain else 0


MACHINE: Final = Punctuality(
    bucket_s=0.002, bunch_s=0.0001, reading_s=0.3, reading_trips=40, readings=2
)
"""A machine: 25 kB at 100 Mbit/s; eight segments at 1 Gbit/s, as one a time would take a core."""

VIRTUAL: Final = Punctuality(
    bucket_s=0.0,
    bunch_s=0.0,
    reading_s=0.0,
    reading_trips=3,
    readings=1,
    trip_pause_s=0.001,
    prompt=True,
    flight_segments=2,
)
"""A guest in virtual time, which is never late."""


HANDLING_NS: Final = 1_400
"""In a guest from a segment to the update that it brings about: a thread wakes in a microsecond."""


def poll_ns(net: NetSpec) -> int:
    """Interval at which our own sender looks for room in its socket, in a guest.

    Whole microseconds, as select(2) waits no others.
    """
    return math.ceil(_POLLED_BYTES * 8e6 / max(link.link.rate for link in net.links)) * 1_000
