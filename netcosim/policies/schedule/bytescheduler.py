"""ByteScheduler: slices of gradients, the most urgent one first, so many bytes at a time.

Source: Peng et al., "A generic communication scheduler for distributed DNN training acceleration"
(SOSP 2019): a slice takes its bytes of the credit and gives them back when it is
acknowledged. They tune the credit; the default of three slices is that of figure 5 of Zhang et al.
(Prophet, ICPP 2021).
"""

from typing import Final

from netcosim.policies.gate.state import FLIGHT_BYTES, NONE, GateState, first_waiting

ABOUT = "slices, the most urgent one first, so many bytes at a time"
OPTIONS: dict[str, int] = {"partition_bytes": 4_000_000, "credit_bytes": 12_000_000}

_CREDIT: Final = 1


def start(g: GateState) -> None:
    """Nothing to prepare."""


def enqueued(g: GateState, i: int, now: int) -> None:
    """Nothing depends on what else is there."""


def select(g: GateState, now: int) -> int:
    """The most urgent slice, if credit is left for it; one larger than all credit goes alone."""
    i = first_waiting(g)
    used = g.register[FLIGHT_BYTES]
    if i == NONE or used == 0 or used + g.size_bytes[i] <= g.option[_CREDIT]:
        return i
    return NONE


def ended(g: GateState, i: int, now: int) -> None:
    """The next decision sees that more credit is left."""
