"""Credit rule of a fixed window: the next one is granted when the last one is used up."""

from typing import Final

from h2model.observed import ObservedUpdate

ABOUT: Final = "the whole window anew, when it is used up"
WAITS_FOR_READER: Final = False


def grant(received_bytes: int, granted_bytes: int, window_bytes: int, message_bytes: int) -> int:
    """Grant the window anew when all of it was consumed; nothing once the message is complete."""
    consumed = received_bytes - (granted_bytes - window_bytes)
    return consumed if consumed >= window_bytes and received_bytes < message_bytes else 0


def explains(update: ObservedUpdate) -> bool:
    """True if all credit was used up, and the update is a window."""
    return update.exhausted and update.amount_bytes == update.window_bytes
