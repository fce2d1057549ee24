"""Events of a simulated connection, and the interface that schedules them."""

from typing import Final, Protocol

ENQUEUE: Final = 0
CREDIT: Final = 1
WAKE: Final = 2
LEFT: Final = 3
"""The last byte of the first waiting frame has left; void if the lane was planned anew."""
PING: Final = 4
"""The receiver's PING is at the sender."""
ANSWER: Final = 5
"""The sender's answer is at the receiver."""
LOOK: Final = 6
"""The receiver may send a PING again."""
CALL: Final = 7
"""The HEADERS of a pushed call are at the receiver."""
ACCEPT: Final = 8
"""The receiver's application begins to read a pushed call."""
WHOLE: Final = 9
"""The last byte of a pushed message is at the receiver."""
READ: Final = 10
"""A pushed message is in the application, which replies."""

ASKED: Final = 11
"""Requests are at the sender, which acknowledges them."""
REPLY: Final = 12
"""The reply to a pushed message is at the sender, which acknowledges it."""


class At(Protocol):
    """Schedules an event of one connection."""

    def __call__(self, time_ns: float, kind: int, stream: int = 0, value: int = 0) -> None:
        """Schedule the event."""
