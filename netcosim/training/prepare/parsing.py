"""Parsing of messages at their receiver, in the operation that reads one or as one of its own."""

from collections.abc import Sequence

from netcosim.training.plan import DOWN, Channel, Processor
from netcosim.training.prepare.machines import Machines
from netcosim.training.prepare.operations import PlannedOperation
from netcosim.workload import Parsing, Profile


def parsers(
    ops: Sequence[PlannedOperation], profile: Profile, machines: Machines
) -> dict[int, PlannedOperation]:
    """Add each message's parsing to the operation that depends on it; else it gets a parser.

    What is done once for all workers reads no message of one.

    Source: Li et al. (ICPE 2020), sections 3.2.1 and 3.4.
    """
    if not profile.parsing:
        return {}
    resources = {r.name: r for r in profile.step.resources}
    dependents: list[list[PlannedOperation]] = [[] for _ in ops]
    for op in ops:
        for i in op.waits_for:
            dependents[i].append(op)
    made = {}
    for i, op in enumerate(ops):
        rule = _rule_for(op, profile.parsing)
        if rule is None:
            continue
        cost_ns = rule.alpha_ns_per_byte * op.size_bytes + rule.beta_ns
        place = machines.processor(resources[rule.resource], op.place.server)
        reader = next((d for d in dependents[i] if d.place == place and not d.once), None)
        if reader is None:
            made[i] = _parser(op, i, place, cost_ns)
        else:
            reader.parsing_ns.append(cost_ns)
    return made


def _rule_for(op: PlannedOperation, rules: Sequence[Parsing]) -> Parsing | None:
    if not isinstance(op.place, Channel):
        return None
    destination = "worker" if op.place.direction == DOWN else "server"
    return next((rule for rule in rules if rule.destination == destination), None)


def _parser(
    op: PlannedOperation, message: int, place: Processor, cost_ns: float
) -> PlannedOperation:
    """An operation that only parses."""
    return PlannedOperation(
        name=f"{op.name}/parse",
        place=place,
        size_bytes=0,
        tensor=op.tensor,
        waits_for=[message],
        recorded=None,
        parsing_ns=[cost_ns],
    )
