"""Expected figures of a path: goodput, loss, jitter, and the time that a reading takes."""

from collections.abc import Sequence
from typing import Final

from emu.network.punctuality import MACHINE, Punctuality
from emu.network.rate_readings import START_UP
from topo.paths import bottleneck_bps, round_trip_ns
from topo.spec import FRAME_BYTES, PAYLOAD_BYTES, NetLink

_LEAST_FRAMES: Final = 100


def expected_goodput_bps(rate_bps: int) -> int:
    """TCP's payload of a rate that counts whole frames, in bits per second."""
    return rate_bps * PAYLOAD_BYTES // FRAME_BYTES


def reading_s(
    path: Sequence[NetLink],
    goodput_bps: float | None = None,
    punctuality: Punctuality = MACHINE,
) -> float:
    """Seconds of a reading: enough frames for a slow link, enough round trips for a long one.

    `goodput_bps` is what a part of the link's traffic gets, if that is less than the link's rate.
    """
    slowest_bps = min(bottleneck_bps(tuple(path)), goodput_bps or float("inf"))
    frames_s = _LEAST_FRAMES * 8 * FRAME_BYTES / slowest_bps
    trips_s = punctuality.reading_trips * round_trip_ns(tuple(path)) / 1e9
    return max(punctuality.reading_s, frames_s / (1 - START_UP), trips_s)


def loss_of(path: Sequence[NetLink]) -> float:
    """The probability that a packet is lost on the way."""
    kept = 1.0
    for link in path:
        kept *= 1 - link.link.loss
    return 1 - kept


def jitter_ns_of(path: Sequence[NetLink]) -> int:
    """The largest jitter of a path's links, in nanoseconds."""
    return max(link.link.jitter for link in path)
