"""Whether a plan has the fast path's shape, and the plan sorted for it.

The shape: all that waits for nothing are pulls (and the first computation); the worker's
computations form one chain on one processor; every pull holds up one of them; pushes follow
computations from the last one on that a pull holds up; behind a push there is at most an update, on
a processor of capacity 1, and behind that nothing.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from h2model.machine import Machine
from sim.engine.build import UNBOUNDED
from sim.engine.layout import NONE
from sim.fast import layout
from sim.fast.layout import Shape
from sim.plan import DOWN, WORKER, Floats, Ints, Network, Sending, StepPlan
from sim.prepare.collapse import order_of


class NotOfThisShapeError(Exception):
    """Why a job needs the generic engine."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Parts:
    """The operations of a plan by their part; all are numbers of operations."""

    pulls: list[list[int]]
    pushes: list[list[int]]
    chain: list[int]
    updates: list[int]


def fast_shape(plan: StepPlan, network: Network, sending: Sending) -> Shape:
    """The plan as the fast path needs it.

    Raises
    ------
    NotOfThisShapeError
        The job has another shape; the message says in what.
    """
    _check_settings(network, sending)
    parts = _parts(plan)
    before = _predecessors(plan)
    forward = _check_chain(plan, parts, before)
    released = _releases(plan, parts, before, forward)
    order, total = _downs(plan, parts, sending)
    pulls = [op for server in parts.pulls for op in server]
    number = {op: i for i, op in enumerate(pulls)}
    need = [[number[b] for b in before[op] if b in number] for op in parts.chain[:forward]]
    pushes = [sorted(server, key=released.__getitem__) for server in parts.pushes]
    flat = [op for server in pushes for op in server]
    chain_ns = plan.duration_ns[:, parts.chain]
    behind = np.cumsum(chain_ns[:, forward:], axis=1)
    behind = np.concatenate([np.zeros((plan.steps, 1)), behind], axis=1)
    update_of, update_ns, processors = _updates(plan, parts, flat)
    return Shape(
        down_start=_starts(parts.pulls),
        down=np.array([[number[op] for op in row] for row in order], dtype=np.int64),
        down_cum=np.array(total, dtype=np.int64),
        need_start=np.cumsum([0, *map(len, need)], dtype=np.int64),
        need=np.array([d for needed in need for d in needed], dtype=np.int64),
        forward_ns=np.ascontiguousarray(chain_ns[:, :forward]),
        forward_sum=chain_ns[:, :forward].sum(axis=1),
        backward_sum=behind[:, -1].copy(),
        up_start=_starts(pushes),
        up_size=plan.size_bytes[flat],
        up_cum=_cumulated(plan, pushes),
        offset_ns=np.ascontiguousarray(behind[:, [released[op][0] for op in flat]]),
        update=update_of,
        update_ns=update_ns,
        replay=_replays(plan, pushes, update_of, sending),
        largest=np.array([_first_visit(sending)], dtype=np.int64),
        sizes=np.array([0, plan.servers, forward, processors], dtype=np.int64),
    )


def _check_settings(network: Network, sending: Sending) -> None:
    write = sending.discipline == "two_visit" and sending.options[1] > 0
    for wrong, what in (
        (network.share != "equal", f"share is {network.share}"),
        (network.both_busy != 1.0, "a port's rate depends on its other direction"),
        (bool(network.delay_ns.any()), "there are delays"),
        (sending.discipline not in ("fifo", "two_visit"), f"discipline is {sending.discipline}"),
        (write, "two_visit gathers writes"),
        (sending.connection_window_bytes is not None, "there is a connection window"),
        (sending.chunk_bytes < 2**31 - 1, "chunks are bounded"),
    ):
        if wrong:
            raise NotOfThisShapeError(what)


def _parts(plan: StepPlan) -> _Parts:
    parts = _Parts(
        pulls=[[] for _ in range(plan.servers)],
        pushes=[[] for _ in range(plan.servers)],
        chain=[],
        updates=[],
    )
    links = [(c.server, c.direction) for c in plan.channels]
    if len(set(links)) < len(links):
        raise NotOfThisShapeError("a server has several connections in one direction")
    workers = set()
    for op in order_of(plan):
        place = int(plan.place[op])
        if place < len(links):
            server, direction = links[place]
            (parts.pulls if direction == DOWN else parts.pushes)[server].append(op)
            continue
        processor = plan.processors[place - len(links)]
        if processor.node == WORKER:
            parts.chain.append(op)
            workers.add(place)
        elif processor.capacity > 1:
            raise NotOfThisShapeError(f"{processor.resource} has several places")
        else:
            parts.updates.append(op)
    if len(workers) != 1 or not any(parts.pulls):
        raise NotOfThisShapeError("nothing is pulled, or computed, or that on several processors")
    return parts


