"""Check that the fast path can do a job, and arrange the job's plan for it."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from h2model import disciplines
from h2model.machine import Machine
from netcosim.training.plan import Floats, Ints, StepPlan
from sim.engine.net_arrays import UNBOUNDED
from sim.fast import arrays
from sim.fast.arrays import Shape
from sim.fast.step_roles import NotOfThisShapeError, Parts, parts_of
from sim.kernels.arrays import NONE
from sim.plan import Network, Sending
from sim.shares import load_share


@dataclass(frozen=True, slots=True, kw_only=True)
class Arrangement:
    """Whatever of a shape is the same for all plans that differ in durations and sources only.

    Attributes
    ----------
    parts : operations of the plan by their role
    sending : what it was arranged for
    fixed : fields of the shape
    """

    parts: Parts
    sending: Sending
    fixed: dict[str, Any]


def fast_shape(plan: StepPlan, network: Network, sending: Sending) -> Shape:
    """Arrange a plan as the fast path needs it; `sim.fast.build.with_workers` completes it.

    Raises
    ------
    NotOfThisShapeError
        The job has another shape; the message says in what.
    """
    check_settings(network, sending)
    arrangement = arrange(plan, parts_of(plan), sending)
    times = timed(lambda ops: plan.duration_ns[:, ops], arrangement.parts)
    fields = released_order(plan, arrangement) | times
    return Shape(**arrangement.fixed, **fields)


def arrange(plan: StepPlan, parts: Parts, sending: Sending) -> Arrangement:
    """Arrange all of a plan that has nothing to do with durations or the order of its sources."""
    pulls, pushes = _joined_lists(parts.pulls), _joined_lists(parts.pushes)
    number = {op: i for i, op in enumerate(pulls)}
    update_of, processors = _updates(plan, parts, pushes)
    return Arrangement(
        parts=parts,
        sending=sending,
        fixed={
            "down_start": _starts(parts.pulls),
            "down_size": plan.size_bytes[pulls],
            "down_priority": plan.priority[pulls],
            **_forward(parts, number),
            "up_start": _starts(parts.pushes),
            "up_size": plan.size_bytes[pushes],
            "up_priority": plan.priority[pushes],
            "up_cum": _cumulated(plan, parts.pushes),
            "up_released": _ints([parts.released[op] for op in pushes]),
            "update": update_of,
            **_joint(plan, parts),
            "replay": _replays(plan, parts, update_of, sending),
            "largest": _ints([_first_visit(sending)]),
            "first_leaf": np.zeros(5, dtype=np.int64),
            "sizes": _ints([0, plan.servers, len(parts.forward), processors]),
        },
    )


def released_order(plan: StepPlan, arrangement: Arrangement) -> dict[str, Any]:
    """Fields of the shape that depend on the order of a plan's sources.

    Raises
    ------
    NotOfThisShapeError
        The order differs among recorded steps where it may not.
    """
    parts = arrangement.parts
    alike = bool((plan.sources == plan.sources[0]).all())
    rows = plan.sources[:1] if alike else plan.sources
    order, total = _downs(plan, parts, arrangement.sending, rows)
    number = np.zeros(plan.operations, dtype=np.int64)
    pulls = _joined_lists(parts.pulls)
    number[pulls] = np.arange(len(pulls))
    return {
        "down": number[np.array(order, dtype=np.int64)],
        "down_cum": np.array(total, dtype=np.int64),
        "first": _first(plan, parts, rows, chain=bool(arrangement.fixed["chain"][0])),
    }


def timed(durations: Callable[[Ints], Floats], parts: Parts) -> dict[str, Any]:
    """Fields of the shape that depend on a plan's durations.

    `durations` gives those of some operations: (recorded steps, these operations).
    """
    forward_ns = durations(_ints(parts.forward))
    backward = np.cumsum(durations(_ints(parts.backward)), axis=1)
    backward = np.concatenate([np.zeros((len(backward), 1)), backward], axis=1)
    pushes = _joined_lists(parts.pushes)
    updated = [i for i, op in enumerate(pushes) if op in parts.updates]
    update_ns = np.zeros((len(backward), len(pushes)))
    update_ns[:, _ints(updated)] = durations(_ints([parts.updates[pushes[i]] for i in updated]))
    return {
        "forward_ns": np.ascontiguousarray(forward_ns),
        "forward_sum": forward_ns.sum(axis=1),
        "backward_sum": backward[:, -1].copy(),
        "offset_ns": np.take(backward, _ints([parts.released[op] for op in pushes]), axis=1),
        "update_ns": update_ns,
        "joint_ns": np.ascontiguousarray(durations(_ints(parts.joint)), dtype=np.float64),
    }


def check_settings(network: Network, sending: Sending) -> None:
    """Refuse links and disciplines that the fast path can't do.

    Raises
    ------
    NotOfThisShapeError
        The message says what it can't do.
    """
    for wrong, what in (
        (not load_share(network.share).CLOCKED, f"share is {network.share}"),
        (network.both_busy != 1.0, "a port's rate depends on its other direction"),
        (bool(network.delay_ns.any()), "there are delays"),
        (sending.buffer_bytes > 0, "connections have buffers"),
        (
            not disciplines.traits(sending.discipline).work_conserving,
            f"{sending.discipline} is not work-conserving",
        ),
    ):
        if wrong:
            raise NotOfThisShapeError(what)


def asks_discipline(sending: Sending) -> bool:
    """True if the discipline itself is asked for every chunk, as no shorter way is known."""
    bounded = sending.connection_window_bytes is not None or sending.chunk_bytes < 2**31 - 1
    return bounded or _visits(sending) not in (1, 2)


def _visits(sending: Sending) -> int:
    return disciplines.visits(sending.discipline, sending.options)


def _forward(parts: Parts, number: dict[int, int]) -> dict[str, Any]:
    """Dependencies of forward operations on each other and on pulls."""
    place = {op: i for i, op in enumerate(parts.forward)}
    before, behind = parts.graph.predecessors, parts.graph.successors
    needs = [[number[b] for b in before[op] if b in number] for op in parts.forward]
    held = [[place[d] for d in behind[op] if d in place] for op in number]
    following = [[place[d] for d in behind[op] if d in place] for op in parts.forward]
    chain = all(b in before[op] for b, op in pairwise(parts.forward))
    return {
        "chain": _ints([int(chain)]),
        "need_start": _starts(needs),
        "need": _joined(needs),
        "waits": _ints([len(before[op]) for op in parts.forward]),
        "held_start": _starts(held),
        "held": _joined(held),
        "next_start": _starts(following),
        "next_op": _joined(following),
    }


def _first(plan: StepPlan, parts: Parts, rows: Ints, *, chain: bool) -> Ints:
    """Forward operations that wait for nothing, in the order of hand-over; rows are of sources."""
    place = np.full(plan.operations, NONE, dtype=np.int64)
    place[parts.forward] = np.arange(len(parts.forward))
    found = [place[row[place[row] != NONE]] for row in rows]
    if not chain and any((row != found[0]).any() for row in found):
        raise NotOfThisShapeError("first computations have another order in each recorded step")
    return found[0]


def _updates(plan: StepPlan, parts: Parts, pushes: Sequence[int]) -> tuple[Ints, int]:
    """The processor of each push's update, and the number of processors."""
    places = sorted({int(plan.place[op]) for op in parts.updates.values()})
    number = {place: i for i, place in enumerate(places)}
    update = np.full(len(pushes), NONE, dtype=np.int64)
    for i, push in enumerate(pushes):
        if push in parts.updates:
            update[i] = number[int(plan.place[parts.updates[push]])]
    return update, len(places)


