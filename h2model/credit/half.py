"""Credit rule of a sliding window, replenished each time half of it was consumed.

Source: nghttp2 1.52 (`nghttp2_should_send_window_update`) and python h2 4.1 (`WindowManager`), both
with the whole half of an odd window: 32,767 of HTTP/2's default of 65,535.
"""

from typing import Final

from h2model.observed import ObservedUpdate

ABOUT: Final = "what was consumed, half a window at a time"
WAITS_FOR_READER: Final = False


def grant(received_bytes: int, granted_bytes: int, window_bytes: int, message_bytes: int) -> int:
    """Grant the bytes consumed since the last grant when they reach half the window, rounded down.

    Nothing once the message is complete.
    """
    consumed = received_bytes - (granted_bytes - window_bytes)
    return consumed if consumed >= window_bytes // 2 and received_bytes < message_bytes else 0


def explains(update: ObservedUpdate) -> bool:
    """True if it is half a window and at most a frame more, and what was consumed by then.

    python h2 does not wait for the half where it finds the window used up.
    """
    over_bytes = update.amount_bytes - update.window_bytes // 2
    early = update.exhausted and update.amount_bytes > min(1024, update.window_bytes // 4)
    consumed_bytes = update.after_bytes - update.window_bytes
    return (
        (over_bytes >= 0 or early)
        and over_bytes < update.frame_bytes
        and update.least_bytes <= consumed_bytes <= update.received_bytes
    )
