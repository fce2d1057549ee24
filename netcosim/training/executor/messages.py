"""Messages of gradients: what is held at a gate of each, what is sent, what it has arrived with."""

from collections.abc import Iterator
from typing import NamedTuple

from netcosim.training.plan import UP, StepPlan


class Message(NamedTuple):
    """A gradient's message, by operations of the plan.

    Attributes
    ----------
    held : what waits at the gate: the transfer, or its sender's work for it
    sent : the transfer
    ended_by : with its end the message has arrived
    """

    held: int
    sent: int
    ended_by: int


def messages_of(plan: StepPlan) -> Iterator[Message]:
    """Messages of a plan; without gates each gradient is one, and arrives by itself."""
    gated = set()
    for gate in plan.gates:
        for held, ended_by in zip(gate.operations, gate.ended_by, strict=True):
            sent = held
            if not _is_gradient(plan, held):
                sent = int(plan.after[plan.after_start[held]])
            gated.add(sent)
            yield Message(held, sent, ended_by)
    for op in range(plan.operations):
        if op not in gated and _is_gradient(plan, op):
            yield Message(op, op, op)


def _is_gradient(plan: StepPlan, op: int) -> bool:
    place = int(plan.place[op])
    return place < len(plan.channels) and plan.channels[place].direction == UP
