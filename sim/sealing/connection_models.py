"""Models of a job's connections: those that the emulator has of bursts, over the same links."""

from h2model import transports
from h2model.candidates import assumed, candidate_senders, receiver_model, speaks_grpc
from h2model.connection import Connection
from h2model.job_calls import calls_of
from h2model.protocol import GRPC_PREFIX_BYTES
from h2model.records import LinkModel
from h2model.training_job import ASK_GRADIENTS, ASK_PULLS, GRADIENT, PULL, Models, Way
from netcosim.results.training.job_summary import PathFacts
from netcosim.scenario import Scenario, TransportSpec
from netcosim.training.job import TrainingJob
from sim.sealing.tcp_paths import drops_packets, takes_turns, through_tcp
from topo.catalogue import build_spec
from topo.paths import path_between, round_trip_ns
from topo.share import Capacity, LinkDirection, Route, SharedLinks, route_between
from topo.spec import BOTH_WAYS_SHARE, GOODPUT_SHARE, NetLink, NetSpec
from topo.worker_links import with_worker_links


def models_of(
    scenario: Scenario, transport: TransportSpec, facts: PathFacts, job: TrainingJob
) -> Models | None:
    """Models of the connections of a job whose gradients are pulled, for all of its workers.

    None where what the sender does is not known, or segments are not known to leave one by one.

    Parameters
    ----------
    facts : of a connection's path, as the emulator recorded them
    """
    discipline = assumed(transport)
    if job.pushed or discipline is None or not facts.segment_bytes:
        return None
    net = with_worker_links(
        build_spec(scenario.cluster.model_copy(update={"workers": job.workers})),
        job.link_bps,
        job.more_delay_ns,
    )
    sender = candidate_senders(transport)[discipline]
    receiver = receiver_model(transport, transport.window)
    ways = [
        Way(kind, worker, server)
        for kind in (PULL, GRADIENT, ASK_PULLS, ASK_GRADIENTS)
        for worker in range(job.workers)
        for server in range(job.plan.servers)
    ]
    route_of = {way: _route(net, way) for way in ways}
    routes = list(route_of.values())
    shares = SharedLinks(_capacities(net, routes), routes)
    links = {
        way: _link(net, way, facts, shares(frozenset({position}))[position])
        for position, way in enumerate(ways)
    }
    drops, tcp = drops_packets(net, scenario.cluster.tcp), None
    if drops or takes_turns(net, facts, route_of):
        tcp = through_tcp(net, route_of, links)
    grpc = speaks_grpc(transport)
    return Models(
        packets=None if tcp is None else tcp[0],
        queues={} if tcp is None else tcp[1],
        drops=drops,
        connections={
            way: Connection(sender, receiver, links[way])
            for way in ways
            if way.kind in (PULL, GRADIENT)
        },
        links=links,
        shares=shares,
        message_bytes={
            op: int(size) + GRPC_PREFIX_BYTES * grpc
            for op, size in enumerate(job.plan.size_bytes.tolist())
        },
        calls={way: calls_of(transport) for way in ways if way.kind in (PULL, GRADIENT)},
        whole_with_trailers=grpc,
        probed=receiver.probes,
        writes_each=transports.load(transport.sender).WRITES_EACH,
    )


def _link(net: NetSpec, way: Way, facts: PathFacts, rate_bps: float) -> LinkModel:
    server, worker = net.servers[way.server].name, net.workers[way.worker].name
    one_way_ns = round_trip_ns(path_between(net, server, worker)) // 2
    return LinkModel(
        rate_bps=rate_bps,
        delay_ns=one_way_ns,
        credit_latency_ns=one_way_ns + facts.handling_ns,
        past_bytes=facts.past_bytes,
        send_memory_bytes=facts.send_memory_bytes,
        bucket_bytes=facts.bucket_bytes,
        segment_bytes=facts.segment_bytes,
        poll_ns=facts.poll_ns,
        flight_segments=facts.flight_segments,
    )


def _route(net: NetSpec, way: Way) -> Route:
    server, worker = net.servers[way.server].name, net.workers[way.worker].name
    ends = (server, worker) if way.kind in (PULL, ASK_GRADIENTS) else (worker, server)
    return route_between(net, *ends, worker)


def _capacities(net: NetSpec, routes: list[Route]) -> dict[LinkDirection, Capacity]:
    links = {link.name: link for link in net.links}
    return {way: _capacity(links[way[0]]) for route in routes for way in route.ways}


def _capacity(link: NetLink) -> Capacity:
    goodput_bps = link.link.rate * GOODPUT_SHARE
    return Capacity(
        one_way_bps=goodput_bps,
        two_way_bps=goodput_bps * BOTH_WAYS_SHARE,
        by_worker=link.link.model == "fair",
    )
