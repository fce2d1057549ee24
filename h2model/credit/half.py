"""Credit rule of a sliding window, replenished each time half of it was consumed.

The usual rule of HTTP/2 libraries; python h2's WindowManager does the same.
"""


def grant(received_bytes: int, granted_bytes: int, window_bytes: int, message_bytes: int) -> int:
    """Grant the bytes consumed since the last grant when they reach half the window.

    Nothing once the message is complete.
    """
    consumed = received_bytes - (granted_bytes - window_bytes)
    return consumed if 2 * consumed >= window_bytes and received_bytes < message_bytes else 0
