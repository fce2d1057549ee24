"""Receiving end of one way of a TCP connection."""

from typing import Protocol

from h2model.segments import PACKET_HEADER_BYTES
from h2model.tcp.network import ACKNOWLEDGES, PacketNetwork, Port


class Sending(Protocol):
    """The sending end."""

    def will_come(self, number: int, time_ns: float) -> None:
        """Learn when a segment will be at the receiver."""

    def expects(self, number: int, time_ns: float) -> None:
        """Learn when an acknowledgement will be there."""

    def arrives(self, number: int, now: float) -> None:
        """Take an acknowledgement: of so many as had come when it was sent."""


class Receiver:
    """Receiver that acknowledges each segment at once, and selectively (RFC 2018).

    An acknowledgement tells of all that had come by then: those that are lost are made up for.

    Attributes
    ----------
    came : numbers of segments, in the order in which they came
    """

    def __init__(self, network: PacketNetwork, back: tuple[Port, ...], sender: Sending) -> None:
        self.came: list[int] = []
        self._network = network
        self._back = back
        self._sender = sender

    def expects(self, number: int, time_ns: float) -> None:
        """Tell the sender's simulation when a segment will be there."""
        self._sender.will_come(number, time_ns)

    def arrives(self, number: int, now: float) -> None:
        """Take a segment and acknowledge it."""
        self.came.append(number)
        self._network.send(
            self._back, PACKET_HEADER_BYTES, len(self.came), self._sender, now, ACKNOWLEDGES
        )
