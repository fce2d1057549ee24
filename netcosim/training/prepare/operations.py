"""Operations of a profile's step, each with its place: between profile and plan."""

import functools
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from netcosim.training.plan import DOWN, UP, Channel, Processor
from netcosim.training.prepare.machines import Machines
from netcosim.workload import Operation, Profile, Transfer


@dataclass(slots=True, kw_only=True)
class PlannedOperation:
    """Intermediate form of an operation, between profile and plan.

    `waits_for` and `recorded` are indices of recorded operations; what was not recorded (a parser,
    or an update that takes no time) has no index of its own. `once` is true for updates that are
    done once for all workers.
    """

    name: str
    place: Channel | Processor
    size_bytes: int
    tensor: str | None
    waits_for: Sequence[int]
    recorded: int | None
    parsing_ns: list[float]
    once: bool = False


def planned_operations(
    profile: Profile,
    server_of: Mapping[str, int],
    machines: Machines,
    once: Collection[str] = (),
) -> list[PlannedOperation]:
    """The recorded operations, each with its place.

    Parameters
    ----------
    server_of : by tensor
    machines : what computes at workers and servers
    once : names of the updates that are done once for all workers
    """
    resources = {r.name: r for r in profile.step.resources}
    operations = profile.step.operations
    servers = _servers(operations, server_of)
    processor = functools.cache(machines.processor)
    index = {op.name: i for i, op in enumerate(operations)}

    def place(op: Operation) -> Channel | Processor:
        if isinstance(op, Transfer):
            direction = DOWN if op.source == "server" else UP
            return channel(servers[op.name], direction, op.connection)
        return processor(resources[op.resource], servers[op.name], once=op.name in once)

    return [
        PlannedOperation(
            name=op.name,
            place=place(op),
            size_bytes=op.size_bytes if isinstance(op, Transfer) else 0,
            tensor=op.tensor,
            waits_for=[index[name] for name in dict.fromkeys(op.after)],
            recorded=i,
            parsing_ns=[],
            once=op.name in once,
        )
        for i, op in enumerate(operations)
    ]


@functools.cache
def channel(server: int, direction: int, connection: str) -> Channel:
    """The channel of a connection's name, one object for all that use it."""
    return Channel(server=server, direction=direction, connection=connection)


def _servers(operations: Sequence[Operation], server_of: Mapping[str, int]) -> dict[str, int]:
    """Server of every operation: its tensor's, else that of what it waits for, else 0."""
    found: dict[str, int] = {}
    for op in operations:
        if op.tensor is not None:
            found[op.name] = server_of[op.tensor]
    for op in operations:
        if op.name not in found:
            found[op.name] = next((found[a] for a in op.after if a in found), 0)
    return found
