"""Slack that links and TCP have for a kernel whose timers are late."""

from dataclasses import dataclass
from typing import Final

from topo.spec import FRAME_BYTES


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
    """

    bucket_s: float
    bunch_s: float

    def bucket_bytes(self, rate_bps: int) -> int:
        """Size of a link's token bucket: at least two frames."""
        return max(2 * FRAME_BYTES, round(rate_bps / 8 * self.bucket_s))

    def bunch_segments(self, rate_bps: int, loss: float = 0.0) -> int:
        """Most segments that TCP may queue as one; one if packets are to be lost one by one."""
        return 1 if loss else max(1, int(rate_bps / 8 * self.bunch_s / FRAME_BYTES))


MACHINE: Final = Punctuality(bucket_s=0.002, bunch_s=0.0001)
"""A machine: 25 kB at 100 Mbit/s; eight segments at 1 Gbit/s, as one a time would take a core."""

VIRTUAL: Final = Punctuality(bucket_s=0.0, bunch_s=0.0)
"""A guest in virtual time, which is never late."""
