"""The receiver's account: what it got and granted, by its credit rule."""

from h2model.credit import GrantRule
from h2model.credit import load as load_credit
from h2model.records import UNLIMITED_BYTES, ReceiverModel


class ReceiverAccount:
    """What the receiver has got and granted, per stream and for the connection.

    Raises
    ------
    KeyError
        An unknown credit rule.
    """

    def __init__(self, receiver: ReceiverModel) -> None:
        self._receiver = receiver
        self._grant: GrantRule | None = (
            None if receiver.credit is None else load_credit(receiver.credit)
        )
        self._received: dict[int, int] = {}
        self._granted: dict[int, int] = {}
        self._connection_pending = 0

    def frame(self, stream: int, size: int, message: int) -> list[tuple[int, int]]:
        """Account for a frame; return the WINDOW_UPDATEs as (stream, bytes)."""
        updates = []
        window = self._receiver.connection_window_bytes
        if window != UNLIMITED_BYTES:
            self._connection_pending += size
            if 2 * self._connection_pending >= window:
                updates.append((0, self._connection_pending))
                self._connection_pending = 0
        if self._grant is not None:
            grant = self._stream_grant(self._grant, stream, size, message)
            if grant > 0:
                updates.append((stream, grant))
        return updates

    def _stream_grant(self, rule: GrantRule, stream: int, size: int, message: int) -> int:
        received = self._received.pop(stream, 0) + size
        window = self._receiver.window_bytes
        granted = self._granted.pop(stream, window)
        if received >= message:
            return 0
        grant = rule(received, granted, window, message)
        self._received[stream] = received
        self._granted[stream] = granted + grant
        return grant
