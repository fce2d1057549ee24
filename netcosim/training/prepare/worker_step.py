"""A worker's own part of a step as a graph with durations, for orders that look at it."""

from collections.abc import Sequence
from typing import cast

import numpy as np

from netcosim.step_graph import Kind, StepGraph
from netcosim.training.plan import DOWN, SERVER, Channel, Floats, Ints, Processor
from netcosim.training.prepare.operations import PlannedOperation


def mean_durations(durations_ns: Floats) -> Floats:
    """(computations,) means over recorded steps, to the last bit whatever order these are in."""
    means: Floats = np.sort(durations_ns, axis=0).mean(axis=0)
    return means


def worker_step(
    ops: Sequence[PlannedOperation],
    source: Ints,
    target: Ints,
    tensor_of: Ints,
    duration_ns: Floats,
    *,
    rate_bps: float,
) -> StepGraph:
    """All operations but those of servers; what waits for one of these does not wait for it here.

    Parameters
    ----------
    source, target : dependencies as pairs of operations: the second waits for the first
    tensor_of : (operations,) tensor by number; -1 for computations
    duration_ns : (operations,) of computations without parsing, which is added
    rate_bps : of the link of every transfer
    """
    kept = [i for i, op in enumerate(ops) if not _at_server(op)]
    number = {op: i for i, op in enumerate(kept)}
    before: list[list[int]] = [[] for _ in kept]
    for first, then in zip(source.tolist(), target.tolist(), strict=True):
        if first in number and then in number:
            before[number[then]].append(number[first])
    processors = list(dict.fromkeys(p for i in kept if isinstance(p := ops[i].place, Processor)))
    index = {processor: i for i, processor in enumerate(processors)}
    return StepGraph(
        kind=tuple(_kind(ops[i]) for i in kept),
        tensor=tuple(int(tensor_of[i]) if _is_transfer(ops[i]) else -1 for i in kept),
        size_bytes=tuple(ops[i].size_bytes for i in kept),
        duration_ns=tuple(_duration_ns(ops[i], float(duration_ns[i]), rate_bps) for i in kept),
        predecessors=tuple(tuple(earlier) for earlier in before),
        processor=tuple(index.get(cast("Processor", ops[i].place), -1) for i in kept),
        capacity=tuple(processor.capacity for processor in processors),
    )


def _at_server(op: PlannedOperation) -> bool:
    return isinstance(op.place, Processor) and op.place.node == SERVER


def _is_transfer(op: PlannedOperation) -> bool:
    return isinstance(op.place, Channel)


def _kind(op: PlannedOperation) -> Kind:
    if isinstance(op.place, Channel):
        return "pull" if op.place.direction == DOWN else "push"
    return "compute"


def _duration_ns(op: PlannedOperation, computing_ns: float, rate_bps: float) -> float:
    if isinstance(op.place, Channel):
        return op.size_bytes * 8e9 / rate_bps
    return computing_ns + sum(op.parsing_ns)
