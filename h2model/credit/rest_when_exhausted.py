"""Credit rule that grants the rest of the message once the first window is used up."""

from typing import Final

from h2model.observed import ObservedUpdate

ABOUT: Final = "the rest of the message, when the first window is used up"
WAITS_FOR_READER: Final = False


def grant(received_bytes: int, granted_bytes: int, window_bytes: int, message_bytes: int) -> int:
    """Grant all of the message that no credit covers yet when every granted byte has come."""
    return max(0, message_bytes - granted_bytes) if received_bytes >= granted_bytes else 0


def explains(update: ObservedUpdate) -> bool:
    """True if it is the first one, covers the message, and all credit was used up."""
    return update.first and update.covers and update.exhausted
