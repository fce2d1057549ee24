"""Naive twin of `netcosim.training.prepare.build`: operations are objects with own durations."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from netcosim.training.plan import (
    DOWN,
    NONE,
    SERVER,
    UP,
    WORKER,
    Channel,
    Floats,
    Ints,
    Processor,
    StepPlan,
)
from netcosim.training.prepare.build import Assignment, tensors_of
from netcosim.training.prepare.machines import AS_RECORDED, Machines
from netcosim.workload import Compute, Operation, Parsing, Profile, Resource, Transfer


@dataclass(slots=True)
class _Op:
    """Intermediate form of an operation, between profile and plan."""

    name: str
    place: Channel | Processor
    size_bytes: int
    tensor: str | None
    duration_ns: Floats
    after: list[str]
    recorded: tuple[int, ...]
    once: bool = False


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
    machines : cores, and whether gradients are joined; gates it does not know
    """
    ops = _operations(profile, durations_ns, assignment, machines)
    ops = _with_parsing(ops, profile, machines)
    ranks = _ranks(profile, assignment, len(durations_ns), rng)
    plan = _plan(ops, assignment, ranks)
    return _with_joins(plan, ops, ranks) if machines.joined else plan


def _operations(
    profile: Profile, durations_ns: Floats, assignment: Assignment, machines: Machines
) -> list[_Op]:
    """The recorded operations, each with its place."""
    resources = {r.name: r for r in profile.step.resources}
    servers = _servers(profile, assignment)
    nothing = np.zeros(len(durations_ns))
    pushes = {op.name for op in profile.step.transfers if op.source == "worker"}
    column = 0
    made = []
    for i, op in enumerate(profile.step.operations):
        duration = nothing
        once = machines.joined and isinstance(op, Compute) and bool(pushes & set(op.after))
        once = once and resources[op.resource].node == "server"
        if isinstance(op, Compute):
            duration = durations_ns[:, column]
            column += 1
        made.append(
            _Op(
                name=op.name,
                place=_place(op, resources, servers[op.name], machines, once),
                size_bytes=op.size_bytes if isinstance(op, Transfer) else 0,
                tensor=op.tensor,
                duration_ns=duration,
                after=list(dict.fromkeys(op.after)),
                recorded=(i,),
                once=once,
            )
        )
    return made


def _servers(profile: Profile, assignment: Assignment) -> dict[str, int]:
    """Server of every operation: its tensor's, else that of what it waits for, else 0."""
    found: dict[str, int] = {}
    waiting = list(profile.step.operations)
    for op in waiting:
        if op.tensor is not None:
            found[op.name] = assignment.server_of[op.tensor]
    for op in waiting:
        if op.name not in found:
            found[op.name] = next((found[a] for a in op.after if a in found), 0)
    return found


def _place(
    op: Operation, resources: Mapping[str, Resource], server: int, machines: Machines, once: bool
) -> Channel | Processor:
    if isinstance(op, Transfer):
        direction = DOWN if op.source == "server" else UP
        return Channel(server=server, direction=direction, connection=op.connection)
    return _processor(resources[op.resource], server, machines, once)


def _processor(
    resource: Resource, server: int, machines: Machines, once: bool = False
) -> Processor:
    """The resource at the worker, or at this server; with a number of cores these instead."""
    name, capacity = resource.name, resource.capacity
    if resource.node == "worker":
        if machines.worker_cores is not None:
            name, capacity = "cores", machines.worker_cores
        return Processor(node=WORKER, server=0, resource=name, capacity=capacity)
    shared = once
    if machines.server_cores is not None:
        name, capacity, shared = "cores", machines.server_cores, True
    return Processor(node=SERVER, server=server, resource=name, capacity=capacity, shared=shared)


def _with_parsing(ops: list[_Op], profile: Profile, machines: Machines) -> list[_Op]:
    """Add each message's parsing to the operation that depends on it, else as one of its own.

    Source: Li et al. (ICPE 2020), sections 3.2.1 and 3.4.
    """
    resources = {r.name: r for r in profile.step.resources}
    dependents: dict[str, list[_Op]] = {}
    for op in ops:
        for name in op.after:
            dependents.setdefault(name, []).append(op)
    made = []
    for op in ops:
        made.append(op)
        rule = _rule_for(op, profile.parsing)
        if rule is None:
            continue
        cost_ns = rule.alpha_ns_per_byte * op.size_bytes + rule.beta_ns
        place = _processor(resources[rule.resource], op.place.server, machines)
        waiting = dependents.get(op.name, [])
        reader = next((d for d in waiting if d.place == place and not d.once), None)
        if reader is not None:
            reader.duration_ns = reader.duration_ns + cost_ns
            continue
        parser = _parser(op, place, cost_ns)
        made.append(parser)
        for d in waiting:
            d.after = [parser.name if name == op.name else name for name in d.after]
    return made


def _rule_for(op: _Op, rules: Sequence[Parsing]) -> Parsing | None:
    if not isinstance(op.place, Channel):
        return None
    destination = "worker" if op.place.direction == DOWN else "server"
    return next((rule for rule in rules if rule.destination == destination), None)