def _joint(plan: StepPlan, parts: Parts) -> dict[str, Any]:
    """Processor of each update that is done once for all, and where each one's places begin."""
    places = sorted({int(plan.place[op]) for op in parts.joint})
    number = {place: i for i, place in enumerate(places)}
    capacity = [plan.processors[place - len(plan.channels)].capacity for place in places]
    return {
        "joint": _ints([number[int(plan.place[op])] for op in parts.joint]),
        "joint_first": np.cumsum([0, *capacity], dtype=np.int64),
    }


def _downs(
    plan: StepPlan, parts: Parts, sending: Sending, rows: Ints
) -> tuple[list[list[int]], list[list[int]]]:
    """Pulls in order and bytes up to each, for each row of sources."""
    server_of = np.full(plan.operations, NONE, dtype=np.int64)
    for k, server in enumerate(parts.pulls):
        server_of[server] = k
    orders, totals = [], []
    for sources in rows:
        order: list[int] = []
        total: list[int] = []
        for k in range(plan.servers):
            handed = sources[server_of[sources] == k].tolist()
            if asks_discipline(sending):
                up_to_each = np.cumsum(plan.size_bytes[handed]).tolist()
            else:
                handed, up_to_each = _served(plan, handed, sending)
            order += handed
            total += up_to_each
        orders.append(order)
        totals.append(total)
    return orders, totals


