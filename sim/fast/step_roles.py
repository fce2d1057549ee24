"""Sort a plan's operations by their role in a step, for steps of the fast path's shape.

The shape: all that waits for nothing are pulls and computations; a worker computes on one
processor; there is a computation, the *last forward operation*, that waits for all pulls, and that
every other computation is before (*forward*) or behind (*backward*); every push waits for it, or
for backward computations; behind a push there is at most an update, on a processor of capacity 1,
and behind that nothing. Or servers join gradients: behind each push are updates that are done once
for all workers, with at most a computation of its own between, on a processor of capacity 1; behind
those updates the step has nothing more.

Backward computations then run in an order that no duration changes: on one processor, which nothing
from outside reaches any more.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from netcosim.training.plan import DOWN, WORKER, StepPlan
from netcosim.training.prepare.graph import Graph, graph_of, last_forward


class NotOfThisShapeError(Exception):
    """A job that needs the generic engine; the message says why."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Parts:
    """Operations of a plan by their role, as indices of operations.

    Attributes
    ----------
    graph : the plan's DAG
    pulls, pushes : by server; pushes in the order of their hand-over
    forward : forward computations, each behind those that it waits for
    backward : backward computations, in the order in which they run
    released : by push, how many of `backward` end before its hand-over
    updates : by push, what is computed of its own at the server, if anything
    joint : updates that are done once for all workers, in the order of hand-over
    """

    graph: Graph
    pulls: list[list[int]]
    pushes: list[list[int]]
    forward: list[int]
    backward: list[int]
    released: dict[int, int]
    updates: dict[int, int]
    joint: list[int]


def parts_of(plan: StepPlan) -> Parts:
    """Sort a plan's operations by their role.

    Raises
    ------
    NotOfThisShapeError
        The step has another shape; the message says in what.
    """
    graph = graph_of(plan)
    joint = _joint(plan, graph)
    pulls, pushes, computes, updates = _by_kind(plan, graph, frozenset(joint))
    pulled = [op for server in pulls for op in server]
    _check_pulls(plan, pulled, graph)
    _check_computes(plan, pulled, computes, graph)
    forward = _forward(pulled, computes, graph)
    backward = _backward(forward, computes, graph)
    released = _released(plan, pushes, [forward[-1], *backward], graph)
    return Parts(
        graph=graph,
        pulls=pulls,
        pushes=[sorted(server, key=released.__getitem__) for server in pushes],
        forward=forward,
        backward=backward,
        released={op: count for op, (count, _) in released.items()},
        updates=_updates(plan, pushes, updates, frozenset(joint), graph),
        joint=joint,
    )


def _joint(plan: StepPlan, graph: Graph) -> list[int]:
    """Updates that are done once for all workers; the step has nothing behind them."""
    if plan.once is None:
        return []
    found: list[int] = np.flatnonzero(plan.once).tolist()
    if any(graph.successors[op] for op in found):
        raise NotOfThisShapeError("a step goes on behind joined updates")
    if plan.pulled_after is None or not (plan.pulled_after >= 0).any():
        raise NotOfThisShapeError("nothing is pulled behind joined updates")
    return found


def _by_kind(
    plan: StepPlan, graph: Graph, joint: frozenset[int]
) -> tuple[list[list[int]], list[list[int]], list[int], list[int]]:
    """Pulls and pushes by server, computations at the worker, updates; in topological order.

    Joint updates are none of these.
    """
    if plan.gates:
        raise NotOfThisShapeError("gradients wait at gates")
    pulls: list[list[int]] = [[] for _ in range(plan.servers)]
    pushes: list[list[int]] = [[] for _ in range(plan.servers)]
    computes, updates = [], []
    links = [(c.server, c.direction) for c in plan.channels]
    if len(set(links)) < len(links):
        raise NotOfThisShapeError("a server has several connections in one direction")
    workers = set()
    places = plan.place.tolist()
    for op in graph.order:
        if op in joint:
            continue
        place = places[op]
        if place < len(links):
            server, direction = links[place]
            (pulls if direction == DOWN else pushes)[server].append(op)
            continue
        processor = plan.processors[place - len(links)]
        if processor.shared:
            raise NotOfThisShapeError("workers share a server's processors")
        if processor.capacity > 1:
            raise NotOfThisShapeError(f"{processor.resource} has several places")
        if processor.node == WORKER:
            computes.append(op)
            workers.add(place)
        else:
            updates.append(op)
    if not any(pulls):
        raise NotOfThisShapeError("nothing is pulled")
    if len(workers) != 1:
        where = "on several processors" if workers else "nothing"
        raise NotOfThisShapeError(f"a worker computes {where}")
    return pulls, pushes, computes, updates


