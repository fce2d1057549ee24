"""The receiver's account: what it got and granted, by its credit rule."""

from collections.abc import Sequence
from typing import Final, Protocol

from h2model.credit import GrantRule
from h2model.credit import load as load_credit
from h2model.grpc_receiver import GrpcAccount, Update
from h2model.records import UNLIMITED_BYTES, ReceiverModel


class Account(Protocol):
    """What a simulated connection asks of its receiver."""

    @property
    def at_start(self) -> bool:
        """Whether a frame counts when it begins to come; else when it has come."""

    @property
    def answer_first(self) -> bool:
        """Whether an answer is heard before the frame that follows it is counted."""

    def begin(self, streams: Sequence[int]) -> list[Update]:
        """A burst begins after a rest: what the requests for these streams bring with them."""

    def frame(
        self, stream: int, size: int, message: int, now_ns: float, lasts_ns: float = 0.0
    ) -> list[Update]:
        """Account for DATA of a stream whose message has so many bytes; what is written now.

        A frame that counts when it begins to come is whole after `lasts_ns`.
        """

    @property
    def look_ns(self) -> float | None:
        """When the time between two PINGs is over, on the clock of the burst that begins."""

    def rest(self, elapsed_ns: float) -> None:
        """A burst is over, and the next one's zero is so much later than its own."""

    def answered(self, now_ns: float) -> tuple[float, list[Update]]:
        """A PING's answer has come: when to look again, and what is written now."""

    def look_again(self, now_ns: float) -> list[Update]:
        """The time between two PINGs is over."""

    def accepted(self, stream: int, now_ns: float) -> list[Update]:
        """The application begins to read a pushed call; what is written now."""

    def replied(self, now_ns: float) -> list[Update]:
        """It has a whole message and writes, if it listens, a reply: what else is written now."""


def account_of(receiver: ReceiverModel) -> Account:
    """The account that a receiver keeps.

    Raises
    ------
    KeyError
        An unknown credit rule.
    """
    return GrpcAccount(receiver) if receiver.grpc else ReceiverAccount(receiver)


class ReceiverAccount:
    """What the receiver has got and granted, per stream and for the connection.

    Raises
    ------
    KeyError
        An unknown credit rule.
    """

    at_start: Final = False
    answer_first: Final = False
    look_ns: Final = None

    def __init__(self, receiver: ReceiverModel) -> None:
        self._receiver = receiver
        self._grant: GrantRule | None = (
            None if receiver.credit is None else load_credit(receiver.credit)
        )
        self._received: dict[int, int] = {}
        self._granted: dict[int, int] = {}
        self._connection_pending = 0

    def begin(self, streams: Sequence[int]) -> list[Update]:
        """Nothing beyond the initial window."""
        return []

    def rest(self, elapsed_ns: float) -> None:
        """It has no clock."""

    def answered(self, now_ns: float) -> tuple[float, list[Update]]:
        """It never asks."""
        return 0.0, []

    def look_again(self, now_ns: float) -> list[Update]:
        """It never asks."""
        return []

    def accepted(self, stream: int, now_ns: float) -> list[Update]:
        """Its credit does not depend on who reads."""
        return []

    def replied(self, now_ns: float) -> list[Update]:
        """Its replies carry nothing else."""
        return []

    def frame(
        self, stream: int, size: int, message: int, now_ns: float, lasts_ns: float = 0.0
    ) -> list[Update]:
        """Account for a frame; return the WINDOW_UPDATEs."""
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
