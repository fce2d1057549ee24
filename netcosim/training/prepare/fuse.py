"""Fuse runs of computations into one operation, where nothing else in the simulation changes.

Computation v goes into computation u that it follows when u is all that v waits for, v all that
waits for u, and both run on the same processor, on which no other operation can be ready when u
ends: each other one comes before u or after v in the DAG. A processor that workers share is none of
these: other workers' operations may be ready there; nor may a gate wait for the end of u. Then v
begins at the moment at which u ends, whatever else happens, and only the sum of their durations
matters.

As v alone follows u, and follows u alone, an operation comes after v exactly if it is another than
v and comes after u. So the last condition is that u comes before or after every other operation of
its processor, which `netcosim.training.prepare.graph.decisive` tells of all of them at once.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from netcosim.training.plan import NONE, Floats, Gate, Ints, StepPlan
from netcosim.training.prepare.graph import Graph, decisive, graph_of


@dataclass(frozen=True, slots=True, kw_only=True)
class Fusion:
    """A plan's fused operations; the same for all plans that differ in durations and sources only.

    Attributes
    ----------
    kept : (fused operations,) the first operation of each run
    number : (operations,) index in `kept`; -1 for those that are not kept
    runs : the runs of several operations, by index in `kept`; in order
    """

    kept: Ints
    number: Ints
    runs: dict[int, list[int]]

    def durations(self, plan: StepPlan) -> Floats:
        """(recorded steps, fused operations) sums of a plan's durations."""
        total = np.take(plan.duration_ns, self.kept, axis=1)
        for k, run in self.runs.items():
            total[:, k] = _sum(plan, run)
        return total

    def durations_of(self, plan: StepPlan, chosen: Ints) -> Floats:
        """The same of some fused operations only."""
        total: Floats = plan.duration_ns[:, self.kept[chosen]]
        for column, k in enumerate(chosen.tolist()):
            if k in self.runs:
                total[:, column] = _sum(plan, self.runs[k])
        return total


def _sum(plan: StepPlan, run: list[int]) -> Floats:
    total: Floats = plan.duration_ns[:, run].sum(axis=1)
    return total


def fuse(plan: StepPlan) -> StepPlan:
    """Fuse every such run of a plan into one operation, named by its first."""
    return fused_plan(plan, fusion_of(plan))


def fusion_of(plan: StepPlan) -> Fusion:
    """Find the runs of a plan that can be fused."""
    graph = graph_of(plan)
    head = _heads(plan, graph)
    kept = np.flatnonzero(head == np.arange(plan.operations))
    number = np.full(plan.operations, -1, dtype=np.int64)
    number[kept] = np.arange(len(kept))
    runs: dict[int, list[int]] = {}
    fused = set(head[number < 0].tolist())
    for op in graph.order:
        if head[op] in fused:
            runs.setdefault(int(number[head[op]]), []).append(op)
    return Fusion(kept=kept, number=number, runs=runs)


def fused_plan(plan: StepPlan, fusion: Fusion, *, like: StepPlan | None = None) -> StepPlan:
    """Apply a fusion to a plan that it was found for; the plan itself if nothing is fused.

    `like` is the fused plan of another run: what does not depend on the run is taken from there.
    """
    if not fusion.runs:
        return plan
    return replace(
        like or _without_durations(plan, fusion),
        duration_ns=fusion.durations(plan),
        sources=fusion.number[plan.sources],
        released=None if plan.released is None else fusion.number[plan.released],
        gates=tuple(_gate(gate, fusion) for gate in plan.gates),
    )


def _without_durations(plan: StepPlan, fusion: Fusion) -> StepPlan:
    """The fused plan, but for its durations and sources."""
    kept = fusion.kept.tolist()
    last = [fusion.runs[k][-1] if k in fusion.runs else op for k, op in enumerate(kept)]
    number, after, start = fusion.number.tolist(), plan.after.tolist(), plan.after_start.tolist()
    behind = [[number[i] for i in after[start[op] : start[op + 1]]] for op in last]
    members = [
        tuple(m for i in fusion.runs.get(k, (op,)) for m in plan.members[i])
        for k, op in enumerate(kept)
    ]
    return replace(
        plan,
        names=tuple(plan.names[op] for op in kept),
        place=plan.place[kept],
        size_bytes=plan.size_bytes[kept],
        priority=plan.priority[kept],
        waits=plan.waits[kept],
        after=np.array([i for dependents in behind for i in dependents], dtype=np.int64),
        after_start=np.cumsum([0, *map(len, behind)], dtype=np.int64),
        members=tuple(members),
        once=None if plan.once is None else plan.once[kept],
        pulled_after=None if plan.pulled_after is None else _renumbered(plan.pulled_after, fusion),
    )


def _gate(gate: Gate, fusion: Fusion) -> Gate:
    """A gate with its operations by their number after fusion; none of them is fused into one."""
    return replace(
        gate,
        operations=tuple(fusion.number[list(gate.operations)].tolist()),
        ended_by=tuple(fusion.number[list(gate.ended_by)].tolist()),
    )


def _renumbered(operations: Ints, fusion: Fusion) -> Ints:
    """(fused operations,) of operations by their number after fusion; NONE stays NONE."""
    found = operations[fusion.kept]
    renumbered: Ints = np.where(found == NONE, NONE, fusion.number[found])
    return renumbered


def _heads(plan: StepPlan, graph: Graph) -> Ints:
    """Operation into which each one is fused; itself where it is fused into none."""
    followed = dict(_followed(plan, graph))
    members: dict[int, list[int]] = {}
    for op in graph.order:
        members.setdefault(int(plan.place[op]), []).append(op)
    head = np.arange(plan.operations, dtype=np.int64)
    for place in sorted({int(plan.place[u]) for u in followed}):
        for u, alone in zip(members[place], decisive(graph, members[place]), strict=True):
            if alone and u in followed:
                head[followed[u]] = head[u]
    return head


def _followed(plan: StepPlan, graph: Graph) -> Iterator[tuple[int, int]]:
    """Computations with the one that alone follows them, and follows nothing else, there."""
    place, waits, channels = plan.place.tolist(), plan.waits.tolist(), len(plan.channels)
    alone = [False] * channels + [not processor.shared for processor in plan.processors]
    noticed = {op for gate in plan.gates for op in gate.ended_by}
    for u, dependents in enumerate(graph.successors):
        if len(dependents) == 1 and alone[place[u]] and u not in noticed:
            v = dependents[0]
            if waits[v] == 1 and place[v] == place[u]:
                yield u, v
