"""From the network as measured before the run to the link that the models are given."""

from collections.abc import Sequence
from typing import Final

from emu.endpoints.pairing import send_limit_bytes
from emu.network.measure import Measured, PathMeasured
from emu.plan import PlannedConnection
from h2model.connection import LinkModel
from netcosim.job import Cell
from netcosim.scenario import TcpSpec
from topo.paths import bottleneck_bps, path_between
from topo.share import max_min_bps
from topo.spec import NetSpec

HANDLING_NS: Final = 100_000
"""What an endpoint needs to turn received bytes into credit, or credit into a decision."""


def link_model(
    measured: Measured,
    cell: Cell,
    planned: PlannedConnection,
    connections: Sequence[PlannedConnection],
    net: NetSpec,
    tcp: TcpSpec,
    bucket_bytes: int,
) -> LinkModel:
    """The path of one connection as a model sees it.

    The rate is the measured one-way goodput, of which the connection has its max-min fair share
    among those of its cell: on one shared link the 1/n of Li et al., section 3.1. What is past the
    scheduler is the configured bound for our own sender, which keeps to it, and what a plain TCP
    sender was seen to have past it for all others. `bucket_bytes` is the configured token bucket.
    """
    path = path_of(measured, planned)
    rate = path.down_bps if planned.direction == "pull" else path.up_bps
    one_way_ns = path.round_trip_median_ns // 2
    limit = send_limit_bytes(cell.transport, tcp) if cell.transport.sender == "h2" else None
    return LinkModel(
        rate_bps=rate * fair_share(net, planned, connections),
        delay_ns=one_way_ns,
        credit_latency_ns=one_way_ns + HANDLING_NS,
        past_bytes=limit or path.queued_bytes,
        bucket_bytes=bucket_bytes,
    )


def fair_share(
    net: NetSpec, planned: PlannedConnection, connections: Sequence[PlannedConnection]
) -> float:
    """What a connection gets of its path's slowest link, while all of its cell are busy."""
    paths = {str(c.index): path_between(net, c.source, c.destination) for c in connections}
    own = str(planned.index)
    return max_min_bps(paths)[own] / bottleneck_bps(paths[own])


def path_of(measured: Measured, planned: PlannedConnection) -> PathMeasured:
    """The measured path between a connection's hosts, or one of the same worker or server.

    Not every pair is measured, but paths that cover every link are.
    """

    def likeness(path: PathMeasured) -> int:
        return 2 * (path.worker == planned.worker) + (path.server == planned.server)

    return max(measured.paths, key=likeness)
