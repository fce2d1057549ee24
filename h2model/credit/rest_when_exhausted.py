"""The first window is a trial; once it is used up, the rest of the message may come."""


def grant(received_bytes: int, granted_bytes: int, window_bytes: int, message_bytes: int) -> int:
    """When every granted byte has come: all of the message that no credit covers yet."""
    return max(0, message_bytes - granted_bytes) if received_bytes >= granted_bytes else 0
