"""One worker's step as a DAG with durations: what an order of release may look at."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

Kind = Literal["pull", "compute", "push"]


@dataclass(frozen=True, slots=True, kw_only=True)
class StepGraph:
    """The operations of a worker's own part of a step; those of servers are not in it.

    Attributes
    ----------
    kind : (operations,) a pull is a receive of the worker, a push a send
    tensor : (operations,) of transfers, as an index in the workload's list; -1 for computations
    size_bytes : (operations,) of transfers; 0 for computations
    duration_ns : (operations,) alone on its link or processor
    predecessors : (operations,) those that it waits for, by index, in any order
    processor : (operations,) of computations, as an index in `capacity`; -1 for transfers
    capacity : (processors,) how many computations run on each at a time
    """

    kind: Sequence[Kind]
    tensor: Sequence[int]
    size_bytes: Sequence[int]
    duration_ns: Sequence[float]
    predecessors: Sequence[Sequence[int]]
    processor: Sequence[int]
    capacity: Sequence[int]

    def __len__(self) -> int:
        return len(self.kind)


def pulled_tensors(step: StepGraph) -> list[int]:
    """The tensors that are pulled, ascending: as listed."""
    return sorted({t for t, kind in zip(step.tensor, step.kind, strict=True) if kind == "pull"})


def first_pulls(step: StepGraph) -> list[int]:
    """The first pull of each tensor that is pulled, by tensor, as listed."""
    found: dict[int, int] = {}
    for op, kind in enumerate(step.kind):
        if kind == "pull":
            found.setdefault(step.tensor[op], op)
    return [found[tensor] for tensor in sorted(found)]


def successors(step: StepGraph) -> list[list[int]]:
    """By operation, those that wait for it, ascending."""
    found: list[list[int]] = [[] for _ in step.kind]
    for op, before in enumerate(step.predecessors):
        for earlier in before:
            found[earlier].append(op)
    return found


def topological_order(step: StepGraph) -> list[int]:
    """Operations, each behind those that it waits for.

    Raises
    ------
    ValueError
        Operations wait for each other.
    """
    waits = [len(before) for before in step.predecessors]
    behind = successors(step)
    order = [op for op, count in enumerate(waits) if count == 0]
    for op in order:
        for later in behind[op]:
            waits[later] -= 1
            if waits[later] == 0:
                order.append(later)
    if len(order) < len(waits):
        raise ValueError("operations of the step wait for each other")
    return order


def pulls_before(step: StepGraph) -> list[int]:
    """By operation, the tensors whose pulls it waits for, directly or not: bit t for tensor t.

    A pull's own tensor is among its bits. (`op.dep` of Hashemi et al., MLSys 2019, section 4.1.)
    """
    bits = [0] * len(step)
    for op in topological_order(step):
        for earlier in step.predecessors[op]:
            bits[op] |= bits[earlier]
        if step.kind[op] == "pull":
            bits[op] |= 1 << step.tensor[op]
    return bits
