"""Credit rule that grants the whole message as soon as its length is known.

The receiver learns a message's length from its header and at once grants what the window
does not cover. grpcio 1.17.0 and 1.39.0 behave so for whole messages.
"""

from typing import Final

from h2model.observed import ObservedUpdate

ABOUT: Final = "the rest of the message, at its first bytes"
WAITS_FOR_READER: Final = False


def grant(received_bytes: int, granted_bytes: int, window_bytes: int, message_bytes: int) -> int:
    """Grant all of the message that no credit covers yet with its first bytes; then nothing."""
    return max(0, message_bytes - granted_bytes) if received_bytes > 0 else 0


def explains(update: ObservedUpdate) -> bool:
    """True if it is the first one, covers the message, and came with the first frame."""
    return update.first and update.covers and update.least_bytes <= update.frame_bytes
