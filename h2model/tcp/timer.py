"""The one timer of a TCP sender: armed for one reason at a time."""

import math
from collections.abc import Callable
from typing import Literal

from h2model.tcp.network import PacketNetwork

Reason = Literal["reordering", "probe", "timeout"]


class Timer:
    """Timer that is armed anew with most acknowledgements; a network has few events of it.

    Parameters
    ----------
    network
        Whose clock it has.
    runs_out
        Told why it was armed, and the time.
    """

    def __init__(self, network: PacketNetwork, runs_out: Callable[[Reason, float], None]) -> None:
        self._network = network
        self._runs_out = runs_out
        self._reason: Reason = "timeout"
        self._time_ns = self._noted_ns = math.inf

    @property
    def armed(self) -> bool:
        """True until it has run out, or was stopped."""
        return not math.isinf(self._time_ns)

    def stop(self) -> None:
        """Let it not run out."""
        self._time_ns = math.inf

    def arm(self, reason: Reason, time_ns: float) -> None:
        """Let it run out then, and not as it was armed before."""
        self._reason, self._time_ns = reason, time_ns
        if time_ns < self._noted_ns:
            self._noted_ns = time_ns
            self._network.at(time_ns, self._look)

    def _look(self, now: float) -> None:
        if now != self._noted_ns:
            return  # an earlier event was noted behind this one
        self._noted_ns = math.inf
        if not self.armed:
            return
        if now < self._time_ns:
            self.arm(self._reason, self._time_ns)
            return
        self._time_ns = math.inf
        self._runs_out(self._reason, now)
