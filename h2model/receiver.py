"""Account of a receiver: bytes that it got and credit that it granted, by its credit rule."""

from collections.abc import Sequence
from typing import Final, Protocol

from h2model.credit import GrantRule
from h2model.credit import load as load_credit
from h2model.grpc_receiver import GrpcAccount, Update
from h2model.protocol import UNLIMITED_BYTES
from h2model.records import Arriving, ReceiverModel


class Account(Protocol):
    """Interface of a receiver's account in a simulated connection."""

    @property
    def at_start(self) -> bool:
        """True if a frame counts when it begins to come; else when it has come."""

    @property
    def answer_first(self) -> bool:
        """True if a PING's answer is taken before the frame that follows it is counted."""

    @property
    def sender_probes(self) -> bool:
        """True if the sender, which gets requests, probes by PINGs of its own."""

    def begin(self, streams: Sequence[int]) -> list[Update]:
        """Begin a burst after a rest: credit that the requests for these streams bring."""

    def frame(
        self,
        stream: int,
        size: int,
        message: int,
        now_ns: float,
        lasts_ns: float = 0.0,
        arriving: Arriving | None = None,
    ) -> list[Update]:
        """Account for DATA of a stream whose message has so many bytes; updates written now.

        A frame that counts when it begins to come is whole after `lasts_ns`, or comes as `arriving`
        says.
        """

    def closed(self, stream: int, time_ns: float) -> None:
        """Take the end of a stream, with its trailers, where segments tell when that is."""

    @property
    def look_ns(self) -> float | None:
        """Time at which the next PING is due, on the clock of the burst that begins."""

    def rest(self, elapsed_ns: float) -> None:
        """End a burst; the next one's zero is so much later than its own."""

    def answered(self, now_ns: float) -> tuple[float, list[Update]]:
        """Take a PING's answer: time to look again, and the updates that are written now."""

    def look_again(self, now_ns: float) -> list[Update]:
        """Updates that are written when the time between two PINGs is over."""

    def accepted(self, stream: int, now_ns: float) -> list[Update]:
        """Updates that are written when the application begins to read a pushed call."""

    def replied(self, stream: int, now_ns: float) -> list[Update]:
        """Updates that are written with the reply to a whole message, if it listens."""


def account_of(receiver: ReceiverModel, *, punctual: bool = False) -> Account:
    """The account that a receiver keeps; `punctual` if its timers are never late.

    Raises
    ------
    KeyError
        An unknown credit rule.
    """
    if receiver.grpc:
        return GrpcAccount(receiver, punctual=punctual)
    return ReceiverAccount(receiver)


class ReceiverAccount:
    """Account by a credit rule: bytes got and granted, per stream and for the connection.

    Raises
    ------
    KeyError
        An unknown credit rule.
    """

    at_start: Final = False
    answer_first: Final = False
    sender_probes: Final = False
    look_ns: Final = None

    def __init__(self, receiver: ReceiverModel) -> None:
        self._receiver = receiver
        self._grant: GrantRule | None = (
            None if receiver.credit is None else load_credit(receiver.credit).grant
        )
        self._received: dict[int, int] = {}
        self._granted: dict[int, int] = {}
        self._connection_pending = 0

    def begin(self, streams: Sequence[int]) -> list[Update]:
        """No credit beyond the initial window."""
        return []

    def closed(self, stream: int, time_ns: float) -> None:
        """Do nothing: a stream that is over gets no credit."""

    def rest(self, elapsed_ns: float) -> None:
        """Do nothing: it has no clock."""

    def answered(self, now_ns: float) -> tuple[float, list[Update]]:
        """No updates: it never sends a PING."""
        return 0.0, []

    def look_again(self, now_ns: float) -> list[Update]:
        """No updates: it never sends a PING."""
        return []

    def accepted(self, stream: int, now_ns: float) -> list[Update]:
        """No updates: its credit does not depend on the reader."""
        return []

    def replied(self, stream: int, now_ns: float) -> list[Update]:
        """No updates: its replies carry nothing else."""
        return []

    def frame(
        self,
        stream: int,
        size: int,
        message: int,
        now_ns: float,
        lasts_ns: float = 0.0,
        arriving: Arriving | None = None,
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
