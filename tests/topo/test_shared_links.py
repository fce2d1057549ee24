"""Shares of busy flows: classes of workers, both directions of a link, what others can't use."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.topo.test_catalogue import cluster
from topo.catalogue import build_spec
from topo.paths import path_between
from topo.share import Capacity, LinkDirection, Route, SharedLinks, max_min_bps, route_between
from topo.spec import NetSpec


def network(workers: int, servers: int = 1, topology: str = "star", **links: str) -> NetSpec:
    rates = {name: {"rate": rate} for name, rate in links.items()}
    return build_spec(cluster(topology, servers, workers, links=rates))


def shared(spec, flows, *, by_worker=True, two_way=1.0) -> SharedLinks:
    """Flows as (source, destination), on links that carry all of their rate."""
    routes = [route_between(spec, a, b, a if a.startswith("w") else b) for a, b in flows]
    rates = {link.name: link.link.rate for link in spec.links}
    capacities: dict[LinkDirection, Capacity] = {
        way: Capacity(
            one_way_bps=rates[way[0]], two_way_bps=rates[way[0]] * two_way, by_worker=by_worker
        )
        for route in routes
        for way in route.ways
    }
    return SharedLinks(capacities, routes)


def everyone(shares: SharedLinks, count: int) -> list[float]:
    return list(shares(frozenset(range(count))).values())


@pytest.mark.parametrize(("by_worker", "parts"), [(True, [25, 25, 50]), (False, [100 / 3] * 3)])
def test_classes_come_before_flows(by_worker: bool, parts: list[float]) -> None:
    """Two servers serve one worker, one serves the other, over one uplink."""
    spec = network(2, 2, "racks")
    flows = [("s0", "w0"), ("s1", "w0"), ("s0", "w1")]
    found = everyone(shared(spec, flows, by_worker=by_worker), 3)
    assert found == pytest.approx([part * 1e6 for part in parts])


def test_what_a_slow_server_leaves_of_a_class_its_other_flow_has() -> None:
    spec = network(2, 2, "racks", s1="10mbit")
    flows = [("s0", "w0"), ("s1", "w0"), ("s0", "w1")]
    assert everyone(shared(spec, flows), 3) == pytest.approx([40e6, 10e6, 50e6])


def test_only_who_is_busy_counts() -> None:
    shares = shared(network(3), [("s0", f"w{i}") for i in range(3)])
    assert shares(frozenset({1})) == {1: pytest.approx(100e6)}
    assert shares(frozenset({0, 2})) == {0: pytest.approx(50e6), 2: pytest.approx(50e6)}
    assert shares(frozenset()) == {}


def test_directions_are_apart_but_for_what_acknowledgements_cost() -> None:
    flows = [("s0", "w0"), ("s0", "w1"), ("w0", "s0")]
    shares = shared(network(2), flows, two_way=0.9)
    assert everyone(shares, 3) == pytest.approx([45e6, 45e6, 90e6])
    assert shares(frozenset({0, 1})) == {0: pytest.approx(50e6), 1: pytest.approx(50e6)}
    # Of the way to w1 nothing is busy the other way: its own link is free, the server's is not.
    assert shares(frozenset({1, 2})) == {1: pytest.approx(90e6), 2: pytest.approx(90e6)}


@st.composite
def racks(draw, servers: int = 3, workers: int = 4) -> NetSpec:
    """At most so many servers and workers, each link with a rate of its own."""
    servers, workers = draw(st.integers(1, servers)), draw(st.integers(1, workers))
    names = [*(f"s{i}" for i in range(servers)), *(f"w{i}" for i in range(workers)), "uplink"]
    rates = {name: {"rate": f"{draw(st.integers(1, 1000))}mbit"} for name in names}
    return build_spec(cluster("racks", servers, workers, links=rates))


@given(spec=racks())
def test_flows_that_count_alone_are_filled_progressively(spec: NetSpec) -> None:
    flows = [(s.name, w.name) for s in spec.servers for w in spec.workers]
    paths = {str(i): path_between(spec, a, b) for i, (a, b) in enumerate(flows)}
    exact = max_min_bps(paths)
    found = shared(spec, flows, by_worker=False)(frozenset(range(len(flows))))
    assert found == {i: pytest.approx(exact[str(i)], abs=2) for i in range(len(flows))}


@given(spec=racks(), data=st.data(), by_worker=st.booleans())
def test_links_are_neither_overfull_nor_wasted(spec, data, by_worker) -> None:
    """Every flow has a full link where, in its class and then among classes, nobody has more."""
    pairs = [(s.name, w.name) for s in spec.servers for w in spec.workers]
    flows = data.draw(st.lists(st.sampled_from(pairs), min_size=1, max_size=8))
    assert_shared(spec, flows, by_worker)


@given(data=st.data(), workers=st.integers(2, 4), servers=st.integers(2, 3))
def test_the_same_where_many_ways_of_sharing_fill_links_of_one_rate(data, workers, servers) -> None:
    """Several flows of a pair make classes unequal: offers taken whole go back and forth."""
    spec = network(workers, servers)
    pairs = [(s.name, w.name) for s in spec.servers for w in spec.workers]
    counts = data.draw(st.lists(st.integers(0, 2), min_size=len(pairs), max_size=len(pairs)))
    flows = [pair for pair, count in zip(pairs, counts, strict=True) for _ in range(count)]
    assert_shared(spec, flows, by_worker=True)


def test_between_ways_of_sharing_is_one_that_prefers_no_link() -> None:
    """A third each would fill all links, and so would 1/4, 1/4, 1/2."""
    spec = network(2, 2)
    flows = [("s0", "w0"), ("s0", "w0"), ("s1", "w0"), ("s1", "w1"), ("s1", "w1"), ("s0", "w1")]
    found = everyone(shared(spec, flows), 6)
    assert found[:3] == pytest.approx(found[3:])
    assert found[0] == pytest.approx(found[1])
    assert sum(found[:3]) == pytest.approx(100e6)
    assert 25e6 < found[0] < 100e6 / 3 < found[2] < 50e6


def assert_shared(spec: NetSpec, flows: list[tuple[str, str]], by_worker: bool) -> None:
    found = shared(spec, flows, by_worker=by_worker)(frozenset(range(len(flows))))
    routes = [route_between(spec, a, b, b) for a, b in flows]
    rates = {link.name: link.link.rate for link in spec.links}
    through = {
        way: [i for i, r in enumerate(routes) if way in r.ways] for r in routes for way in r.ways
    }
    for (name, _), crossing in through.items():
        assert sum(found[i] for i in crossing) <= rates[name] * (1 + 1e-6)

    def group(flow: int) -> object:
        return routes[flow].worker if by_worker else flow

    def settled(flow: int, way: LinkDirection) -> bool:
        full = sum(found[i] for i in through[way]) >= rates[way[0]] * (1 - 1e-6)
        totals: dict[object, float] = {}
        for i in through[way]:
            totals[group(i)] = totals.get(group(i), 0.0) + found[i]
        own = [found[i] for i in through[way] if group(i) == group(flow)]
        most_in_class = found[flow] >= max(own) * (1 - 1e-6)
        largest_class = totals[group(flow)] >= max(totals.values()) * (1 - 1e-6)
        return full and most_in_class and largest_class

    assert all(any(settled(i, way) for way in routes[i].ways) for i in range(len(flows)))


def test_a_route_names_each_direction_by_the_link_s_ends() -> None:
    spec = network(2, 1, "racks")
    there = route_between(spec, "s0", "w1", "w1")
    back = route_between(spec, "w1", "s0", "w1")
    assert [name for name, _ in there.ways] == ["s0", "uplink", "w1"]
    assert there.ways == tuple((name, not forward) for name, forward in reversed(back.ways))
    ends = {link.name: link for link in spec.links}
    nodes = [
        (ends[name].a, ends[name].b) if forward else (ends[name].b, ends[name].a)
        for name, forward in there.ways
    ]
    assert nodes[0][0] == "s0"
    assert nodes[-1][1] == "w1"
    assert all(left[1] == right[0] for left, right in pairwise(nodes))


def test_the_shares_of_a_pair() -> None:
    way: LinkDirection = ("link", True)
    capacity = Capacity(one_way_bps=3e6, two_way_bps=2e6, by_worker=False)
    shares = SharedLinks({way: capacity}, [Route(worker="w0", ways=(way,))] * 3)
    assert everyone(shares, 3) == [1e6] * 3