def _served(plan: StepPlan, pulls: list[int], sending: Sending) -> tuple[list[int], list[int]]:
    """Order in which pulls end that are all there from the start, and bytes up to each end."""
    window = UNBOUNDED if sending.window_bytes is None else sending.window_bytes
    machine = Machine(
        sending.discipline,
        initial_window=window,
        connection_window=UNBOUNDED,
        capacity=len(pulls) + 1,
    )
    stream_of = {2 * i + 1: op for i, op in enumerate(pulls)}
    for stream, op in stream_of.items():
        machine.enqueue(stream, int(plan.size_bytes[op]), 0)
    ended, total, sent = [], [], 0
    while not machine.idle:
        stream, size = machine.next(sending.chunk_bytes, 0)
        machine.sent(stream, size, 0)
        machine.credit(stream, size, 0)
        machine.credit(0, size, 0)
        sent += size
        if machine.done(stream):
            ended.append(stream_of[stream])
            total.append(sent)
    return ended, total


def _first_visit(sending: Sending) -> int:
    """Bytes of a first visit; more than any push has where there are no second ones."""
    two = _visits(sending) == 2
    return sending.window_bytes if two and sending.window_bytes else arrays.WHOLE


def _replays(plan: StepPlan, parts: Parts, update: Ints, sending: Sending) -> Ints:
    """Kind of replay of each server's pushes; see `sim.fast.arrays`."""
    if asks_discipline(sending):
        return np.full(plan.servers, arrays.BY_DISCIPLINE, dtype=np.int64)
    start = _starts(parts.pushes)
    kinds = []
    for k, server in enumerate(parts.pushes):
        watched = bool((update[start[k] : start[k + 1]] != NONE).any())
        large = any(plan.size_bytes[op] > _first_visit(sending) for op in server)
        kind = arrays.BY_VISITS if large else arrays.IN_ORDER
        kinds.append(kind if watched else arrays.UNWATCHED)
    return np.array(kinds, dtype=np.int64)


def _cumulated(plan: StepPlan, pushes: Sequence[list[int]]) -> Ints:
    parts = [np.cumsum([0, *plan.size_bytes[server]]) for server in pushes]
    return np.concatenate(parts).astype(np.int64)


def _starts(lists: Sequence[Sequence[int]]) -> Ints:
    return np.cumsum([0, *map(len, lists)], dtype=np.int64)


def _joined_lists(lists: Sequence[Sequence[int]]) -> list[int]:
    return [i for one in lists for i in one]


def _joined(lists: Sequence[Sequence[int]]) -> Ints:
    return _ints(_joined_lists(lists))


def _ints(values: Sequence[int]) -> Ints:
    return np.array(values, dtype=np.int64)
