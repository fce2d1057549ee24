"""Naive twin of `sim.fast.shape`: one operation and one recorded step at a time."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from netcosim.training.plan import Floats, Ints, StepPlan
from sim.fast.arrays import Shape
from sim.fast.shape import _first_visit, _replays, _served, asks_discipline, check_settings
from sim.kernels.arrays import NONE
from sim.plan import Network, Sending
from tests.sim.naive.prepare.step_roles import (
    NotOfThisShapeError,
    Parts,
    after,
    parts_of,
    predecessors,
)


def fast_shape(plan: StepPlan, network: Network, sending: Sending) -> Shape:
    """Arrange a plan as the fast path needs it; `sim.fast.build.with_workers` completes it.

    Raises
    ------
    NotOfThisShapeError
        The job has another shape; the message says in what.
    """
    check_settings(network, sending)
    parts = parts_of(plan)
    pulls = [op for server in parts.pulls for op in server]
    pushes = [op for server in parts.pushes for op in server]
    number = {op: i for i, op in enumerate(pulls)}
    order, total = _downs(plan, parts, sending)
    forward_ns = plan.duration_ns[:, parts.forward]
    backward = np.cumsum(plan.duration_ns[:, parts.backward], axis=1)
    backward = np.concatenate([np.zeros((plan.steps, 1)), backward], axis=1)
    released = [parts.released[op] for op in pushes]
    update_of, update_ns, processors = _updates(plan, parts, pushes)
    return Shape(
        down_start=_starts(parts.pulls),
        down=np.array([[number[op] for op in row] for row in order], dtype=np.int64),
        down_cum=np.array(total, dtype=np.int64),
        down_size=plan.size_bytes[pulls],
        down_priority=plan.priority[pulls],
        **_forward(plan, parts, number),
        forward_ns=np.ascontiguousarray(forward_ns),
        forward_sum=forward_ns.sum(axis=1),
        backward_sum=backward[:, -1].copy(),
        up_start=_starts(parts.pushes),
        up_size=plan.size_bytes[pushes],
        up_priority=plan.priority[pushes],
        up_cum=_cumulated(plan, parts.pushes),
        up_released=np.array(released, dtype=np.int64),
        offset_ns=np.ascontiguousarray(backward[:, released]),
        update=update_of,
        update_ns=update_ns,
        joint=np.zeros(0, dtype=np.int64),
        joint_ns=np.zeros((plan.steps, 0)),
        joint_first=np.zeros(1, dtype=np.int64),
        replay=_replays(plan, parts, update_of, sending),
        largest=np.array([_first_visit(sending)], dtype=np.int64),
        first_leaf=np.zeros(5, dtype=np.int64),
        sizes=np.array([0, plan.servers, len(parts.forward), processors], dtype=np.int64),
    )


def _forward(plan: StepPlan, parts: Parts, number: dict[int, int]) -> dict[str, Any]:
    """Dependencies of forward operations on each other and on pulls."""
    place = {op: i for i, op in enumerate(parts.forward)}
    before = predecessors(plan)
    needs = [[number[b] for b in before[op] if b in number] for op in parts.forward]
    held = [[place[d] for d in after(plan, op) if d in place] for op in number]
    following = [[place[d] for d in after(plan, op) if d in place] for op in parts.forward]
    chain = all(i - 1 in [place.get(b) for b in before[op]] for op, i in place.items() if i)
    return {
        "chain": np.array([int(chain)]),
        "need_start": _starts(needs),
        "need": _joined(needs),
        "first": _first(plan, place, chain=chain),
        "waits": np.array([len(before[op]) for op in parts.forward], dtype=np.int64),
        "held_start": _starts(held),
        "held": _joined(held),
        "next_start": _starts(following),
        "next_op": _joined(following),
    }


def _first(plan: StepPlan, place: dict[int, int], *, chain: bool) -> Ints:
    """Forward operations that wait for nothing, in the order of hand-over."""
    rows = {tuple(place[int(op)] for op in row if int(op) in place) for row in plan.sources}
    if len(rows) > 1 and not chain:
        raise NotOfThisShapeError("first computations have another order in each recorded step")
    return np.array(rows.pop(), dtype=np.int64)


def _updates(plan: StepPlan, parts: Parts, pushes: Sequence[int]) -> tuple[Ints, Floats, int]:
    """The processor of each push's update, its durations, and the number of processors."""
    places = sorted({int(plan.place[op]) for op in parts.updates.values()})
    update = np.full(len(pushes), NONE, dtype=np.int64)
    update_ns = np.zeros((plan.steps, len(pushes)))
    for i, push in enumerate(pushes):
        if push in parts.updates:
            op = parts.updates[push]
            update[i] = places.index(int(plan.place[op]))
            update_ns[:, i] = plan.duration_ns[:, op]
    return update, update_ns, len(places)


def _downs(
    plan: StepPlan, parts: Parts, sending: Sending
) -> tuple[list[list[int]], list[list[int]]]:
    """Pulls in order and bytes up to each, a row for every recorded step or one for all."""
    rows = np.unique(plan.sources, axis=0)
    steps = plan.sources if len(rows) > 1 else rows
    orders, totals = [], []
    for sources in steps:
        order: list[int] = []
        total: list[int] = []
        for server in parts.pulls:
            handed = [int(op) for op in sources if int(op) in server]
            if asks_discipline(sending):
                up_to_each = [int(size) for size in np.cumsum(plan.size_bytes[handed])]
            else:
                handed, up_to_each = _served(plan, handed, sending)
            order += handed
            total += up_to_each
        orders.append(order)
        totals.append(total)
    return orders, totals


def _cumulated(plan: StepPlan, pushes: Sequence[list[int]]) -> Ints:
    parts = [np.cumsum([0, *plan.size_bytes[server]]) for server in pushes]
    return np.concatenate(parts).astype(np.int64)


def _starts(lists: Sequence[Sequence[int]]) -> Ints:
    return np.cumsum([0, *map(len, lists)], dtype=np.int64)


def _joined(lists: Sequence[Sequence[int]]) -> Ints:
    return np.array([i for one in lists for i in one], dtype=np.int64)
