"""Plan of a run: the scenario resolved into cells and a network, and checked."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Final

from emu.endpoints.pairing import check_transport, missing
from emu.endpoints.releases import newest
from h2model import transports
from h2model.candidates import not_studied
from h2model.parameters import releases
from netcosim.errors import ScenarioError
from netcosim.job import Cell, Message, resolve_cells
from netcosim.results.streams.summary import NotRun
from netcosim.scenario import Direction, ProcessorSpec, Scenario
from netcosim.units import format_rate, format_size
from topo.catalogue import build_spec
from topo.share import LinkDirection, route_between
from topo.spec import GOODPUT_SHARE, NetSpec

FIRST_PORT: Final = 50051
"""Port of a cell's first connection; the others follow."""

_MOST_HOSTS: Final = 64
"""Most servers, and most workers; each is a network namespace with its processes."""

_MOST_RATE_BPS: Final = 10_000_000_000
"""Highest rate of a link. A bridge between veth pairs forwards some 9 Gbit/s; a run measures it."""

_MOST_MESSAGE_BYTES: Final = 2_000_000_000
"""Largest message: an endpoint holds it in memory, and gRPC has no larger ones than 2**31 bytes."""

_MOST_STREAMS: Final = 4096
"""Most streams of a connection: such bursts ended in time, at some ms of an endpoint each."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedConnection:
    """One connection of a cell: its hosts, the direction of its data, its messages.

    It begins `start_ns` after the burst does; its messages' times count from there.
    """

    index: int
    server: str
    worker: str
    direction: Direction
    messages: tuple[Message, ...]
    start_ns: int = 0

    @property
    def port(self) -> int:
        """The port that its responder listens on."""
        return FIRST_PORT + self.index

    @property
    def responder(self) -> str:
        """The host that listens: the worker of a pull back, else the server."""
        return self.worker if self.direction == "pull-back" else self.server

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
    """A checked scenario: its cells and its network.

    `not_run` are cells of the scenario that can't run on this machine; they are not among `cells`.
    """

    scenario: Scenario
    cells: tuple[Cell, ...]
    net: NetSpec
    not_run: tuple[NotRun, ...] = ()

    def connections(self, cell: Cell) -> tuple[PlannedConnection, ...]:
        """Every connection of a cell that carries at least one message, workers first."""
        exchange = cell.workload.direction
        directions: tuple[Direction, ...] = (
            ("pull", "pull-back") if exchange == "both" else (exchange,)
        )
        wanted = [
            (server.name, worker.name, direction, messages, position * cell.workload.stagger)
            for position, worker in enumerate(self.net.workers)
            for server, messages in zip(self.net.servers, cell.messages, strict=True)
            for direction in directions
            if messages
        ]
        return tuple(
            PlannedConnection(
                index=index,
                server=server,
                worker=worker,
                direction=direction,
                messages=messages,
                start_ns=start_ns,
            )
            for index, (server, worker, direction, messages, start_ns) in enumerate(wanted)
        )

    def bottlenecks(self, cell: Cell) -> dict[int, LinkDirection]:
        """Bottleneck of each connection of a cell: the busiest link direction that it crosses."""
        rates = {link.name: link.link.rate for link in self.net.links}
        load: dict[LinkDirection, float] = {}
        routes: dict[int, tuple[LinkDirection, ...]] = {}
        for each in self.connections(cell):
            routes[each.index] = self.route(each)
            size_bytes = sum(m.size_bytes for m in each.messages)
            for way in routes[each.index]:
                load[way] = load.get(way, 0.0) + size_bytes / rates[way[0]]
        return {index: max(route, key=lambda way: load[way]) for index, route in routes.items()}

    def route(self, planned: PlannedConnection) -> tuple[LinkDirection, ...]:
        """Directions of links that a connection's data crosses."""
        return route_between(self.net, planned.source, planned.destination, planned.worker).ways

    def burst_seconds(self, cell: Cell) -> float:
        """Estimate a burst's seconds, from the bytes that cross the busiest link at its goodput.

        The last hand-over is added, as if nothing overlapped: of workers that begin one after the
        other, and of messages that are not ready at the start.
        """
        load_bits: dict[LinkDirection, int] = {}
        last_ns = 0
        for each in self.connections(cell):
            size_bytes = sum(m.size_bytes for m in each.messages)
            for way in route_between(self.net, each.source, each.destination, each.worker).ways:
                load_bits[way] = load_bits.get(way, 0) + 8 * size_bytes
            last_ns = max(last_ns, each.start_ns + max(m.ready_ns for m in each.messages))
        rates = {link.name: link.link.rate * GOODPUT_SHARE for link in self.net.links}
        busiest_s = max((bits / rates[name] for (name, _), bits in load_bits.items()), default=0.0)
        return busiest_s + last_ns / 1e9

    @property
    def is_virtual(self) -> bool:
        """True if it is measured by a guest's clock, not by the machine's."""
        return self.scenario.clock == "virtual"

    @property
    def lossy(self) -> bool:
        """True if some link drops or reorders packets by its configuration."""
        links = [each.link for each in self.net.links]
        return any(link.model == "fifo" or link.loss or link.jitter for link in links)


