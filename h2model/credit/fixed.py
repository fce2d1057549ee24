"""Credit rule of a fixed window: the next one is granted when the last one is used up."""


def grant(received_bytes: int, granted_bytes: int, window_bytes: int, message_bytes: int) -> int:
    """Grant the window anew when all of it was consumed; nothing once the message is complete."""
    consumed = received_bytes - (granted_bytes - window_bytes)
    return consumed if consumed >= window_bytes and received_bytes < message_bytes else 0
