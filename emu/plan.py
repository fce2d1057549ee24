"""What a run would do: the scenario resolved and checked, nothing touched."""

from dataclasses import dataclass
from typing import Final

from emu.endpoints.pairing import check_transport
from netcosim.job import Cell, Message, resolve_cells
from netcosim.scenario import Direction, Scenario
from netcosim.units import format_rate, format_size
from topo.catalogue import build_spec
from topo.paths import path_between
from topo.spec import NetSpec

GOODPUT_SHARE: Final = 1448 / 1514
"""TCP payload of a full-size Ethernet frame."""

_PER_CELL_S: Final = 1.5
_PER_RUN_S: Final = 15.0


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedConnection:
    """One connection of a cell: which hosts, which way the data flows, what it carries."""

    index: int
    server: str
    worker: str
    direction: Direction
    messages: tuple[Message, ...]

    @property
    def source(self) -> str:
        """The host that sends the data."""
        return self.server if self.direction == "pull" else self.worker

    @property
    def destination(self) -> str:
        """The host that receives the data."""
        return self.worker if self.direction == "pull" else self.server


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """A checked scenario: its cells and its network."""

    scenario: Scenario
    cells: tuple[Cell, ...]
    net: NetSpec

    def connections(self, cell: Cell) -> tuple[PlannedConnection, ...]:
        """Every connection of a cell that carries at least one message."""
        pairs = [
            (server.name, worker.name, messages)
            for worker in self.net.workers
            for server, messages in zip(self.net.servers, cell.messages, strict=True)
            if messages
        ]
        return tuple(
            PlannedConnection(
                index=index,
                server=server,
                worker=worker,
                direction=cell.workload.direction,
                messages=messages,
            )
            for index, (server, worker, messages) in enumerate(pairs)
        )

    def burst_seconds(self, cell: Cell) -> float:
        """How long a burst takes at least, by the bytes that cross the busiest link."""
        load_bits: dict[str, int] = {}
        for connection in self.connections(cell):
            size_bytes = sum(m.size_bytes for m in connection.messages)
            for link in path_between(self.net, connection.source, connection.destination):
                load_bits[link.name] = load_bits.get(link.name, 0) + 8 * size_bytes
        rates = {link.name: link.link.rate * GOODPUT_SHARE for link in self.net.links}
        return max((bits / rates[name] for name, bits in load_bits.items()), default=0.0)

    @property
    def lossy(self) -> bool:
        """Whether some link drops or reorders packets because it was asked to."""
        links = [each.link for each in self.net.links]
        return any(link.model == "fifo" or link.loss or link.jitter for link in links)

    @property
    def expected_s(self) -> float:
        """Rough wall time of the whole run."""
        bursts = sum(self.burst_seconds(cell) + 0.3 for cell in self.cells)
        return _PER_RUN_S + len(self.cells) * _PER_CELL_S + bursts * self.scenario.repetitions


def make_plan(scenario: Scenario) -> Plan:
    """Resolve a scenario and check every name in it against the registries.

    Raises
    ------
    ScenarioError
        An unknown name, or settings that do not go together.
    """
    for transport in scenario.transport:
        check_transport(transport)
    return Plan(scenario=scenario, cells=resolve_cells(scenario), net=build_spec(scenario.cluster))


def describe(plan: Plan) -> list[str]:
    """What would be done, line by line."""
    cluster = plan.scenario.cluster
    lines = [
        f"scenario    {plan.scenario.name}: {plan.scenario.description}".rstrip(": "),
        f"network     {cluster.topology}, {len(plan.net.servers)} server(s), "
        f"{len(plan.net.workers)} worker(s), in private namespaces",
    ]
    lines += [
        f"  link      {link.name}: {link.a} - {link.b}, {format_rate(link.link.rate)}, "
        f"{link.link.model}"
        for link in plan.net.links
    ]
    for cell in plan.cells:
        connections = plan.connections(cell)
        streams = sum(len(c.messages) for c in connections)
        lines.append(
            f"cell        {cell.name}: {cell.workload.direction}, {len(connections)} connection(s),"
            f" {streams} streams, {format_size(cell.burst_bytes)} a worker, about"
            f" {plan.burst_seconds(cell):.1f} s a burst, {plan.scenario.repetitions} bursts"
        )
    lines.append(f"takes about {plan.expected_s:.0f} s; needs root")
    return lines