def _parser(op: _Op, place: Processor, cost_ns: float) -> _Op:
    """An operation that only parses."""
    return _Op(
        name=f"{op.name}/parse",
        place=place,
        size_bytes=0,
        tensor=op.tensor,
        duration_ns=np.full(len(op.duration_ns), cost_ns),
        after=[op.name],
        recorded=(),
    )


def _ranks(
    profile: Profile, assignment: Assignment, steps: int, rng: np.random.Generator
) -> list[dict[str, int]]:
    """Rank of each tensor in the order of release, for every recorded step or once for all."""
    sizes = tensors_of(profile)
    names = list(sizes)
    draws = steps if assignment.each_step_anew else 1
    orders = [assignment.arrange(list(sizes.values()), rng, None) for _ in range(draws)]
    return [{names[t]: rank for rank, t in enumerate(order)} for order in orders]


def _plan(
    ops: Sequence[_Op], assignment: Assignment, ranks: Sequence[Mapping[str, int]]
) -> StepPlan:
    channels, processors = _channels(ops), _processors(ops)
    place = {each: i for i, each in enumerate((*channels, *processors))}
    followers = _followers(ops, None if assignment.each_step_anew else ranks[0])
    return StepPlan(
        servers=assignment.servers,
        names=tuple(op.name for op in ops),
        channels=tuple(channels),
        processors=tuple(processors),
        place=_ints(place[op.place] for op in ops),
        size_bytes=_ints(op.size_bytes for op in ops),
        priority=_ints(assignment.priority.get(op.tensor or "", 0) for op in ops),
        duration_ns=np.stack([op.duration_ns for op in ops], axis=1),
        waits=_ints(len(op.after) for op in ops),
        after=_ints(i for f in followers for i in f),
        after_start=np.cumsum([0, *(len(f) for f in followers)], dtype=np.int64),
        sources=_sources(ops, ranks),
        members=tuple(op.recorded for op in ops),
    )


def _with_joins(plan: StepPlan, ops: Sequence[_Op], ranks: Sequence[Mapping[str, int]]) -> StepPlan:
    """The plan with what is done once for all workers, and which pulls wait for that."""
    tensor = {op.name: op.tensor for op in ops}
    made: dict[str | None, int] = {}
    for i, op in enumerate(ops):
        if op.once:
            made.update(dict.fromkeys([tensor[name] for name in op.after], i))
    pulled_after = [
        made.get(op.tensor, NONE)
        if isinstance(op.place, Channel) and op.place.direction == DOWN and not op.after
        else NONE
        for op in ops
    ]
    updates = {op.name for op in ops if op.once}
    behind = [i for i, op in enumerate(ops) if updates & set(op.after)]
    rows = [_released(ops, behind, rank) for rank in ranks]
    steps = plan.steps
    return replace(
        plan,
        once=_ints(int(op.once) for op in ops),
        pulled_after=_ints(pulled_after),
        released=np.array(rows * (1 if len(rows) == steps else steps), dtype=np.int64),
    )


def _followers(ops: Sequence[_Op], rank: Mapping[str, int] | None) -> list[list[int]]:
    """Operations that wait for each one, in the order in which it releases them.

    `rank` None: every step has an order of its own, and they stay as recorded.
    """
    index = {op.name: i for i, op in enumerate(ops)}
    followers: list[list[int]] = [[] for _ in ops]
    for i, op in enumerate(ops):
        for name in op.after:
            followers[index[name]].append(i)
    return followers if rank is None else [_released(ops, f, rank) for f in followers]


def _sources(ops: Sequence[_Op], ranks: Sequence[Mapping[str, int]]) -> Ints:
    """Operations that wait for nothing, in order of release: a row for each recorded step."""
    free = [i for i, op in enumerate(ops) if not op.after]
    orders = [_released(ops, free, rank) for rank in ranks]
    steps = len(ops[0].duration_ns)
    return np.array(orders * (1 if len(orders) == steps else steps), dtype=np.int64)


def _channels(ops: Sequence[_Op]) -> list[Channel]:
    """Channels in use, by direction, server and connection."""
    used = {op.place for op in ops if isinstance(op.place, Channel)}
    return sorted(used, key=lambda c: (c.direction, c.server, c.connection))


def _processors(ops: Sequence[_Op]) -> list[Processor]:
    """Processors in use: the worker's, then each server's, in order of first use."""
    used = dict.fromkeys(op.place for op in ops if isinstance(op.place, Processor))
    return sorted(used, key=lambda p: (p.node, p.server))


def _released(ops: Sequence[_Op], chosen: Sequence[int], rank: Mapping[str, int]) -> list[int]:
    """Operations in order of release: computations as recorded, then transfers by tensor."""
    transfers = [i for i in chosen if isinstance(ops[i].place, Channel)]
    others = [i for i in chosen if not isinstance(ops[i].place, Channel)]
    return others + sorted(transfers, key=lambda i: rank[ops[i].tensor or ""])


def _ints(values: Iterable[int]) -> Ints:
    return np.array(list(values), dtype=np.int64)
