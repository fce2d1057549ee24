"""Naive twin of `netcosim.training.prepare.fuse`: ancestors and descendants as bit sets.

Computation v goes into computation u that it follows when u is all that v waits for, v all that
waits for u, and both run on the same processor, on which no other operation can be ready when u
ends: each other one comes before u or after v in the DAG. Then v begins at the moment at which u
ends, whatever else happens, and only the sum of their durations matters.
"""

from dataclasses import replace
from typing import Any

import numpy as np

from netcosim.training.plan import Floats, Ints, StepPlan


def fuse(plan: StepPlan) -> StepPlan:
    """Fuse every such run of a plan into one operation, named by its first."""
    head = _heads(plan)
    kept = np.flatnonzero(head == np.arange(plan.operations))
    number = np.full(plan.operations, -1, dtype=np.int64)
    number[kept] = np.arange(len(kept))
    runs = _runs(plan, head)
    after = [[int(number[i]) for i in _after(plan, runs[int(k)][-1])] for k in kept]
    duration = np.stack([_sum(plan, runs[int(k)]) for k in kept], axis=1)
    return replace(
        plan,
        names=tuple(plan.names[k] for k in kept),
        place=plan.place[kept],
        size_bytes=plan.size_bytes[kept],
        priority=plan.priority[kept],
        duration_ns=duration,
        waits=plan.waits[kept],
        after=np.array([i for dependents in after for i in dependents], dtype=np.int64),
        after_start=np.cumsum([0, *map(len, after)], dtype=np.int64),
        sources=number[plan.sources],
        **_joins(plan, kept, number),
        members=tuple(tuple(m for i in runs[int(k)] for m in plan.members[i]) for k in kept),
    )


def _joins(plan: StepPlan, kept: Ints, number: Ints) -> dict[str, Any]:
    """Fields of joined updates, renumbered; none where nothing is joined."""
    if plan.once is None or plan.pulled_after is None or plan.released is None:
        return {}
    return {
        "once": plan.once[kept],
        "pulled_after": np.array(
            [-1 if i < 0 else number[i] for i in plan.pulled_after[kept]], dtype=np.int64
        ),
        "released": number[plan.released],
    }


def order_of(plan: StepPlan) -> list[int]:
    """Topological order of the operations: each comes behind those that it waits for."""
    waits = plan.waits.copy()
    order = [int(i) for i in np.flatnonzero(waits == 0)]
    for i in order:
        for j in _after(plan, i):
            waits[j] -= 1
            if waits[j] == 0:
                order.append(int(j))
    return order


def relatives(plan: StepPlan) -> tuple[list[int], list[int]]:
    """Ancestors and descendants of every operation in the DAG, as bit sets."""
    before, behind = [0] * plan.operations, [0] * plan.operations
    order = order_of(plan)
    for i in order:
        for j in _after(plan, i):
            before[j] |= before[i] | 1 << i
    for i in reversed(order):
        for j in _after(plan, i):
            behind[i] |= behind[int(j)] | 1 << int(j)
    return before, behind


def _heads(plan: StepPlan) -> Ints:
    """Operation into which each one is fused; itself where it is fused into none."""
    head = np.arange(plan.operations, dtype=np.int64)
    before, behind = relatives(plan)
    channels = len(plan.channels)
    everyone = [0] * len(plan.processors)
    for i in range(plan.operations):
        if plan.place[i] >= channels:
            everyone[plan.place[i] - channels] |= 1 << i
    for u in order_of(plan):
        dependents = _after(plan, u)
        if plan.place[u] < channels or len(dependents) != 1:
            continue
        if plan.processors[plan.place[u] - channels].shared:
            continue  # what others have there may come between
        v = int(dependents[0])
        if plan.waits[v] != 1 or plan.place[v] != plan.place[u]:
            continue
        others = everyone[plan.place[u] - channels] & ~(1 << u | 1 << v)
        if others & ~(before[u] | behind[v]) == 0:
            head[v] = head[u]
    return head


def _runs(plan: StepPlan, head: Ints) -> dict[int, list[int]]:
    """Members of each fused run in order, by the run's head."""
    runs: dict[int, list[int]] = {}
    for i in order_of(plan):
        runs.setdefault(int(head[i]), []).append(i)
    return runs


def _after(plan: StepPlan, op: int) -> Ints:
    return plan.after[plan.after_start[op] : plan.after_start[op + 1]]


def _sum(plan: StepPlan, run: list[int]) -> Floats:
    total: Floats = plan.duration_ns[:, run].sum(axis=1)
    return total