def make_plan(scenario: Scenario, installed: str | None = None) -> Plan:
    """Resolve a scenario and check every name in it against the registries.

    Parameters
    ----------
    scenario
        Where it names no release of gRPC, the installed one is meant.
    installed
        The release of grpcio meant there; None: the one in this environment.

    Raises
    ------
    ScenarioError
        An unknown name, settings that do not go together, or what only the simulator does.
    """
    _check_emulated(scenario)
    scenario = _naming_releases(scenario, installed or newest())
    for transport in scenario.transport:
        check_transport(transport)
        not_studied(transport)  # refuses releases that are older than all studied ones
    plan = Plan(scenario=scenario, cells=resolve_cells(scenario), net=build_spec(scenario.cluster))
    _check_size(plan)
    return plan


def _naming_releases(scenario: Scenario, installed: str) -> Scenario:
    """Name the installed gRPC release in a scenario, unless it is the newest that was studied.

    A release that is not named counts as that one.
    """
    if installed == releases("grpc")[-1]:
        return scenario
    named = (
        each.model_copy(update=dict.fromkeys(transports.releases_not_named(each), installed))
        for each in scenario.transport
    )
    return scenario.model_copy(update={"transport": tuple(named)})


def _check_emulated(scenario: Scenario) -> None:
    for field in ("servers", "workers"):
        count = getattr(scenario.cluster, field)
        if count > _MOST_HOSTS:
            allowed = f"must be <= {_MOST_HOSTS} to be emulated; the simulator takes more"
            raise ScenarioError.at(f"cluster.{field}", count, allowed)
    if scenario.cluster.processor != ProcessorSpec():
        _check_processor(scenario)
    if scenario.coordination is not None:
        allowed = "is for training jobs, not for bursts"
        raise ScenarioError.at("coordination.kind", scenario.coordination.kind, allowed)
    if scenario.straggler:
        raise ScenarioError.at(
            "straggler",
            scenario.straggler[0].kind,
            "stragglers are for the simulator; here give a worker a link of its own in"
            " [cluster.links]",
        )


def _check_processor(scenario: Scenario) -> None:
    """Refuse costs of messages where nothing obeys them."""
    if scenario.clock != "virtual":
        raise ScenarioError.at(
            "cluster.processor",
            "sent, received",
            'must not be given with clock = "real", by which processors take their own time; '
            "--clock virtual",
        )
    for each in scenario.transport:
        if "script" in (each.sender, each.receiver):
            raise ScenarioError.at(
                f"transport[{each.name}]",
                "script",
                "must not be of this kind with 'cluster.processor': a program of your own takes"
                " its own time",
            )


def _check_size(plan: Plan) -> None:
    """Refuse rates that no machine's veth carries, and more streams than endpoints cope with."""
    for each in plan.net.links:
        if each.link.rate > _MOST_RATE_BPS:
            most = format_rate(_MOST_RATE_BPS)
            raise ScenarioError.at(
                f"rate of link {each.name}",
                format_rate(each.link.rate),
                f"must be <= {most} to be emulated; the simulator takes more",
            )
    for cell in plan.cells:
        largest = max((m for server in cell.messages for m in server), key=lambda m: m.size_bytes)
        if largest.size_bytes > _MOST_MESSAGE_BYTES:
            raise ScenarioError.at(
                f"workload[{cell.workload.name}]: size of {largest.tensor}",
                format_size(largest.size_bytes),
                f"must be <= {format_size(_MOST_MESSAGE_BYTES)} to be emulated; give it a 'total'",
            )
        streams = max((len(c.messages) for c in plan.connections(cell)), default=0)
        if streams > _MOST_STREAMS:
            raise ScenarioError(
                f"workload[{cell.workload.name}]: {streams} streams on one connection: must be <="
                f" {_MOST_STREAMS} to be emulated; have several servers, or fewer tensors"
            )


def on_this_machine(plan: Plan) -> Plan:
    """The plan without the cells whose endpoints can't be started here."""
    lacks = {transport.name: missing(transport) for transport in plan.scenario.transport}
    reasons = {cell.name: lacks[cell.transport.name] for cell in plan.cells}
    return replace(
        plan,
        cells=tuple(cell for cell in plan.cells if reasons[cell.name] is None),
        not_run=tuple(
            NotRun(
                cell=cell.name,
                workload=cell.workload.name,
                transport=cell.transport.name,
                reason=reason,
            )
            for cell in plan.cells
            if (reason := reasons[cell.name]) is not None
        ),
    )


def receiver_key(cell: Cell) -> str:
    """Key of a receiver: implementation, release, role, sender and frame size.

    Its windows are no part of it: they decide when bytes come, not what is done with them.
    """
    spec = cell.transport
    which = spec.receiver_script or spec.receiver_release
    receiver = f"{spec.receiver} {which}" if which else spec.receiver
    frames = f", frames of {spec.frame_size}" if spec.frame_size else ""
    whose = spec.sender_script or spec.sender_release
    sender = f"{spec.sender} {whose}" if whose else spec.sender
    part = "listening" if cell.workload.direction == "push" else "asking"
    return f"{receiver}, {part}, from {sender}{frames}"


def distinct_receivers(cells: Iterable[Cell]) -> dict[str, Cell]:
    """Distinct receivers of these cells: by key, the first cell that has it."""
    found: dict[str, Cell] = {}
    for cell in cells:
        found.setdefault(receiver_key(cell), cell)
    return found


def link_key(cell: str, connection: int) -> str:
    """Key of a connection's link model in ``models`` of a run's record."""
    return f"{cell} connection {connection}"