def _check_pulls(plan: StepPlan, pulls: Sequence[int], graph: Graph) -> None:
    for op in pulls:
        if graph.predecessors[op]:
            raise NotOfThisShapeError(f"{plan.names[op]}, a pull, waits for something")


def _check_computes(
    plan: StepPlan, pulls: Sequence[int], computes: Sequence[int], graph: Graph
) -> None:
    allowed = {*computes, *pulls}
    for op in computes:
        if not allowed.issuperset(graph.predecessors[op]):
            raise NotOfThisShapeError(f"{plan.names[op]} waits for a push or an update")


def _forward(pulls: Sequence[int], computes: Sequence[int], graph: Graph) -> list[int]:
    """Forward computations; the last one is the first that can be."""
    last = last_forward(graph, pulls, computes)
    if last is None:
        raise NotOfThisShapeError(
            "there is no computation that all pulls are before, and all others before or behind"
        )
    return list(computes[: last + 1])


def _backward(forward: Sequence[int], computes: Sequence[int], graph: Graph) -> list[int]:
    """Backward computations in the order in which they run: first in, first out."""
    ended = set(forward[:-1])
    unended = set(computes) - ended
    left = {op: sum(b in unended for b in graph.predecessors[op]) for op in unended}
    queue = [forward[-1]]
    for op in queue:
        for dependent in graph.successors[op]:
            if dependent in left:
                left[dependent] -= 1
                if left[dependent] == 0:
                    queue.append(dependent)
    return queue[1:]


def _released(
    plan: StepPlan, pushes: Sequence[list[int]], releasing: Sequence[int], graph: Graph
) -> dict[int, tuple[int, int]]:
    """By push, how many backward computations end before it, and its rank among its like.

    Its like are released by the same computation. `releasing` is whatever may release a push, in
    the order in which it ends.
    """
    ended = {op: i for i, op in enumerate(releasing)}
    rank = {(op, d): i for op in releasing for i, d in enumerate(graph.successors[op])}
    found = {}
    for push in (op for server in pushes for op in server):
        last = max((ended.get(b, -1) for b in graph.predecessors[push]), default=-1)
        if last < 0:
            raise NotOfThisShapeError(
                f"{plan.names[push]}, a push, does not wait for the last forward operation"
            )
        found[push] = (last, rank[releasing[last], push])
    return found


def _updates(
    plan: StepPlan,
    pushes: Sequence[list[int]],
    updates: Sequence[int],
    joint: frozenset[int],
    graph: Graph,
) -> dict[int, int]:
    found: dict[int, int] = {}
    allowed = set(updates)
    for push in (op for server in pushes for op in server):
        dependents = [op for op in graph.successors[push] if op not in joint]
        joined = joint.intersection(graph.successors[push])
        if dependents and joined:
            raise NotOfThisShapeError(f"{plan.names[push]}, a push, is joined and worked on")
        if len(dependents) > 1 or not allowed.issuperset(dependents):
            raise NotOfThisShapeError(
                f"{plan.names[push]}, a push, has more behind it than an update"
            )
        for op in dependents:
            if plan.waits[op] != 1 or not joint.issuperset(graph.successors[op]):
                raise NotOfThisShapeError(f"{plan.names[op]} is not an update of one push")
            found[push] = op
            joined = joint.intersection(graph.successors[op])
        if joint and not joined:
            raise NotOfThisShapeError(f"{plan.names[push]}, a push, is not joined")
    if len(found) != len(updates):
        raise NotOfThisShapeError("an update follows no push")
    return found
