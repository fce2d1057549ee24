"""First in, first out: every gradient goes to its connection as soon as it is there.

Source: the default of MXNet, as Zhang et al. (Prophet, ICPP 2021, section 2.3) describe it.
"""

from netcosim.policies.gate.state import GateState, oldest_waiting

ABOUT = "every gradient at once, in the order in which they are computed"
OPTIONS: dict[str, int] = {}


def start(g: GateState) -> None:
    """Nothing to prepare."""


def enqueued(g: GateState, i: int, now: int) -> None:
    """Nothing depends on what else is there."""


def select(g: GateState, now: int) -> int:
    """The message that waits longest."""
    return oldest_waiting(g)


def ended(g: GateState, i: int, now: int) -> None:
    """Nothing waits for acknowledgements."""
