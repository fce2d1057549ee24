"""A sender's turns and a receiver's updates as observed in a burst.

From the turns disciplines derive their options; by the updates credit rules are recognised.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

LEAST_FRAME_BYTES: Final = 16_384
"""Size that every receiver must take (RFC 9113, section 6.5.2); a full frame is no smaller."""

_USUAL_FRAME_BYTES: Final = 8_192
"""The smallest frame that a server is known to send by default (nginx, `http2_chunk_size`).

It decides no verdict: where a turn is one DATA frame, round robin and processor sharing are one
rule, and either is told with the other. It chooses which of the two names comes first.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Observed:
    """Turns observed in a burst.

    Attributes
    ----------
    first : whether it is the first burst of its connection
    frame_bytes : the largest DATA frame
    turn_bytes : sizes of the turns that left data behind and did not end with the stream's credit
    usual_turn_bytes : the size that most of them have; None if there is none
    """

    first: bool
    frame_bytes: int
    turn_bytes: Sequence[int] = ()
    usual_turn_bytes: int | None = None

    def is_grain(self, size_bytes: int) -> bool:
        """True if turns of so many bytes are grains: below any usual frame, and no more than one.

        Processor sharing never sends several frames in a turn. Frames are often less than they may
        be: Apache's have 16,375 bytes, nginx's 8,192.
        """
        return size_bytes < _USUAL_FRAME_BYTES and size_bytes <= self.frame_bytes

    @property
    def median_turn_bytes(self) -> int | None:
        """The median of the turns; None without any."""
        from statistics import median  # slow to load, and an endpoint never asks

        return int(median(self.turn_bytes)) if self.turn_bytes else None


@dataclass(frozen=True, slots=True, kw_only=True)
class ObservedUpdate:
    """One WINDOW_UPDATE of a stream that needed credit.

    Attributes
    ----------
    window_bytes : the initial window then
    granted_bytes : all credit before it
    amount_bytes : its own
    least_bytes, received_bytes : bounds of what the receiver had consumed
    least_silent_bytes : the lower one, the receiver's silence before the update allowed for
    message_bytes : all that the stream carried
    frame_bytes : the largest DATA frame of the connection
    first : whether the stream had none before
    """

    window_bytes: int
    granted_bytes: int
    amount_bytes: int
    least_bytes: int
    least_silent_bytes: int
    received_bytes: int
    message_bytes: int
    frame_bytes: int
    first: bool

    @property
    def after_bytes(self) -> int:
        """All credit with this update."""
        return self.granted_bytes + self.amount_bytes

    @property
    def covers(self) -> bool:
        """True if credit now reaches to the message's end exactly, or about a window beyond it."""
        return self.after_bytes == self.message_bytes or self.covers_and_window

    @property
    def covers_and_window(self) -> bool:
        """True if a window is left when the message is read; a frame may be counted, not read."""
        return 0 <= self.after_bytes - self.message_bytes - self.window_bytes <= self.frame_bytes

    def counted(self, size_bytes: int) -> bool:
        """True if the receiver can have counted so much when it sent the update."""
        return self.least_bytes <= size_bytes <= self.received_bytes + self.frame_bytes

    @property
    def exhausted(self) -> bool:
        """True if every granted byte had arrived."""
        return self.received_bytes >= self.granted_bytes
