"""Paths of a job's connections through TCP, packet by packet, over a network's own queues."""

from collections import defaultdict
from collections.abc import Mapping

from h2model.records import LinkModel
from h2model.tcp.connection import TcpWay
from h2model.tcp.fair_port import FairPort
from h2model.tcp.fixed_window import FixedWindow
from h2model.tcp.frames import TcpQueue
from h2model.tcp.network import FifoPort, PacketNetwork, Port
from h2model.training_job import Way
from netcosim.results.training.job_summary import PathFacts
from netcosim.scenario import LinkSpec, TcpSpec
from topo.queues import queue_bytes
from topo.share import Route
from topo.spec import FRAME_BYTES, NetSpec


def drops_packets(net: NetSpec, tcp: TcpSpec) -> bool:
    """True where links of one queue and with delay drop packets, and what TCP makes of it is known.

    Without delay a sender's kernel keeps what does not fit; what jitter and chance do is not known.
    """
    links = [link.link for link in net.links]
    return (
        tcp.congestion_control == "cubic"
        and all(link.model == "fifo" and not link.jitter and not link.loss for link in links)
        and any(link.delay for link in links)
    )


def takes_turns(net: NetSpec, facts: PathFacts, routes: Mapping[Way, Route]) -> bool:
    """True where classes take turns on links and drop nothing: few packets of each are under way.

    Turns are not known where several workers exchange with several servers through one link.
    """
    links = [link.link for link in net.links]
    return (
        facts.flight_segments > 0
        and all(link.model == "fair" and not link.delay and not link.loss for link in links)
        and not _meet_crosswise(routes)
    )


def _meet_crosswise(routes: Mapping[Way, Route]) -> bool:
    """True if a link is crossed by several workers and several servers."""
    workers: dict[str, set[int]] = defaultdict(set)
    servers: dict[str, set[int]] = defaultdict(set)
    for way, route in routes.items():
        for link, _ in route.ways:
            workers[link].add(way.worker)
            servers[link].add(way.server)
    return any(len(workers[link]) > 1 and len(servers[link]) > 1 for link in workers)


def through_tcp(
    net: NetSpec, routes: Mapping[Way, Route], links: Mapping[Way, LinkModel]
) -> tuple[PacketNetwork, dict[Way, TcpQueue]]:
    """The network's packets, and each way's queue, in the order of their positions."""
    packets = PacketNetwork()
    bucket_bytes = next(iter(links.values())).bucket_bytes
    ports = {
        (link.name, forward): _port(link.link, bucket_bytes)
        for link in net.links
        for forward in (True, False)
    }
    queues = {}
    for position, (way, route) in enumerate(routes.items()):
        tcp = TcpWay(
            packets,
            tuple(ports[each] for each in route.ways),
            tuple(ports[name, not forward] for name, forward in reversed(route.ways)),
            segment_bytes=links[way].segment_bytes,
            position=position,
            class_id=way.worker * len(net.servers) + way.server,
            window=FixedWindow(flight) if (flight := links[way].flight_segments) else None,
        )
        queues[way] = TcpQueue(links[way], tcp, begins_early=flight > 0)
    return packets, queues


def _port(link: LinkSpec, bucket_bytes: int) -> Port:
    if link.model == "fair":
        return FairPort(
            rate_bps=link.rate,
            delay_ns=link.delay,
            bucket_bytes=bucket_bytes,
            quantum_bytes=FRAME_BYTES,
        )
    return FifoPort(
        rate_bps=link.rate,
        delay_ns=link.delay,
        queue_bytes=queue_bytes(link),
        bucket_bytes=bucket_bytes,
    )
