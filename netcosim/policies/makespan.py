"""How long one worker alone is at a step, with its tensors received in a given order."""

import heapq
from collections.abc import Sequence

from netcosim.step_graph import StepGraph, successors


def makespan_ns(step: StepGraph, order: Sequence[int]) -> float:
    """Time from the begin of a step to the end of its last operation, as the simulator has it.

    Pulls go over one link, one after the other in this order, slices of a tensor as recorded; the
    link is never idle before the last. A computation runs as soon as a place of its processor is
    free, first in, first out by when they are ready. Pushes go over the other direction of the
    link, one after the other by when they are ready. Of what becomes ready at one time,
    computations go as recorded and pushes in the order of release.

    Parameters
    ----------
    order : tensors; each that is pulled has to be there, and those that are not are passed over

    Raises
    ------
    ValueError
        A tensor that is pulled is not in the order, a pull waits for something, or operations wait
        for each other.
    """
    rank = {tensor: place for place, tensor in enumerate(order)}
    pulls = _pulls(step, rank)
    waits = [len(before) for before in step.predecessors]
    behind = [
        sorted(
            later, key=lambda op: rank.get(step.tensor[op], len(rank)) if _sends(step, op) else -1
        )
        for later in successors(step)
    ]
    free_ns = [[0.0] * places for places in step.capacity]
    link_free_ns = 0.0
    ends: list[tuple[float, int, int]] = []  # when, in which order they began, operation
    began = 0

    def begin(op: int, now_ns: float) -> None:
        nonlocal began, link_free_ns
        if _sends(step, op):
            link_free_ns = max(now_ns, link_free_ns) + step.duration_ns[op]
            ended_ns = link_free_ns
        else:
            places = free_ns[step.processor[op]]
            ended_ns = max(now_ns, heapq.heappop(places)) + step.duration_ns[op]
            heapq.heappush(places, ended_ns)
        heapq.heappush(ends, (ended_ns, began, op))
        began += 1

    for op, kind in enumerate(step.kind):
        if kind != "pull" and not waits[op]:
            begin(op, 0.0)
    received_ns = 0.0
    for op in pulls:
        received_ns += step.duration_ns[op]
        heapq.heappush(ends, (received_ns, op - len(step), op))
    last_ns, ended = 0.0, 0
    while ends:
        last_ns, _, op = heapq.heappop(ends)
        ended += 1
        for later in behind[op]:
            waits[later] -= 1
            if not waits[later]:
                begin(later, last_ns)
    if ended < len(step):
        raise ValueError("operations of the step wait for each other")
    return last_ns


def _sends(step: StepGraph, op: int) -> bool:
    return step.kind[op] == "push"


def _pulls(step: StepGraph, rank: dict[int, int]) -> list[int]:
    """Pulls in the order in which they are received."""
    pulls = [op for op, kind in enumerate(step.kind) if kind == "pull"]
    for op in pulls:
        if step.predecessors[op]:
            raise ValueError(f"pull {op} of the step waits for something; pulls have to be first")
        if step.tensor[op] not in rank:
            raise ValueError(f"tensor {step.tensor[op]} is pulled, and not in the order")
    return sorted(pulls, key=lambda op: rank[step.tensor[op]])
