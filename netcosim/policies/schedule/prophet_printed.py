"""Prophet by the letter of its Algorithm 1, which holds most gradients back to the end.

Source: Zhang et al. (Prophet, ICPP 2021), Algorithm 1 as printed: a gradient goes if it fits into
A(i) = min |c(i) - c(j)| over all more urgent ones j, less the time that those before it in its
block take. Within a block of gradients that are there at one time A is 0, so only the most urgent
one of a block can go before the step's last gradient is there. The print then looks at the same
gradient for ever; here it waits. For what was meant see `prophet`.
"""

from typing import Final

from netcosim.policies.gate.state import LEFT, NONE, OWN, GateState, first_waiting

ABOUT = "Prophet by the letter of its Algorithm 1, which contradicts its constraint 11"
OPTIONS: dict[str, int] = {"partition_bytes": 4_000_000}

_USED_NS: Final = OWN


def start(g: GateState) -> None:
    """Nothing to prepare."""


def enqueued(g: GateState, i: int, now: int) -> None:
    """A new gradient begins a new block."""
    g.register[_USED_NS] = 0


def select(g: GateState, now: int) -> int:
    """The most urgent message, if it fits into its interval, or nothing is to come any more."""
    i = first_waiting(g)
    if i <= 0 or g.register[LEFT] == 0:  # none waits, or none is more urgent
        return i
    nearest = abs(g.generated_ns[i] - g.generated_ns[0])
    for j in range(1, i):
        nearest = min(nearest, abs(g.generated_ns[i] - g.generated_ns[j]))
    takes_ns = g.size_bytes[i] * 1_000_000_000 // g.rate[0]
    if takes_ns > nearest - g.register[_USED_NS]:
        return NONE
    g.register[_USED_NS] += takes_ns
    return i


def ended(g: GateState, i: int, now: int) -> None:
    """What is on its way is not looked at."""
