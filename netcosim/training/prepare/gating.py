"""Gates of a plan: which messages wait at them, how urgent they are, and when they are expected."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from netcosim.training.plan import SENDING, UP, Channel, Gate, Ints, Processor, StepPlan
from netcosim.training.prepare.alone import ends_alone_ns
from netcosim.training.prepare.graph import graph_of
from netcosim.training.prepare.operations import PlannedOperation

SENDER = "sending"
"""Name of the processor that hands a worker's messages to a connection, one after the other."""


def is_push(op: PlannedOperation) -> bool:
    """True for a transfer from the worker, which waits at a gate if there is one."""
    return isinstance(op.place, Channel) and op.place.direction == UP


def sender(op: PlannedOperation, cost_ns: float) -> PlannedOperation:
    """What a worker does to hand a message over to its connection."""
    place = Processor(node=SENDING, server=op.place.server, resource=SENDER, capacity=1)
    return PlannedOperation(
        name=f"{op.name}/send",
        place=place,
        size_bytes=0,
        tensor=op.tensor,
        waits_for=op.waits_for,
        recorded=None,
        parsing_ns=[cost_ns],
    )


def with_gates(
    plan: StepPlan, pushes: Sequence[tuple[int, int, int]], tensor_of: Ints, rank: Ints
) -> StepPlan:
    """The plan with a gate before every connection to a server; expected times are all 0.

    Parameters
    ----------
    pushes : of each message what is held back, its transfer, and what it has arrived with
    tensor_of : (operations,) tensor of each transfer
    rank : (tensors,) how urgent, 0 first
    """
    of_channel: dict[int, list[tuple[int, int, int]]] = {}
    for message in pushes:
        of_channel.setdefault(int(plan.place[message[1]]), []).append(message)
    gates = []
    for channel, messages in sorted(of_channel.items()):
        messages.sort(key=lambda m: (rank[tensor_of[m[1]]], m[1]))
        gates.append(
            Gate(
                channel=channel,
                operations=tuple(held for held, _, _ in messages),
                ended_by=tuple(ends for _, _, ends in messages),
                size_bytes=tuple(int(plan.size_bytes[sent]) for _, sent, _ in messages),
                generated_ns=(0,) * len(messages),
            )
        )
    return replace(plan, gates=tuple(gates))


def expected(plan: StepPlan) -> tuple[Gate, ...]:
    """The gates with the times at which their messages are there, by mean durations.

    Only differences count: all pulls are taken to be there at a step's begin.
    """
    if not plan.gates:
        return ()
    predecessors = graph_of(plan).predecessors
    ends = ends_alone_ns(plan, np.asarray(plan.duration_ns.mean(axis=0)))
    return tuple(
        replace(
            gate,
            generated_ns=tuple(
                round(max((ends[i] for i in predecessors[op]), default=0.0))
                for op in gate.operations
            ),
        )
        for gate in plan.gates
    )
