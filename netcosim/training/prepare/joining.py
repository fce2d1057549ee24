"""Updates that are done once for all workers: which they are, and which pulls need them."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Final

import numpy as np

from netcosim.errors import ScenarioError
from netcosim.training.plan import DOWN, NONE, Ints, StepPlan
from netcosim.training.prepare.graph import Graph, graph_of
from netcosim.training.prepare.operations import PlannedOperation
from netcosim.workload import Profile

_JOIN: Final = "join"


def updates_of(profile: Profile) -> frozenset[str]:
    """Names of the updates of a step: computations at a server that wait for gradients.

    Raises
    ------
    ScenarioError
        There is none, or one waits for another, so that it is not known whose gradients it needs.
    """
    nodes = {resource.name: resource.node for resource in profile.step.resources}
    pushed = {op.name for op in profile.step.transfers if op.source == "worker"}
    at_servers = [op for op in profile.step.computes if nodes[op.resource] == "server"]
    found = {op.name for op in at_servers if pushed.intersection(op.after)}
    for op in at_servers:
        if before := found.intersection(op.after):
            raise _refused(f"{op.name} waits for another computation at a server, {min(before)}")
    if not found:
        raise _refused("no computation at a server waits for gradients")
    return frozenset(found)


def with_joins(plan: StepPlan, ops: Sequence[PlannedOperation]) -> StepPlan:
    """The plan with its updates done once for all workers; `released` is one row, as recorded.

    Raises
    ------
    ScenarioError
        A worker could send the gradients of a step before those of the step before were used.
    """
    graph = graph_of(plan)
    updates = [i for i, op in enumerate(ops) if op.once]
    pulled_after = np.full(len(ops), NONE, dtype=np.int64)
    for pull, update in _pulls(plan, ops, graph, updates):
        pulled_after[pull] = update
    _check(plan, graph, updates, pulled_after)
    behind = {d for update in updates for d in graph.successors[update]}
    return replace(
        plan,
        once=np.array([op.once for op in ops], dtype=np.int64),
        pulled_after=pulled_after,
        released=np.array([sorted(behind)], dtype=np.int64),
    )


def _pulls(
    plan: StepPlan, ops: Sequence[PlannedOperation], graph: Graph, updates: Sequence[int]
) -> Iterator[tuple[int, int]]:
    """Pulls that wait for nothing in their step, each with the last update of its tensor."""
    of_tensor: dict[str | None, int] = {}
    for update in updates:
        for gradient in graph.predecessors[update]:
            of_tensor[ops[gradient].tensor] = update
    for i, op in enumerate(ops):
        place = int(plan.place[i])
        down = place < len(plan.channels) and plan.channels[place].direction == DOWN
        if down and plan.waits[i] == 0 and op.tensor in of_tensor:
            yield i, of_tensor[op.tensor]


def _check(plan: StepPlan, graph: Graph, updates: Sequence[int], pulled_after: Ints) -> None:
    """A worker has what an update made before it sends the update's next gradients."""
    pulls: dict[int, int] = {}  # as bits, by update
    bit = {}
    for number, pull in enumerate(np.flatnonzero(pulled_after != NONE).tolist()):
        bit[pull] = 1 << number
        pulls[int(pulled_after[pull])] = pulls.get(int(pulled_after[pull]), 0) | bit[pull]
    behind = [0] * plan.operations  # the pulls before each operation
    for op in graph.order:
        behind[op] |= bit.get(op, 0)
        for dependent in graph.successors[op]:
            behind[dependent] |= behind[op]
    for update in updates:
        name = plan.names[update]
        if not pulls.get(update) and not graph.successors[update]:
            raise _refused(f"nothing is pulled behind {name}, so no worker would wait for it")
        for gradient in graph.predecessors[update]:
            if pulls.get(update, 0) & ~behind[gradient]:
                raise _refused(
                    f"{plan.names[gradient]} does not wait for the pull of what {name} made,"
                    " so a worker could be steps ahead of the update"
                )


def _refused(why: str) -> ScenarioError:
    allowed = f"can't be simulated with this profile: {why}"
    return ScenarioError.at("training.synchronisation", _JOIN, allowed)
