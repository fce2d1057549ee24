"""A step's messages as they are on the wire: with frames' headers and HEADERS, and what asks."""

from dataclasses import replace

from h2model.framing import SOME_PATH, call_bytes, packets_alone, wire_bytes
from netcosim.scenario import TransportSpec
from netcosim.training.plan import DOWN, UP, StepPlan
from sim.plan import Calls
from topo.spec import ACKNOWLEDGEMENT_BYTES, GOODPUT_SHARE, PAYLOAD_BYTES


def on_the_wire(
    plan: StepPlan, transport: TransportSpec, *, pushed: bool, alone: bool = False
) -> StepPlan:
    """The plan with what each message takes on the wire in place of its own bytes.

    Parameters
    ----------
    alone : whether a gradient's message goes when the one before it has been acknowledged
    """
    sizes = plan.size_bytes.copy()
    for op, direction, _ in _transfers(plan):
        up = direction == UP
        size_bytes = wire_bytes(transport, int(sizes[op]), path=SOME_PATH, pushed=pushed and up)
        if alone and pushed and up:
            more = packets_alone(transport, size_bytes, PAYLOAD_BYTES) * ACKNOWLEDGEMENT_BYTES
            size_bytes += round(more * GOODPUT_SHARE)  # the payload that they keep away
        sizes[op] = size_bytes
    return replace(plan, size_bytes=sizes)


def calls_of(plan: StepPlan, transport: TransportSpec, *, pushed: bool) -> Calls:
    """Bytes of the calls that ask for a step's parameters and, unless pushed, its gradients."""
    asked = {UP: [0] * plan.servers, DOWN: [0] * plan.servers}
    for _, direction, server in _transfers(plan):
        if direction == DOWN:
            asked[UP][server] += call_bytes(transport, SOME_PATH)
        elif not pushed:
            asked[DOWN][server] += call_bytes(transport, SOME_PATH)
    return Calls(up_bytes=tuple(asked[UP]), down_bytes=tuple(asked[DOWN]))


def _transfers(plan: StepPlan) -> list[tuple[int, int, int]]:
    """Operation, direction and server of each transfer."""
    return [
        (op, plan.channels[place].direction, plan.channels[place].server)
        for op, place in enumerate(plan.place.tolist())
        if place < len(plan.channels)
    ]
