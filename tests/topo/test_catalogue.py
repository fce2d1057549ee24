"""Every topology of the catalogue is a sound network of the size asked for."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from netcosim.scenario import ClusterSpec
from tests.snapshots import refusal
from topo.catalogue import build_spec, topologies
from topo.paths import bottleneck_bps, hosts_behind, path_between, round_trip_ns

SLOW = {"w0": {"rate": "10mbit"}}


def cluster(topology: str, servers: int = 1, workers: int = 1, **more: Any) -> ClusterSpec:
    size = {"topology": topology, "servers": servers, "workers": workers}
    return ClusterSpec.model_validate({**size, "link": {"rate": "100mbit"}, **more})


def test_the_catalogue_says_what_each_topology_is() -> None:
    found = topologies()
    assert {"pair", "star", "racks", "unequal"} <= set(found)
    assert all(line.endswith(".") and not {"\n", "`"} & set(line) for line in found.values())


@given(
    topology=st.sampled_from(["star", "racks", "unequal"]),
    servers=st.integers(1, 8),
    workers=st.integers(2, 8),
)
def test_every_worker_reaches_every_server_over_both_their_links(
    topology: str, servers: int, workers: int
) -> None:
    spec = build_spec(cluster(topology, servers, workers, links=SLOW))
    assert (len(spec.servers), len(spec.workers)) == (servers, workers)
    for server in spec.servers:
        for worker in spec.workers:
            path = path_between(spec, server.name, worker.name)
            assert path[0].name == server.name
            assert path[-1].name == worker.name
            assert bottleneck_bps(path) == (10_000_000 if worker.name == "w0" else 100_000_000)
            assert path_between(spec, worker.name, server.name) == path[::-1]


@given(
    topology=st.sampled_from(["star", "racks"]),
    servers=st.integers(1, 5),
    workers=st.integers(1, 5),
)
def test_a_link_parts_the_hosts_in_two(topology: str, servers: int, workers: int) -> None:
    spec = build_spec(cluster(topology, servers, workers))
    everybody = {host.name for host in spec.hosts}
    for link in spec.links:
        one, other = hosts_behind(spec, link, link.a), hosts_behind(spec, link, link.b)
        assert one | other == everybody
        assert not one & other


def test_a_pair_is_one_link_without_a_switch() -> None:
    spec = build_spec(cluster("pair", links={"link": {"rate": "1gbit", "delay": "5ms"}}))
    assert not spec.switches
    (link,) = spec.links
    assert (link.name, link.link.rate) == ("link", 10**9)
    assert round_trip_ns(path_between(spec, "s0", "w0")) == 10_000_000


def test_racks_keep_servers_and_workers_apart() -> None:
    spec = build_spec(cluster("racks", 2, 3, links={"uplink": {"rate": "50mbit"}}))
    path = path_between(spec, "s1", "w2")
    assert [link.name for link in path] == ["s1", "uplink", "w2"]
    assert bottleneck_bps(path) == 50_000_000
    uplink = path[1]
    assert hosts_behind(spec, uplink, "b0") == {"s0", "s1"}


@pytest.mark.parametrize(
    ("wish", "said"),
    [
        (cluster("ring"), 'cluster.topology: "ring": unknown topology; allowed: pair, '),
        (cluster("pair", servers=2), "cluster.servers: 2: topology pair has exactly 1"),
        (cluster("pair", workers=3), "cluster.workers: 3: topology pair has exactly 1"),
        (cluster("star", links={"w7": {"rate": "1gbit"}}), 'cluster.links: "w7": unknown link'),
        (cluster("unequal", workers=2), "needs a worker's link that differs"),
        (cluster("unequal", workers=1, links=SLOW), "needs a worker's link that differs"),
    ],
)
def test_what_a_topology_can_not_be_is_refused(wish: ClusterSpec, said: str) -> None:
    assert said in refusal(build_spec, wish)
