"""Build the models' links from the network as measured before the run."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from emu.endpoints.pairing import send_limit_bytes
from emu.network.measure import Measured, PathMeasured
from emu.network.punctuality import HANDLING_NS, VIRTUAL, poll_ns
from emu.plan import PlannedConnection
from h2model import transports
from h2model.connection import LinkModel
from netcosim.job import Cell
from netcosim.scenario import TcpSpec
from topo.share import Capacity, LinkDirection, Route, SharedLinks, route_between
from topo.spec import PAYLOAD_BYTES, NetLink, NetSpec


@dataclass(frozen=True, kw_only=True, slots=True)
class Pace:
    """Pace of kernels and endpoints by a clock, as the models of a link are told.

    Attributes
    ----------
    handling_ns : time of an endpoint to turn received bytes into credit, or credit into a decision
    segment_bytes : size of the segments that leave one by one and never late; 0: bytes flow
    flight_segments : most segments of a connection that are under way; 0: as TCP has it
    poll_ns : how often our own sender looks for room in its socket; 0: often enough
    """

    handling_ns: int
    segment_bytes: int
    poll_ns: int
    flight_segments: int = 0


REAL: Final = Pace(handling_ns=100_000, segment_bytes=0, poll_ns=0)
"""Of processors that take time, and of segments in bunches."""


def guests_pace(net: NetSpec) -> Pace:
    """Of a network in a guest in virtual time."""
    return Pace(
        handling_ns=HANDLING_NS,
        segment_bytes=PAYLOAD_BYTES,
        poll_ns=poll_ns(net),
        flight_segments=VIRTUAL.most_segments(net),
    )


def link_model(
    measured: Measured,
    cell: Cell,
    planned: PlannedConnection,
    connections: Sequence[PlannedConnection],
    net: NetSpec,
    tcp: TcpSpec,
    *,
    bucket_bytes: int,
    pace: Pace = REAL,
) -> LinkModel:
    """Link model of one connection's path.

    The rate is the connection's share of the measured goodput while all of its cell are busy: on
    one shared link the 1/n of Li et al., section 3.1. `shared_links` gives its rate at other
    moments. The unacknowledged bytes (`past_bytes`) are the configured bound for our own sender,
    which keeps to it, and those measured of a plain TCP sender for all others; where segments leave
    one by one, these are bounded by the configured memory.
    `bucket_bytes` is the configured token bucket.
    """
    path = path_of(measured.paths, planned)
    shares = shared_links(measured.paths, connections, net)
    one_way_ns = path.round_trip_median_ns // 2
    bounded = transports.load(cell.transport.sender).BOUNDS_UNACKNOWLEDGED
    limit = send_limit_bytes(cell.transport, tcp) if bounded else None
    return LinkModel(
        rate_bps=shares(frozenset(range(len(connections))))[connections.index(planned)],
        delay_ns=one_way_ns,
        credit_latency_ns=one_way_ns + pace.handling_ns,
        past_bytes=limit or path.queued_bytes,
        send_memory_bytes=0 if limit or not pace.segment_bytes else tcp.send_buffer or 0,
        bucket_bytes=bucket_bytes,
        segment_bytes=pace.segment_bytes,
        poll_ns=pace.poll_ns,
        flight_segments=pace.flight_segments,
    )


def shared_links(
    paths: Sequence[PathMeasured], connections: Sequence[PlannedConnection], net: NetSpec
) -> SharedLinks:
    """Sharing of the links among a cell's connections, from the measured paths' goodput."""
    routes: list[Route] = []
    capacities: dict[LinkDirection, Capacity] = {}
    links = {link.name: link for link in net.links}
    for planned in connections:
        route = route_between(net, planned.source, planned.destination, planned.worker)
        routes.append(route)
        for way in route.ways:
            capacities.setdefault(way, _capacity(paths, planned, links[way[0]]))
    return SharedLinks(capacities, routes)


def path_of(paths: Sequence[PathMeasured], planned: PlannedConnection) -> PathMeasured:
    """The measured path between a connection's hosts, or one of the same worker or server.

    Not every pair is measured, but paths that cover every link are.
    """

    def likeness(path: PathMeasured) -> int:
        return 2 * (path.worker == planned.worker) + (path.server == planned.server)

    return max(paths, key=likeness)


def _capacity(paths: Sequence[PathMeasured], planned: PlannedConnection, link: NetLink) -> Capacity:
    """Capacity of a link in the direction of a connection's data.

    A measured path shows the slowest of its links; the others are taken to be as good for their
    rate.
    """
    through = [path for path in paths if link.name in path.links]
    path = max(through or [path_of(paths, planned)], key=lambda p: p.rate_bps)
    down = planned.direction == "pull"
    one_way_bps = path.down_bps if down else path.up_bps
    two_way_bps = path.both_down_bps if down else path.both_up_bps
    return Capacity(
        one_way_bps=link.link.rate * one_way_bps / path.rate_bps,
        # A processor taken away for a moment lowers a reading and never raises it.
        two_way_bps=link.link.rate * min(one_way_bps, two_way_bps) / path.rate_bps,
        by_worker=link.link.model == "fair",
    )
