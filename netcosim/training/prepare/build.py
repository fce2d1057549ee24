"""Build the plan of a profile's step for so many servers."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from netcosim.step_graph import StepGraph
from netcosim.training.plan import SENDING, Channel, Floats, Ints, Processor, StepPlan
from netcosim.training.prepare.gating import expected, is_push, sender, with_gates
from netcosim.training.prepare.joining import updates_of, with_joins
from netcosim.training.prepare.machines import AS_RECORDED, Machines
from netcosim.training.prepare.operations import PlannedOperation, planned_operations
from netcosim.training.prepare.parsing import parsers
from netcosim.training.prepare.worker_step import mean_durations, worker_step
from netcosim.workload import Compute, Profile

Arrange = Callable[[Sequence[int], np.random.Generator, StepGraph | None], list[int]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Assignment:
    """Placement, order of release and priorities of tensors, as policies decide.

    Attributes
    ----------
    servers : number of servers
    server_of : by tensor
    arrange : (sizes of tensors, generator, the worker's step) -> their order of release
    each_step_anew : whether `arrange` draws, so that every recorded step gets its own order
    priority : by tensor; 0 for those not named
    step_rate_bps : rate at which the transfers of the step are timed that `arrange` is given; None:
        it looks at no step, and is given none
    """

    servers: int
    server_of: Mapping[str, int]
    arrange: Arrange
    each_step_anew: bool
    priority: Mapping[str, int]
    step_rate_bps: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Outline:
    """All that the plans of a profile have in common; runs differ in durations and drawn orders.

    Attributes
    ----------
    plan : a plan without recorded steps; its sources are one row, in the order of release if that
        is not drawn
    columns : (computations,) operation of each column of a profile's durations
    parsing : (operation, ns) that is added to an operation's durations, one after the other
    sizes : bytes of every tensor
    tensor_of : (operations,) tensor as an index in `sizes`; -1 for computations
    step : the worker's step, if the order looks at it
    assignment : what the outline was made for
    """

    plan: StepPlan
    columns: Ints
    parsing: Sequence[tuple[int, float]]
    sizes: Sequence[int]
    tensor_of: Ints
    step: StepGraph | None
    assignment: Assignment

    def drawn(self, durations_ns: Floats, rng: np.random.Generator) -> StepPlan:
        """The plan with these durations; for parameters see `make_plan`."""
        steps = len(durations_ns)
        total = np.zeros((steps, self.plan.operations))
        total[:, self.columns] = durations_ns
        for op, cost_ns in self.parsing:
            total[:, op] += cost_ns
        rows, behind = self.plan.sources, self.plan.released
        if self.assignment.each_step_anew:
            ranks = [_rank(self.assignment, self.sizes, rng, self.step) for _ in range(steps)]
            rows = self._released(rows[0], ranks)
            behind = None if behind is None else self._released(behind[0], ranks)
        else:
            rows = np.tile(rows, (steps, 1))
            behind = None if behind is None else np.tile(behind, (steps, 1))
        plan = replace(self.plan, duration_ns=total, sources=rows, released=behind)
        return replace(plan, gates=expected(plan))

    def _released(self, chosen: Ints, ranks: Sequence[Ints]) -> Ints:
        """(ranks, chosen) operations in their order of release by each rank."""
        return np.array([_released(chosen, self.tensor_of, rank) for rank in ranks])


def tensors_of(profile: Profile) -> dict[str, int]:
    """Every tensor's bytes, in the order in which tensors are first transferred.

    Where directions differ, the pull counts.
    """
    sizes: dict[str, dict[str, int]] = {}
    for op in profile.step.transfers:
        per = sizes.setdefault(op.tensor, {})
        per[op.source] = per.get(op.source, 0) + op.size_bytes
    return {name: per.get("server", per.get("worker", 0)) for name, per in sizes.items()}


def make_plan(
    profile: Profile,
    durations_ns: Floats,
    assignment: Assignment,
    rng: np.random.Generator,
    machines: Machines = AS_RECORDED,
) -> StepPlan:
    """Build the plan of a profile in which the linter finds no error.

    Parameters
    ----------
    durations_ns : (steps, computations) of the recorded steps; see `netcosim.workload.durations`
    assignment : placement and order of tensors
    rng : draws the orders, where they are drawn
    machines : what computes at workers and servers

    Raises
    ------
    ScenarioError
        Gradients are to be joined, and the profile's can't be.
    """
    return outline(profile, assignment, rng, machines, durations_ns).drawn(durations_ns, rng)


def outline(
    profile: Profile,
    assignment: Assignment,
    rng: np.random.Generator,
    machines: Machines = AS_RECORDED,
    durations_ns: Floats | None = None,
) -> Outline:
    """Build what all plans of a profile have in common.

    `rng` goes to orders that draw nothing. `durations_ns` (steps, computations) are needed where
    the order looks at a step: it has their means.
    """
    once = updates_of(profile) if machines.joined else frozenset[str]()
    recorded = planned_operations(profile, assignment.server_of, machines, once)
    parser_for = parsers(recorded, profile, machines)
    ops: list[PlannedOperation] = []
    place_of, parser_of, sender_of = [], {}, {}
    for i, op in enumerate(recorded):
        cost_ns = machines.send_ns + machines.send_ns_per_byte * op.size_bytes
        if machines.gated and cost_ns and is_push(op):
            sender_of[i] = len(ops)
            ops.append(sender(op, cost_ns))
        place_of.append(len(ops))
        ops.append(op)
        if i in parser_for:
            parser_of[i] = len(ops)
            ops.append(parser_for[i])
    ends = [parser_of.get(i, at) for i, at in enumerate(place_of)]
    sizes = tensors_of(profile)
    number = {name: t for t, name in enumerate(sizes)}
    transfers = np.array([_is_sent(op) for op in ops], dtype=bool)
    tensor_of = np.where(transfers, _ints([number.get(op.tensor or "", -1) for op in ops]), -1)
    columns = [
        place_of[i] for i, op in enumerate(profile.step.operations) if isinstance(op, Compute)
    ]
    source, target = _edges(ops, place_of, ends, sender_of)
    step = None
    if assignment.step_rate_bps is not None and durations_ns is not None:
        means_ns = np.zeros(len(ops))
        means_ns[columns] = mean_durations(durations_ns)
        step = worker_step(
            ops, source, target, tensor_of, means_ns, rate_bps=assignment.step_rate_bps
        )
    rank = None
    if not assignment.each_step_anew:
        rank = _rank(assignment, list(sizes.values()), rng, step)
    plan = _plan(ops, assignment, source, target, tensor_of, rank)
    if machines.joined:
        plan = with_joins(plan, ops)
        if rank is not None and plan.released is not None:
            plan = replace(plan, released=_released(plan.released[0], tensor_of, rank)[np.newaxis])
    if machines.gated:
        pushes = [
            (sender_of.get(i, place_of[i]), place_of[i], ends[i])
            for i, op in enumerate(recorded)
            if is_push(op)
        ]
        plan = with_gates(plan, pushes, tensor_of, np.arange(len(sizes)) if rank is None else rank)
    return Outline(
        plan=plan,
        columns=_ints(columns),
        parsing=[(i, cost_ns) for i, op in enumerate(ops) for cost_ns in op.parsing_ns],
        sizes=list(sizes.values()),
        tensor_of=tensor_of,
        step=step,
        assignment=assignment,
    )


def _is_sent(op: PlannedOperation) -> bool:
    """True for a message, and for its sender's work, which goes in the same order."""
    return isinstance(op.place, Channel) or op.place.node == SENDING


def _edges(
    ops: Sequence[PlannedOperation],
    place_of: Sequence[int],
    ends: Sequence[int],
    sender_of: Mapping[int, int],
) -> tuple[Ints, Ints]:
    """Dependencies as pairs of operations, by the second one.

    A parser waits for its message, all others that did wait for the parser; a message for its
    sender, which waits for all that the message did.
    """
    parsers = {end for end, at in zip(ends, place_of, strict=True) if end != at}
    before: list[list[int]] = []
    for i, op in enumerate(ops):
        if op.recorded is not None and op.recorded in sender_of:
            before.append([sender_of[op.recorded]])
        else:
            known = place_of if i in parsers else ends
            before.append([known[earlier] for earlier in op.waits_for])
    source = [earlier for each in before for earlier in each]
    target = np.repeat(np.arange(len(ops)), [len(each) for each in before])
    return _ints(source), target.astype(np.int64)


def _rank(
    assignment: Assignment,
    sizes: Sequence[int],
    rng: np.random.Generator,
    step: StepGraph | None,
) -> Ints:
    """(tensors,) rank in the order of release."""
    rank = np.zeros(len(sizes), dtype=np.int64)
    rank[assignment.arrange(list(sizes), rng, step)] = np.arange(len(sizes))
    return rank


def _plan(
    ops: Sequence[PlannedOperation],
    assignment: Assignment,
    source: Ints,
    target: Ints,
    tensor_of: Ints,
    rank: Ints | None,
) -> StepPlan:
    """The plan without recorded steps; a `rank` of None leaves the order as recorded."""
    channels, processors = _channels(ops), _processors(ops)
    place = {each: i for i, each in enumerate((*channels, *processors))}
    waits = np.bincount(target, minlength=len(ops)).astype(np.int64)
    free = np.flatnonzero(waits == 0).astype(np.int64)
    if rank is None:
        order = np.argsort(source, kind="stable")
    else:
        free = _released(free, tensor_of, rank)
        order = np.lexsort((_release_key(target, tensor_of, rank), source))
    behind = np.bincount(source, minlength=len(ops))
    return StepPlan(
        servers=assignment.servers,
        names=tuple(op.name for op in ops),
        channels=tuple(channels),
        processors=tuple(processors),
        place=_ints([place[op.place] for op in ops]),
        size_bytes=_ints([op.size_bytes for op in ops]),
        priority=_ints([assignment.priority.get(op.tensor or "", 0) for op in ops]),
        duration_ns=np.zeros((0, len(ops))),
        waits=waits,
        after=target[order],
        after_start=np.concatenate([[0], np.cumsum(behind)]).astype(np.int64),
        sources=free[np.newaxis],
        members=tuple(() if op.recorded is None else (op.recorded,) for op in ops),
    )


def _channels(ops: Sequence[PlannedOperation]) -> list[Channel]:
    """Channels in use, by direction, server and connection."""
    used = {op.place for op in ops if isinstance(op.place, Channel)}
    return sorted(used, key=lambda c: (c.direction, c.server, c.connection))


def _processors(ops: Sequence[PlannedOperation]) -> list[Processor]:
    """Processors in use: the worker's, then each server's, in order of first use."""
    used = dict.fromkeys(op.place for op in ops if isinstance(op.place, Processor))
    return sorted(used, key=lambda p: (p.node, p.server))


def _released(chosen: Ints, tensor_of: Ints, rank: Ints) -> Ints:
    """Operations in order of release: computations as recorded, then transfers by tensor."""
    return chosen[np.argsort(_release_key(chosen, tensor_of, rank), kind="stable")]


def _release_key(chosen: Ints, tensor_of: Ints, rank: Ints) -> Ints:
    tensor = tensor_of[chosen]
    key: Ints = np.where(tensor < 0, -1, np.append(rank, -1)[tensor])
    return key


def _ints(values: Sequence[int]) -> Ints:
    return np.array(values, dtype=np.int64)
