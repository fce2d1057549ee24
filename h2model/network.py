"""Simulation of several connections at once over links that they share.

At every moment each connection has the rate that it gets among those that are busy then, which
are those with bytes in the socket buffer that have not left. When one falls silent, out of data or
out of credit, the others speed up; when it comes back they slow down.
"""

from collections.abc import Sequence

from h2model.connection import Connection
from h2model.event_loop import Shares, play
from h2model.records import Grant, Schedule, StreamPlan


class Network:
    """Simulates the bursts of several connections, one burst after the other.

    Parameters
    ----------
    connections
        Each with its own state, which outlives a burst.
    shares
        From the positions of the busy connections to the rate of each in bits per second, such
        as `topo.share.SharedLinks`; it takes the place of `LinkModel.rate_bps`.
    """

    def __init__(self, connections: Sequence[Connection], shares: Shares) -> None:
        self._connections = connections
        self._shares = shares
        self._alone = [shares(frozenset({i}))[i] for i in range(len(connections))]

    def burst(
        self,
        plans: Sequence[Sequence[StreamPlan]],
        *,
        grants: Sequence[Sequence[Grant]] | None = None,
        speed: float = 1.0,
        next_ns: int | None = None,
    ) -> list[Schedule]:
        """Predict one burst of all connections, which have one clock.

        Parameters
        ----------
        plans
            Of each connection its messages; none where it rests.
        grants
            Of each connection its receiver's credit as it was given, in place of its rule.
        speed
            Factor by which all links are faster than calibrated.
        next_ns
            When the next burst begins, if that is known.

        Raises
        ------
        StandstillError
            The credit never lets the burst finish.
        """
        begun = [
            connection.begin(
                plans[i],
                grants=None if grants is None else grants[i],
                rate_bps=self._alone[i] * speed,
                next_ns=next_ns,
            )
            for i, connection in enumerate(self._connections)
        ]
        if speed == 1.0:
            return play(begun, self._shares)
        return play(begun, lambda busy: {i: r * speed for i, r in self._shares(busy).items()})
