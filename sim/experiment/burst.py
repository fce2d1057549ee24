"""Profile of a burst of tensors: its transfers as a step, with waits as the only computations.

So a scenario that the emulator runs can be simulated too; each worker repeats its burst.
"""

from typing import Final, Literal

from netcosim.errors import ScenarioError
from netcosim.job import Cell
from netcosim.scenario import WorkloadSpec
from netcosim.units import format_duration
from netcosim.workload import Compute, Operation, Profile, Resource, Step, Transfer

APPLICATION: Final = "application"
"""Resource of the waits for tensors that become ready later."""

Role = Literal["server", "worker"]

_DIRECTIONS: Final[dict[str, tuple[tuple[Role, Role, str], ...]]] = {
    "pull": (("server", "worker", "pull"),),
    "pull-back": (("worker", "server", "pull-back"),),
    "push": (("worker", "server", "push"),),
    "both": (("server", "worker", "pull"), ("worker", "server", "pull-back")),
}


def burst_profile(cell: Cell) -> Profile:
    """Build the profile of a burst workload; tensors are in their order of release.

    Raises
    ------
    ScenarioError
        Its workers start one after the other, which steps that follow each other can't do.
    """
    workload = cell.workload
    if workload.stagger:
        where = f"workload[{workload.name}].stagger"
        allowed = "must be 0 in a simulation"
        raise ScenarioError.at(where, format_duration(workload.stagger), allowed)
    waits, durations = _waits(cell)
    operations: list[Operation] = [*waits.values(), *_transfers(workload, cell, waits)]
    resource = Resource(name=APPLICATION, node="worker")
    return Profile(
        name=workload.name,
        provenance="a burst of tensors from the scenario; nothing is computed",
        batch=1,
        samples="measured",
        step=Step(resources=(resource,) if waits else (), operations=tuple(operations)),
        duration_ns=(tuple(durations),),
    )


def _waits(cell: Cell) -> tuple[dict[int, Compute], list[int]]:
    """Chained waits by the time at which tensors become ready, and their durations in ns."""
    times = sorted({m.ready_ns for server in cell.messages for m in server} - {0})
    waits: dict[int, Compute] = {}
    before: tuple[str, ...] = ()
    for time in times:
        waits[time] = Compute(
            name=f"wait-{time}ns", resource=APPLICATION, after=before, batch_share=0.0
        )
        before = (waits[time].name,)
    return waits, [later - earlier for earlier, later in zip([0, *times], times, strict=False)]


def _transfers(workload: WorkloadSpec, cell: Cell, waits: dict[int, Compute]) -> list[Transfer]:
    messages = sorted((m for server in cell.messages for m in server), key=lambda m: m.index)
    return [
        Transfer(
            name=f"{m.tensor}/{name}",
            source=source,
            destination=destination,
            tensor=m.tensor,
            size_bytes=m.size_bytes,
            after=(waits[m.ready_ns].name,) if m.ready_ns else (),
        )
        for source, destination, name in _DIRECTIONS[workload.direction]
        for m in messages
    ]