def _check_chain(plan: StepPlan, parts: _Parts, before: Sequence[list[int]]) -> int:
    """Whether computations and pulls are as they must be; how many computations are forward."""
    place = {op: i for i, op in enumerate(parts.chain)}
    pulls = {op for server in parts.pulls for op in server}
    held_up: set[int] = set()
    forward = 0
    for i, op in enumerate(parts.chain):
        waits_for = set(before[op])
        earlier = {b for b in waits_for if b in place}
        if i > 0 and parts.chain[i - 1] not in earlier:
            raise NotOfThisShapeError(f"{plan.names[op]} is not in one chain with the others")
        if waits_for - earlier - pulls:
            raise NotOfThisShapeError(f"{plan.names[op]} waits for a push or an update")
        if waits_for & pulls:
            forward = i + 1
            held_up |= waits_for & pulls
    for op in pulls:
        if before[op]:
            raise NotOfThisShapeError(f"{plan.names[op]}, a pull, waits for something")
        if op not in held_up:
            raise NotOfThisShapeError(f"{plan.names[op]}, a pull, holds no computation up")
    return forward


def _releases(
    plan: StepPlan, parts: _Parts, before: Sequence[list[int]], forward: int
) -> dict[int, tuple[int, int]]:
    """By push: the backward operations before its hand-over, and its turn among those then."""
    place = {op: i for i, op in enumerate(parts.chain)}
    found = {}
    for op in (op for server in parts.pushes for op in server):
        last = max((place.get(b, -1) for b in before[op]), default=-1)
        if last < forward - 1 or not all(b in place for b in before[op]):
            raise NotOfThisShapeError(
                f"{plan.names[op]}, a push, does not follow computations only"
            )
        released = list(_after(plan, parts.chain[last]))
        found[op] = (last - forward + 1, released.index(op))
    return found


def _updates(plan: StepPlan, parts: _Parts, pushes: Sequence[int]) -> tuple[Ints, Floats, int]:
    """The processor of each push's update, its durations, and the number of processors."""
    places = sorted({int(plan.place[op]) for op in parts.updates})
    update = np.full(len(pushes), NONE, dtype=np.int64)
    update_ns = np.zeros((plan.steps, len(pushes)))
    for i, push in enumerate(pushes):
        dependents = _after(plan, push)
        if len(dependents) > 1 or any(int(op) not in parts.updates for op in dependents):
            raise NotOfThisShapeError(
                f"{plan.names[push]}, a push, has more behind it than an update"
            )
        for op in dependents:
            if plan.waits[op] != 1 or len(_after(plan, int(op))):
                raise NotOfThisShapeError(f"{plan.names[op]} is not an update of one push")
            update[i] = places.index(int(plan.place[op]))
            update_ns[:, i] = plan.duration_ns[:, op]
    if np.count_nonzero(update != NONE) != len(parts.updates):
        raise NotOfThisShapeError("an update follows no push")
    return update, update_ns, len(places)


def _downs(
    plan: StepPlan, parts: _Parts, sending: Sending
) -> tuple[list[list[int]], list[list[int]]]:
    """For every recorded step, or for all: pulls by the order of their ends, and bytes by then."""
    rows = np.unique(plan.sources, axis=0)
    steps = plan.sources if len(rows) > 1 else rows
    orders, totals = [], []
    for sources in steps:
        order: list[int] = []
        total: list[int] = []
        for server in parts.pulls:
            pulls = [int(op) for op in sources if int(op) in server]
            ended, bytes_by_then = _served(plan, pulls, sending)
            order += ended
            total += bytes_by_then
        orders.append(order)
        totals.append(total)
    return orders, totals


def _served(plan: StepPlan, pulls: list[int], sending: Sending) -> tuple[list[int], list[int]]:
    """What the discipline does with pulls that are there from the start."""
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
    """Bytes of a first visit; more than any push has where there is only one."""
    two = sending.discipline == "two_visit" and sending.window_bytes is not None
    return sending.window_bytes if two and sending.window_bytes else layout.SECOND


def _replays(plan: StepPlan, pushes: Sequence[list[int]], update: Ints, sending: Sending) -> Ints:
    start = _starts(pushes)
    kinds = []
    for k, server in enumerate(pushes):
        watched = bool((update[start[k] : start[k + 1]] != NONE).any())
        large = any(plan.size_bytes[op] > _first_visit(sending) for op in server)
        kind = layout.BY_VISITS if large else layout.IN_ORDER
        kinds.append(kind if watched else layout.UNWATCHED)
    return np.array(kinds, dtype=np.int64)


def _cumulated(plan: StepPlan, pushes: Sequence[list[int]]) -> Ints:
    parts = [np.cumsum([0, *plan.size_bytes[server]]) for server in pushes]
    return np.concatenate(parts).astype(np.int64)


def _starts(lists: Sequence[list[int]]) -> Ints:
    return np.cumsum([0, *map(len, lists)], dtype=np.int64)


def _predecessors(plan: StepPlan) -> list[list[int]]:
    before: list[list[int]] = [[] for _ in range(plan.operations)]
    for op in range(plan.operations):
        for dependent in _after(plan, op):
            before[int(dependent)].append(op)
    return before


def _after(plan: StepPlan, op: int) -> Ints:
    return plan.after[plan.after_start[op] : plan.after_start[op + 1]]
