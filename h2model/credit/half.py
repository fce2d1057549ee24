"""Credit rule of a sliding window, replenished each time half of it was consumed.

The usual rule of HTTP/2 libraries; python h2's WindowManager does the same.
"""

from typing import Final

from h2model.observed import ObservedUpdate

ABOUT: Final = "what was consumed, half a window at a time"
WAITS_FOR_READER: Final = False


def grant(received_bytes: int, granted_bytes: int, window_bytes: int, message_bytes: int) -> int:
    """Grant the bytes consumed since the last grant when they reach half the window.

    Nothing once the message is complete.
    """
    consumed = received_bytes - (granted_bytes - window_bytes)
    return consumed if 2 * consumed >= window_bytes and received_bytes < message_bytes else 0


def explains(update: ObservedUpdate) -> bool:
    """True if it is half a window and at most a frame more, and what was consumed by then."""
    over_bytes = 2 * update.amount_bytes - update.window_bytes
    consumed_bytes = update.after_bytes - update.window_bytes
    return (
        0 <= over_bytes < 2 * update.frame_bytes
        and update.least_bytes <= consumed_bytes <= update.received_bytes
    )
