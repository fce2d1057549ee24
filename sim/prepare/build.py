"""Build the plan of a profile's step for so many servers."""

import functools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from netcosim.workload import Compute, Operation, Parsing, Profile, Resource, Transfer
from sim.plan import DOWN, SERVER, UP, WORKER, Channel, Floats, Ints, Processor, StepPlan

Arrange = Callable[[Sequence[int], np.random.Generator], list[int]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Assignment:
    """Placement, order of release and priorities of tensors, as policies decide.

    Attributes
    ----------
    servers : number of servers
    server_of : by tensor
    arrange : (sizes of tensors, generator) -> their order of release
    each_step_anew : whether `arrange` draws, so that every recorded step gets its own order
    priority : by tensor; 0 for those not named
    """

    servers: int
    server_of: Mapping[str, int]
    arrange: Arrange
    each_step_anew: bool
    priority: Mapping[str, int]


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
    assignment : what the outline was made for
    """

    plan: StepPlan
    columns: Ints
    parsing: Sequence[tuple[int, float]]
    sizes: Sequence[int]
    tensor_of: Ints
    assignment: Assignment

    def drawn(self, durations_ns: Floats, rng: np.random.Generator) -> StepPlan:
        """The plan with these durations; for parameters see `make_plan`."""
        steps = len(durations_ns)
        total = np.zeros((steps, self.plan.operations))
        total[:, self.columns] = durations_ns
        for op, cost_ns in self.parsing:
            total[:, op] += cost_ns
        rows = self.plan.sources
        if self.assignment.each_step_anew:
            rows = np.array([self._released(self._rank(rng)) for _ in range(steps)])
        else:
            rows = np.tile(rows, (steps, 1))
        return replace(self.plan, duration_ns=total, sources=rows)

    def _rank(self, rng: np.random.Generator) -> Ints:
        return _rank(self.assignment, self.sizes, rng)

    def _released(self, rank: Ints) -> Ints:
        """Sources in their order of release."""
        return _released(self.plan.sources[0], self.tensor_of, rank)


@dataclass(slots=True, kw_only=True)
class _Op:
    """Intermediate form of an operation, between profile and plan.

    `waits_for` and `recorded` are indices of recorded operations; a parser has none of its own.
    """

    name: str
    place: Channel | Processor
    size_bytes: int
    tensor: str | None
    waits_for: Sequence[int]
    recorded: int | None
    parsing_ns: list[float]


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
) -> StepPlan:
    """Build the plan of a profile in which the linter finds no error.

    Parameters
    ----------
    durations_ns : (steps, computations) of the recorded steps; see `netcosim.workload.durations`
    assignment : placement and order of tensors
    rng : draws the orders, where they are drawn
    """
    return outline(profile, assignment, rng).drawn(durations_ns, rng)


def outline(profile: Profile, assignment: Assignment, rng: np.random.Generator) -> Outline:
    """Build what all plans of a profile have in common; `rng` goes to orders that draw nothing."""
    recorded = _operations(profile, assignment)
    parsers = _parsers(recorded, profile)
    ops: list[_Op] = []
    place_of, parser_of = [], {}
    for i, op in enumerate(recorded):
        place_of.append(len(ops))
        ops.append(op)
        if i in parsers:
            parser_of[i] = len(ops)
            ops.append(parsers[i])
    ends = [parser_of.get(i, at) for i, at in enumerate(place_of)]
    sizes = tensors_of(profile)
    number = {name: t for t, name in enumerate(sizes)}
    transfers = np.array([isinstance(op.place, Channel) for op in ops], dtype=bool)
    tensor_of = np.where(transfers, _ints([number.get(op.tensor or "", -1) for op in ops]), -1)
    rank = None
    if not assignment.each_step_anew:
        rank = _rank(assignment, list(sizes.values()), rng)
    source, target = _edges(ops, place_of, ends)
    return Outline(
        plan=_plan(ops, assignment, source, target, tensor_of, rank),
        columns=_ints(
            [place_of[i] for i, op in enumerate(profile.step.operations) if isinstance(op, Compute)]
        ),
        parsing=[(i, cost_ns) for i, op in enumerate(ops) for cost_ns in op.parsing_ns],
        sizes=list(sizes.values()),
        tensor_of=tensor_of,
        assignment=assignment,
    )


def _operations(profile: Profile, assignment: Assignment) -> list[_Op]:
    """The recorded operations, each with its place."""
    resources = {r.name: r for r in profile.step.resources}
    place_of = functools.cache(functools.partial(_place, resources))
    operations = profile.step.operations
    servers = _servers(operations, assignment)
    index = {op.name: i for i, op in enumerate(operations)}
    return [
        _Op(
            name=op.name,
            place=(
                place_of(op.source, op.connection, servers[op.name])
                if isinstance(op, Transfer)
                else place_of(None, op.resource, servers[op.name])
            ),
            size_bytes=op.size_bytes if isinstance(op, Transfer) else 0,
            tensor=op.tensor,
            waits_for=[index[name] for name in dict.fromkeys(op.after)],
            recorded=i,
            parsing_ns=[],
        )
        for i, op in enumerate(operations)
    ]


def _servers(operations: Sequence[Operation], assignment: Assignment) -> dict[str, int]:
    """Server of every operation: its tensor's, else that of what it waits for, else 0."""
    found: dict[str, int] = {}
    for op in operations:
        if op.tensor is not None:
            found[op.name] = assignment.server_of[op.tensor]
    for op in operations:
        if op.name not in found:
            found[op.name] = next((found[a] for a in op.after if a in found), 0)
    return found


def _place(
    resources: Mapping[str, Resource], source: str | None, name: str, server: int
) -> Channel | Processor:
    """A connection of this name from a source, or without one a resource."""
    if source is None:
        return _processor(resources[name], server)
    direction = DOWN if source == "server" else UP
    return Channel(server=server, direction=direction, connection=name)


def _processor(resource: Resource, server: int) -> Processor:
    """The resource at the worker, or at this server."""
    at_worker = resource.node == "worker"
    return Processor(
        node=WORKER if at_worker else SERVER,
        server=0 if at_worker else server,
        resource=resource.name,
        capacity=resource.capacity,
    )


def _parsers(ops: Sequence[_Op], profile: Profile) -> dict[int, _Op]:
    """Add each message's parsing to the operation that depends on it; else it gets a parser.

    Source: Li et al. (ICPE 2020), sections 3.2.1 and 3.4.
    """
    if not profile.parsing:
        return {}
    resources = {r.name: r for r in profile.step.resources}
    dependents: list[list[_Op]] = [[] for _ in ops]
    for op in ops:
        for i in op.waits_for:
            dependents[i].append(op)
    made = {}
    for i, op in enumerate(ops):
        rule = _rule_for(op, profile.parsing)
        if rule is None:
            continue
        cost_ns = rule.alpha_ns_per_byte * op.size_bytes + rule.beta_ns
        place = _processor(resources[rule.resource], op.place.server)
        reader = next((d for d in dependents[i] if d.place == place), None)
        if reader is None:
            made[i] = _parser(op, i, place, cost_ns)
        else:
            reader.parsing_ns.append(cost_ns)
    return made


def _rule_for(op: _Op, rules: Sequence[Parsing]) -> Parsing | None:
    if not isinstance(op.place, Channel):
        return None
    destination = "worker" if op.place.direction == DOWN else "server"
    return next((rule for rule in rules if rule.destination == destination), None)


def _parser(op: _Op, message: int, place: Processor, cost_ns: float) -> _Op:
    """An operation that only parses."""
    return _Op(
        name=f"{op.name}/parse",
        place=place,
        size_bytes=0,
        tensor=op.tensor,
        waits_for=[message],
        recorded=None,
        parsing_ns=[cost_ns],
    )


def _edges(ops: Sequence[_Op], place_of: Sequence[int], ends: Sequence[int]) -> tuple[Ints, Ints]:
    """Dependencies as pairs of operations, by the second one.

    A parser waits for its message, all others that did wait for the parser.
    """
    source = [
        (place_of if op.recorded is None else ends)[before] for op in ops for before in op.waits_for
    ]
    target = np.repeat(np.arange(len(ops)), [len(op.waits_for) for op in ops])
    return _ints(source), target.astype(np.int64)


def _rank(assignment: Assignment, sizes: Sequence[int], rng: np.random.Generator) -> Ints:
    """(tensors,) rank in the order of release."""
    rank = np.zeros(len(sizes), dtype=np.int64)
    rank[assignment.arrange(list(sizes), rng)] = np.arange(len(sizes))
    return rank


def _plan(
    ops: Sequence[_Op],
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


def _channels(ops: Sequence[_Op]) -> list[Channel]:
    """Channels in use, by direction, server and connection."""
    used = {op.place for op in ops if isinstance(op.place, Channel)}
    return sorted(used, key=lambda c: (c.direction, c.server, c.connection))


def _processors(ops: Sequence[_Op]) -> list[Processor]:
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
