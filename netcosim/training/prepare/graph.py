"""The DAG of a plan as lists, and which operations come before or after all others."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from netcosim.training.plan import StepPlan

Lists = Sequence[Sequence[int]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Graph:
    """The DAG of a plan's operations.

    Attributes
    ----------
    successors : by operation, those that wait for it, in the order of hand-over
    predecessors : by operation, those that it waits for, in ascending order
    order : topological order: each operation comes behind those that it waits for
    """

    successors: Lists
    predecessors: Lists
    order: Sequence[int]


def graph_of(plan: StepPlan) -> Graph:
    """Build the DAG of a plan."""
    after, start = plan.after.tolist(), plan.after_start.tolist()
    successors = [after[a:b] for a, b in pairwise(start)]
    predecessors: list[list[int]] = [[] for _ in successors]
    for op, dependents in enumerate(successors):
        for dependent in dependents:
            predecessors[dependent].append(op)
    order = _order(plan.waits.tolist(), successors)
    return Graph(successors=successors, predecessors=predecessors, order=order)


def _order(waits: list[int], successors: Lists) -> list[int]:
    order = [op for op, count in enumerate(waits) if count == 0]
    for op in order:
        for dependent in successors[op]:
            waits[dependent] -= 1
            if waits[dependent] == 0:
                order.append(dependent)
    return order


def decisive(graph: Graph, members: Sequence[int]) -> list[bool]:
    """True for each member that comes before or after every other member in the DAG.

    In time that is linear in the part of the DAG that lies between members.

    Parameters
    ----------
    members : some operations of the DAG, in topological order: m[0], m[1], ...

    Notes
    -----
    What stands before a member in topological order can't come after it in the DAG. So m[k] is
    decisive if all of m[0], ..., m[k-1] reach it, and it reaches all of m[k+1], ...

    Let first[i] be the smallest j such that a path leads from m[i] to m[j] on which no other member
    lies; infinite if there is none. Then *all of m[0], ..., m[k-1] reach m[k] if and only if
    first[i] <= k for all i < k*:

    - If m[i] reaches m[k], the first member on the path behind m[i] is some m[j] with
      first[i] <= j <= k.
    - If first[i] <= k for all i < k, go from m[i] to m[first[i]], and on from there, while the
      index is below k. It grows with every move, as members are in topological order, and never
      passes k: so it becomes k.

    That m[k] reaches all behind it is the same statement about the DAG with all edges reversed.
    """
    before = _reached_by_all(members, graph.predecessors)
    behind = _reached_by_all(members[::-1], graph.successors)[::-1]
    return [a and b for a, b in zip(before, behind, strict=True)]


def last_forward(graph: Graph, pulls: Sequence[int], computes: Sequence[int]) -> int | None:
    """Index of the first computation that all pulls are before, and every other before or behind.

    It comes after all computations before it. So it comes after a pull if and only if it, or one
    before it, waits for the pull.

    Parameters
    ----------
    pulls : transfers to the worker; at least one
    computes : the worker's computations, in topological order
    """
    index = {op: i for i, op in enumerate(computes)}
    nobody = len(computes)
    needed = max(
        min((index.get(d, nobody) for d in graph.successors[op]), default=nobody) for op in pulls
    )
    alone = decisive(graph, computes)
    return next((i for i in range(needed, nobody) if alone[i]), None)


def graph_of_names(after: Mapping[str, Sequence[str]]) -> Graph:
    """Build the DAG of operations that name those that they wait for; in the order given."""
    index = {name: i for i, name in enumerate(after)}
    predecessors = [[index[name] for name in names] for names in after.values()]
    successors: list[list[int]] = [[] for _ in index]
    for op, before in enumerate(predecessors):
        for earlier in before:
            successors[earlier].append(op)
    waits = [len(before) for before in predecessors]
    return Graph(successors=successors, predecessors=predecessors, order=_order(waits, successors))


def _reached_by_all(members: Sequence[int], predecessors: Lists) -> list[bool]:
    """True for each member that all members before it reach."""
    found, furthest = [], 0
    for k, first in enumerate(_first_members_behind(members, predecessors)):
        found.append(furthest <= k)
        furthest = max(furthest, first)
    return found


def _first_members_behind(members: Sequence[int], predecessors: Lists) -> list[int]:
    """Smallest index of a member that each one reaches past no other; len(members): none.

    From each member in turn all paths are followed backward up to the members before it. As indices
    ascend, what an earlier member was reached from needs no second look.
    """
    index = {op: k for k, op in enumerate(members)}
    first = [len(members)] * len(members)
    seen: set[int] = set()
    for k, member in enumerate(members):
        found = [member]
        for op in found:
            for earlier in predecessors[op]:
                i = index.get(earlier)
                if i is not None:
                    first[i] = min(first[i], k)
                elif earlier not in seen:
                    seen.add(earlier)
                    found.append(earlier)
    return first
