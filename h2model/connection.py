"""One simulated HTTP/2 connection: a sender's machine, a receiver's credit, a link between them.

The connection outlives a burst: write targets, connection credit and the receiver's account carry
over, as they do on a real one. Several connections at once: `h2model.network`.
"""

from collections.abc import Sequence
from dataclasses import replace

from h2model.event_loop import play
from h2model.link import LINE_BPS
from h2model.machine import Machine
from h2model.protocol import UNLIMITED_BYTES
from h2model.pushed_calls import Reader
from h2model.receiver import account_of
from h2model.records import (
    Grant,
    Heads,
    Interval,
    LinkModel,
    ReceiverModel,
    Schedule,
    SenderModel,
    StreamPlan,
)
from h2model.sender import Sender, Told
from h2model.tcp.frames import TcpQueue

__all__ = [
    "LINE_BPS",
    "Connection",
    "Grant",
    "Heads",
    "Interval",
    "LinkModel",
    "ReceiverModel",
    "Schedule",
    "SenderModel",
    "StreamPlan",
]

_NEVER_BINDS = 2**62


class Connection:
    """Simulates the bursts of one connection, one after the other.

    Raises
    ------
    ValueError
        An unknown discipline, option or credit rule.
    """

    def __init__(self, sender: SenderModel, receiver: ReceiverModel, link: LinkModel) -> None:
        self.link = link
        self._sender = sender
        self._machine = Machine(
            sender.discipline,
            options=sender.options,
            initial_window=_NEVER_BINDS if receiver.credit is None else receiver.window_bytes,
            connection_window=(
                _NEVER_BINDS
                if receiver.connection_window_bytes == UNLIMITED_BYTES
                else receiver.connection_window_bytes
            ),
        )
        self._account = account_of(receiver, punctual=link.segment_bytes > 0)
        self._reader = Reader(receiver) if receiver.grpc and receiver.listens else None
        self._heads = sender.heads if link.segment_bytes else Heads()
        self._headed = False

    def burst(
        self,
        plans: Sequence[StreamPlan],
        *,
        grants: Sequence[Grant] | None = None,
        rate_bps: float | None = None,
        next_ns: int | None = None,
    ) -> Schedule:
        """Predict one burst; `ready_ns` and all results count from the burst's own zero.

        Parameters
        ----------
        plans
            The burst's messages.
        grants
            The receiver's credit as it was given, in place of its rule; windows start as modelled.
            A grant is at the sender after `delay_ns` and half of what turning bytes into credit
            takes (`credit_latency_ns` less `delay_ns`): the other half was before it left.
        rate_bps
            The link's rate in this burst, in place of the calibrated one.
        next_ns
            When the next burst begins, if that is known.

        Raises
        ------
        StandstillError
            The credit never lets the burst finish.
        """
        return play([self.begin(plans, grants=grants, rate_bps=rate_bps, next_ns=next_ns)])[0]

    def begin(
        self,
        plans: Sequence[StreamPlan],
        *,
        grants: Sequence[Grant] | None = None,
        rate_bps: float | None = None,
        next_ns: int | None = None,
        writes_each: bool = False,
        told: Told | None = None,
        queue: TcpQueue | None = None,
        back: TcpQueue | None = None,
    ) -> Sender:
        """Sender of a burst within a simulation that begins now; other arguments as for `burst`.

        With `writes_each` it writes the first message of a moment before it knows of the others.
        `told` is told of each message when it is there. `queue` is the kernel's, where bytes go
        through TCP packet by packet, and `back` that of the connection's other way.
        """
        heads = self._heads
        if self._headed:
            heads = replace(heads, first=heads.each, first_tail=heads.tail)
        starts, self._headed = not self._headed, True
        return Sender(
            self._machine,
            self._account,
            self.link,
            rate_bps=self.link.rate_bps if rate_bps is None else rate_bps,
            frame_bytes=self._sender.frame_bytes,
            polled=self._sender.polled,
            plans=plans,
            grants=grants,
            reader=self._reader,
            heads=heads,
            next_ns=next_ns,
            starts=starts,
            writes_each=writes_each,
            told=told,
            queue=queue,
            back=back,
        )
