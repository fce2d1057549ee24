"""Prophet: as many slices as fit into the time until a more urgent gradient is there.

Source: Zhang et al., "Prophet: Speeding up distributed DNN training with predictable communication
scheduling" (ICPP 2021), Algorithm 1 and constraint 11. The printed algorithm compares with
gradients of the same block, too, for which there is no time at all (`prophet_printed`); constraint
11 says what is meant: a slice is to be through when the next more urgent gradient that is still to
come is there. That time is predicted from the gradient that came last and the profiled times
between gradients; the time that a slice takes, from its bytes, those on their way, and the
bandwidth, which is measured anew every `monitor_ns`. When the step's last gradient is there, all
that waits goes, the most urgent first. What fits nowhere waits until then, so large gradients are
cut (figure 5: 4 MB).
"""

from typing import Final

from netcosim.policies.gate.state import (
    BEGAN_NS,
    FLIGHT_BYTES,
    LEFT,
    NONE,
    OWN,
    TO_COME,
    GateState,
    first_waiting,
)

ABOUT = "slices that are through before a more urgent gradient is there"
OPTIONS: dict[str, int] = {"partition_bytes": 4_000_000, "monitor_ns": 5_000_000_000}

_MONITOR: Final = 1
_RATE: Final = OWN
_SINCE: Final = OWN + 1
_BUSY_SINCE: Final = OWN + 2
_BUSY_NS: Final = OWN + 3
_ENDED_BYTES: Final = OWN + 4


def start(g: GateState) -> None:
    """The bandwidth is what the connection is expected to carry."""
    g.register[_RATE] = g.rate[0]


def enqueued(g: GateState, i: int, now: int) -> None:
    """Nothing is kept beyond what every gate keeps."""


def select(g: GateState, now: int) -> int:
    """The most urgent slice, if it is through before what is more urgent is there."""
    i = first_waiting(g)
    if i == NONE:
        return NONE
    due = _next_due(g, i)
    bytes_before = g.register[FLIGHT_BYTES] + g.size_bytes[i]
    if due != NONE and now + bytes_before * 1_000_000_000 // g.register[_RATE] > due:
        return NONE
    if g.register[FLIGHT_BYTES] == 0:
        g.register[_BUSY_SINCE] = now
    return i


def ended(g: GateState, i: int, now: int) -> None:
    """Measure the bandwidth: bytes that were acknowledged, over the time in which some were due."""
    g.register[_ENDED_BYTES] += g.size_bytes[i]
    if g.register[FLIGHT_BYTES] == 0:
        g.register[_BUSY_NS] += now - g.register[_BUSY_SINCE]
        g.register[_BUSY_SINCE] = now
    if now - g.register[_SINCE] < g.option[_MONITOR]:
        return
    busy_ns = g.register[_BUSY_NS]
    if g.register[FLIGHT_BYTES] > 0:
        busy_ns += now - g.register[_BUSY_SINCE]
        g.register[_BUSY_SINCE] = now
    if busy_ns > 0:
        g.register[_RATE] = max(1, int(g.register[_ENDED_BYTES] * 1e9 / busy_ns))
    g.register[_BUSY_NS] = 0
    g.register[_ENDED_BYTES] = 0
    g.register[_SINCE] = now


def _next_due(g: GateState, i: int) -> int:
    """When the next more urgent message is expected; NONE if none is to come."""
    if g.register[LEFT] == 0:
        return NONE
    soonest = NONE
    for j in range(i):
        if g.stage[j] == TO_COME and (soonest == NONE or g.generated_ns[j] < soonest):
            soonest = g.generated_ns[j]
    return NONE if soonest == NONE else max(0, g.register[BEGAN_NS] + soonest)
