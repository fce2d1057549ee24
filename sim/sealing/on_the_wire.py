"""A step's messages as they are on the wire: with frames' headers, HEADERS, calls that ask."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from typing import Final

from h2model.framing import call_bytes, wire_bytes
from netcosim.scenario import TransportSpec
from netcosim.training.plan import DOWN, UP, StepPlan

SOME_PATH: Final = "/netcosim.Training/gradient/w0/s00/o000"
"""Path of a call, as long as most."""


def on_the_wire(plan: StepPlan, transport: TransportSpec, *, pushed: bool) -> StepPlan:
    """The plan with what each message takes on the wire in place of its own bytes.

    Where servers ask for gradients, they do so when a step's first request has come: these calls go
    with the first parameter that is handed over. What requests of parameters take is left out: they
    go when little else goes the same way.
    """
    sizes = plan.size_bytes.copy()
    channels = len(plan.channels)
    asked: Counter[int] = Counter()  # gradients that a server asks for
    for op, place in enumerate(plan.place.tolist()):
        if place < channels:
            up = plan.channels[place].direction == UP
            sizes[op] = wire_bytes(transport, int(sizes[op]), path=SOME_PATH, pushed=pushed and up)
            asked[plan.channels[place].server] += up and not pushed
    first = {plan.channels[place].server: op for op, place in _pulls_backwards(plan)}
    for server, count in asked.items():
        if server in first:
            sizes[first[server]] += count * call_bytes(transport, SOME_PATH)
    return replace(plan, size_bytes=sizes)


def _pulls_backwards(plan: StepPlan) -> Iterator[tuple[int, int]]:
    """Parameters that wait for nothing, with their channels, the last to be handed over first."""
    for op in reversed(plan.sources[0].tolist()):
        place = int(plan.place[op])
        if place < len(plan.channels) and plan.channels[place].direction == DOWN:
            yield op, place
