"""P3: slices of gradients, the most urgent one first, one at a time.

Source: Jayarajan et al., "Priority-based parameter propagation for distributed DNN training"
(MLSys 2019): a slice goes when the one before it has been acknowledged, so a
more urgent gradient waits for one slice at most. Their slices have 50,000 parameters; 4 MB is what
Zhang et al. (Prophet, ICPP 2021, section 5.1) gave it.
"""

from netcosim.policies.gate.state import FLIGHT_BYTES, NONE, GateState, first_waiting

ABOUT = "slices, the most urgent one first, one at a time"
OPTIONS: dict[str, int] = {"partition_bytes": 4_000_000}
ONE_AT_A_TIME = True


def start(g: GateState) -> None:
    """Nothing to prepare."""


def enqueued(g: GateState, i: int, now: int) -> None:
    """Nothing depends on what else is there."""


def select(g: GateState, now: int) -> int:
    """The most urgent slice, if none is on its way."""
    return NONE if g.register[FLIGHT_BYTES] > 0 else first_waiting(g)


def ended(g: GateState, i: int, now: int) -> None:
    """The next decision sees that less is on its way."""
