"""Resolution of a scenario into cells: the messages of each server, in their order of release."""

from dataclasses import dataclass

import numpy as np

from netcosim.errors import ScenarioError
from netcosim.policies import release_order, server_of_each
from netcosim.scenario import Scenario, TransportSpec, WorkloadSpec
from netcosim.tensors import scale_factor, scale_sizes, tensor_set


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """One tensor to be sent: `index` is its place in the workload, `ready_ns` after the start."""

    tensor: str
    index: int
    size_bytes: int
    ready_ns: int
    priority: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """One workload on one transport.

    `messages` holds, for every server, what each worker exchanges with it in order of release;
    `window_bytes` is the transport's window after scaling.
    """

    name: str
    workload: WorkloadSpec
    transport: TransportSpec
    messages: tuple[tuple[Message, ...], ...]
    window_bytes: int | None

    @property
    def burst_bytes(self) -> int:
        """Message bytes that one worker exchanges in a burst."""
        return sum(m.size_bytes for server in self.messages for m in server)


def resolve_cells(scenario: Scenario) -> tuple[Cell, ...]:
    """All cells of a scenario, workloads first.

    Random orders are drawn from the scenario's seed, the same for every transport.

    Raises
    ------
    ScenarioError
        A schedule, an unknown tensor set, order or placement, a scale that leaves no bytes, or a
        workload that is no burst but a profile.
    """
    if scenario.policy.schedule is not None:
        allowed = "schedules are for the simulator, and for workloads with a profile"
        raise ScenarioError.at("policy.schedule", scenario.policy.schedule, allowed)
    seeds = np.random.SeedSequence(scenario.seed).spawn(len(scenario.workload))
    return tuple(
        _cell(scenario, workload, transport, np.random.default_rng(seed))
        for workload, seed in zip(scenario.workload, seeds, strict=True)
        for transport in scenario.transport
    )


def _cell(
    scenario: Scenario,
    workload: WorkloadSpec,
    transport: TransportSpec,
    rng: np.random.Generator,
) -> Cell:
    listed = _listed(workload)
    sizes = scale_sizes([size for _, size, _, _ in listed], workload.total)
    names = [name for name, _, _, _ in listed]
    order = release_order(scenario.policy, names, sizes, rng)
    named = _messages(listed, sizes, order, workload.spacing)
    servers = server_of_each(scenario.policy, names, sizes, scenario.cluster.servers)
    return Cell(
        name=f"{workload.name}/{transport.name}",
        workload=workload,
        transport=transport,
        messages=tuple(
            tuple(named[i] for i in order if servers[i] == server)
            for server in range(scenario.cluster.servers)
        ),
        window_bytes=_window(workload, transport),
    )


def _listed(workload: WorkloadSpec) -> list[tuple[str, int, int, int]]:
    """Name, size before scaling, ready time and priority of every tensor."""
    if workload.profile is not None:
        raise ScenarioError.at(
            f"workload[{workload.name}].profile",
            workload.profile,
            "profiles are for the simulator; a burst needs 'set' or 'tensors'",
        )
    if workload.set is not None:
        return [(name, size, 0, 0) for name, size in tensor_set(workload.set).tensors]
    return [(t.name, t.size, t.ready, t.priority) for t in workload.tensors]


def _messages(
    listed: list[tuple[str, int, int, int]], sizes: list[int], order: list[int], spacing_ns: int
) -> list[Message]:
    """The messages as listed; spacing counts in the order of release."""
    place = {index: position for position, index in enumerate(order)}
    return [
        Message(
            tensor=name,
            index=index,
            size_bytes=sizes[index],
            ready_ns=ready + place[index] * spacing_ns,
            priority=priority,
        )
        for index, (name, _, ready, priority) in enumerate(listed)
    ]


def _window(workload: WorkloadSpec, transport: TransportSpec) -> int | None:
    window = transport.window
    if window is None or not workload.scale_window:
        return window
    sizes = [size for _, size, _, _ in _listed(workload)]
    scaled = round(window * scale_factor(sizes, workload.total))
    if scaled < 1:
        raise ScenarioError.at("transport.window", window, "falls below one byte when scaled")
    return scaled
