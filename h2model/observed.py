"""Sender's turns as observed in a burst, from which disciplines derive their options."""

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median
from typing import Final

LEAST_FRAME_BYTES: Final = 16_384
"""Size that every receiver must take (RFC 9113, section 6.5.2); a full frame is no smaller."""


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

    @property
    def median_turn_bytes(self) -> int | None:
        """The median of the turns; None without any."""
        return int(median(self.turn_bytes)) if self.turn_bytes else None
