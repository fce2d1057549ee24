"""Naive twin of `sim.fast.step_roles`: ancestors and descendants as bit sets.

The shape: all that waits for nothing are pulls and computations; a worker computes on one
processor; there is a computation, the *last forward operation*, that waits for all pulls, and that
every other computation is before (*forward*) or behind (*backward*); every push waits for it, or
for backward computations; behind a push there is at most an update, on a processor of capacity 1,
and behind that nothing.

Backward computations then run in an order that no duration changes: on one processor, which nothing
from outside reaches any more.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from netcosim.training.plan import DOWN, WORKER, StepPlan
from sim.fast.step_roles import NotOfThisShapeError
from sim.kernels.arrays import NONE
from tests.sim.naive.prepare.fuse import order_of


@dataclass(frozen=True, slots=True, kw_only=True)
class Parts:
    """Operations of a plan by their role, as indices of operations.

    Attributes
    ----------
    pulls, pushes : by server; pushes in the order of their hand-over
    forward : forward computations, each behind those that it waits for
    backward : backward computations, in the order in which they run
    released : by push, how many of `backward` end before its hand-over
    updates : by push
    """

    pulls: list[list[int]]
    pushes: list[list[int]]
    forward: list[int]
    backward: list[int]
    released: dict[int, int]
    updates: dict[int, int]


def parts_of(plan: StepPlan) -> Parts:
    """Sort a plan's operations by their role.

    Raises
    ------
    NotOfThisShapeError
        The step has another shape; the message says in what.
    """
    pulls, pushes, computes, updates = _by_kind(plan)
    before = predecessors(plan)
    pulled = [op for server in pulls for op in server]
    _check_pulls(plan, pulled, before)
    _check_computes(plan, pulled, computes, before)
    forward = _forward(plan, pulled, computes, before)
    backward = _backward(plan, forward, computes, before)
    ended = {op: i for i, op in enumerate([forward[-1], *backward])}
    released = {op: _released(plan, op, ended, before) for server in pushes for op in server}
    return Parts(
        pulls=pulls,
        pushes=[sorted(server, key=released.__getitem__) for server in pushes],
        forward=forward,
        backward=backward,
        released={op: count for op, (count, _) in released.items()},
        updates=_updates(plan, pushes, updates),
    )


def _by_kind(plan: StepPlan) -> tuple[list[list[int]], list[list[int]], list[int], list[int]]:
    """Pulls and pushes by server, computations at the worker, updates; in topological order."""
    pulls: list[list[int]] = [[] for _ in range(plan.servers)]
    pushes: list[list[int]] = [[] for _ in range(plan.servers)]
    computes, updates = [], []
    links = [(c.server, c.direction) for c in plan.channels]
    if len(set(links)) < len(links):
        raise NotOfThisShapeError("a server has several connections in one direction")
    workers = set()
    for op in order_of(plan):
        place = int(plan.place[op])
        if place < len(links):
            server, direction = links[place]
            (pulls if direction == DOWN else pushes)[server].append(op)
            continue
        processor = plan.processors[place - len(links)]
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


def _check_pulls(plan: StepPlan, pulls: Sequence[int], before: Sequence[list[int]]) -> None:
    for op in pulls:
        if before[op]:
            raise NotOfThisShapeError(f"{plan.names[op]}, a pull, waits for something")


def _check_computes(
    plan: StepPlan, pulls: Sequence[int], computes: Sequence[int], before: Sequence[list[int]]
) -> None:
    allowed = {*computes, *pulls}
    for op in computes:
        if not allowed.issuperset(before[op]):
            raise NotOfThisShapeError(f"{plan.names[op]} waits for a push or an update")


def _forward(
    plan: StepPlan, pulls: Sequence[int], computes: Sequence[int], before: Sequence[list[int]]
) -> list[int]:
    """Forward computations; the last one is the first that can be."""
    ancestors = [0] * plan.operations  # a bit for each operation
    for op in computes:
        for b in before[op]:
            ancestors[op] |= ancestors[b] | 1 << b
    descendants = dict.fromkeys(computes, 0)
    for op in reversed(computes):
        for dependent in after(plan, op):
            if dependent in descendants:
                descendants[op] |= descendants[dependent] | 1 << dependent
    everything = sum(1 << op for op in computes)
    pulled = sum(1 << op for op in pulls)
    for op in computes:
        comparable = ancestors[op] | descendants[op] | 1 << op
        if ancestors[op] & pulled == pulled and comparable & everything == everything:
            return [c for c in computes if ancestors[op] >> c & 1] + [op]
    raise NotOfThisShapeError(
        "there is no computation that all pulls are before, and all others before or behind"
    )


def _backward(
    plan: StepPlan, forward: Sequence[int], computes: Sequence[int], before: Sequence[list[int]]
) -> list[int]:
    """Backward computations in the order in which they run: first in, first out."""
    ended = set(forward[:-1])
    unended = set(computes) - ended
    left = {op: sum(b in unended for b in before[op]) for op in unended}
    queue = [forward[-1]]
    for op in queue:
        for dependent in after(plan, op):
            if dependent in left:
                left[dependent] -= 1
                if left[dependent] == 0:
                    queue.append(dependent)
    return queue[1:]


def _released(
    plan: StepPlan, op: int, ended: dict[int, int], before: Sequence[list[int]]
) -> tuple[int, int]:
    """Number of backward computations that end before a push, and its rank when released.

    `ended` is that number for whatever may release a push.
    """
    last = max(before[op], key=lambda b: ended.get(b, NONE), default=NONE)
    if last not in ended:
        raise NotOfThisShapeError(
            f"{plan.names[op]}, a push, does not wait for the last forward operation"
        )
    return ended[last], after(plan, last).index(op)


def _updates(plan: StepPlan, pushes: Sequence[list[int]], updates: Sequence[int]) -> dict[int, int]:
    found: dict[int, int] = {}
    allowed = set(updates)
    for push in (op for server in pushes for op in server):
        dependents = after(plan, push)
        if len(dependents) > 1 or not allowed.issuperset(dependents):
            raise NotOfThisShapeError(
                f"{plan.names[push]}, a push, has more behind it than an update"
            )
        for op in dependents:
            if plan.waits[op] != 1 or after(plan, op):
                raise NotOfThisShapeError(f"{plan.names[op]} is not an update of one push")
            found[push] = op
    if len(found) != len(updates):
        raise NotOfThisShapeError("an update follows no push")
    return found


def predecessors(plan: StepPlan) -> list[list[int]]:
    """Predecessors of each operation: those that it waits for."""
    before: list[list[int]] = [[] for _ in range(plan.operations)]
    for op in range(plan.operations):
        for dependent in after(plan, op):
            before[dependent].append(op)
    return before


def after(plan: StepPlan, op: int) -> list[int]:
    """Successors of an operation, in the order of hand-over."""
    return [int(d) for d in plan.after[plan.after_start[op] : plan.after_start[op + 1]]]
