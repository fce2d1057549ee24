"""Room in a sender's socket: when the kernel takes more, and how much."""

from typing import Final

from h2model.link import Queue
from h2model.protocol import FRAME_HEADER_BYTES
from h2model.records import LinkModel

PIECE_BYTES: Final = 16384
"""Size of the pieces in which a kernel takes a large frame."""

WRITE_CALL_NS: Final = 100_000
"""Least duration of a call that hands the kernel a write: room that comes meanwhile is used."""

NEXT_CALL_NS: Final = 1_100
"""Time from a call that could not hand over all to the next, where processors take no time.

A segment that TCP held back (`FREED_NS`) leaves before it.
"""

LEAST_BYTES: Final = 1448
"""One segment: a kernel that has no room for it is full."""

FREED_BYTES: Final = 2 * LEAST_BYTES
"""Bytes that an acknowledgement frees: the third that wakes a sender is a multiple of them."""


class SocketRoom:
    """Room in the socket of a sender that fills it frame by frame, or waits to be `polled`.

    Linux wakes a polled sender when a third of the buffer is free.

    Attributes
    ----------
    in_memory : True if memory bounds it, of which each segment takes more than its bytes
    piece_bytes : the largest piece of a frame that it takes
    """

    def __init__(self, queue: Queue, link: LinkModel, *, polled: bool, frame_bytes: int) -> None:
        self.in_memory = polled and link.send_memory_bytes > 0
        self.piece_bytes = min(frame_bytes, PIECE_BYTES)
        self._queue = queue
        self._polled = polled
        self._full = False
        self._third_bytes = _third_bytes(link)
        least = LEAST_BYTES if polled else self.piece_bytes
        self._least_bytes = least + FRAME_HEADER_BYTES
        self._call_ends_ns = -1.0

    def at(self, now: float, before_bytes: int) -> float:
        """Time at which the kernel takes of the next piece; so many bytes leave before it."""
        if self._full:
            room_at = self._queue.room_at(self._third_bytes, now)
            self._full = room_at > now
            return room_at
        if self.in_memory:
            return self._memory_at(now, before_bytes)
        room_at = self._queue.room_at(self._least_bytes, now)
        if self._polled and room_at > max(now, self._call_ends_ns):
            self._full = True
            return self.at(now, before_bytes)
        return room_at

    def piece(self, now: float, before_bytes: int, rest_bytes: int) -> int:
        """Most bytes of the next piece: it crosses no frame, nor what the kernel takes."""
        if not self._polled:
            return self.piece_bytes
        room = int(self._queue.free_bytes(now)) - before_bytes
        return max(1, min(self.piece_bytes, rest_bytes or self.piece_bytes, room))

    def handed_over(self, now: float) -> None:
        """Note that the kernel was given a piece."""
        if now > self._call_ends_ns:
            self._call_ends_ns = now + WRITE_CALL_NS

    def _memory_at(self, now: float, before_bytes: int) -> float:
        if self._queue.free_bytes(now) > before_bytes:
            return now
        # A call that could not hand over all is followed by another at once.
        if now < (room_at := self._queue.room_at(1, now)) <= now + NEXT_CALL_NS:
            return room_at
        self._full = True
        return self.at(now, before_bytes)


def _third_bytes(link: LinkModel) -> int:
    """The third of a socket buffer that is free when a sender is woken: memory, or bytes freed."""
    if link.send_memory_bytes:
        return -(-link.send_memory_bytes // 3)
    return -(-link.past_bytes // (3 * FREED_BYTES)) * FREED_BYTES
