"""Credit rule that grants the rest of the message once the first window is used up."""


def grant(received_bytes: int, granted_bytes: int, window_bytes: int, message_bytes: int) -> int:
    """Grant all of the message that no credit covers yet when every granted byte has come."""
    return max(0, message_bytes - granted_bytes) if received_bytes >= granted_bytes else 0
