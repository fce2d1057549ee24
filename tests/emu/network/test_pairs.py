"""Choice of the pairs that are measured, and of those side by side."""

from typing import Any

import pytest

from emu.network.measure import expected_s
from emu.network.pairs import ROUND_BPS, plan_pairs, plan_rounds
from netcosim.scenario import ClusterSpec
from topo.catalogue import build_spec
from topo.spec import NetSpec


def spec(**settings: Any) -> NetSpec:
    return build_spec(ClusterSpec.model_validate({"link": {"rate": "100mbit"}, **settings}))


NETWORKS: list[dict[str, Any]] = [
    {"topology": "pair"},
    {"topology": "star"},
    {"topology": "star", "workers": 2},
    {"topology": "star", "workers": 5, "servers": 2},
    {"topology": "star", "workers": 1, "servers": 3},
    {"topology": "star", "workers": 60},
    {"topology": "racks", "workers": 7, "servers": 2},
    {"topology": "unequal", "workers": 5, "links": {"w1": {"rate": "10mbit"}}},
    {"topology": "star", "workers": 4, "links": {"w1": {"rate": "1gbit"}, "w2": {"rate": "1gbit"}}},
]


@pytest.mark.parametrize("asked", NETWORKS, ids=str)
def test_every_link_and_every_worker_is_told_of(asked: dict[str, Any]) -> None:
    net = spec(**asked)
    pairs = plan_pairs(net)
    stretches = [stretch for pair in pairs for stretch in pair.stands_for]
    assert {link for each in stretches for link in each.links} == {link.name for link in net.links}
    assert {each.worker for each in stretches} == {worker.name for worker in net.workers}
    servers = {server.name for server in net.servers}
    assert {each.server for each in stretches} >= servers
    for pair in pairs:
        for each in pair.stands_for:
            assert {each.server, each.worker} == {pair.near, pair.far}
            assert each.reversed == (each.worker == pair.near)
            rates = {link.name: link.link.rate for link in net.links}
            assert min(rates[name] for name in each.links) == pair.rate_bps


@pytest.mark.parametrize("asked", NETWORKS, ids=str)
def test_pairs_of_a_round_share_no_link_and_no_more_than_processors_carry(asked) -> None:
    pairs = plan_pairs(spec(**asked))
    rounds = plan_rounds(pairs)
    assert sorted(p.far for each in rounds for p in each) == sorted(p.far for p in pairs)
    for side_by_side in rounds:
        links = [link.name for pair in side_by_side for link in pair.path]
        assert len(links) == len(set(links))
        total_bps = sum(pair.rate_bps for pair in side_by_side)
        assert total_bps <= ROUND_BPS or len(side_by_side) == 1


def test_rounds_grow_with_what_is_to_be_carried_not_with_the_number_of_workers() -> None:
    def count(rate: str, workers: int) -> int:
        net = spec(topology="star", workers=workers, link={"rate": rate})
        return len(plan_rounds(plan_pairs(net)))

    assert count("100mbit", 60) == 7  # 31 pairs of 100 Mbit/s
    assert count("10mbit", 60) == 2  # the last worker has nobody left but the server
    assert count("1gbit", 4) == 3
    racks = spec(topology="racks", workers=9, servers=1)
    assert len(plan_rounds(plan_pairs(racks))) == 1


def test_workers_that_differ_are_measured_with_a_server() -> None:
    net = spec(topology="unequal", workers=3, links={"w1": {"rate": "10mbit"}})
    assert [(p.near, p.far) for p in plan_pairs(net)] == [("s0", "w0"), ("s0", "w1"), ("s0", "w2")]


def test_what_measuring_takes_follows_from_the_plan() -> None:
    one = expected_s(spec())
    assert 1 < one < 5
    assert expected_s(spec(link={"rate": "1mbit"})) > 3 * one
    assert expected_s(spec(topology="star", workers=60)) > 5 * one
