"""A cluster's links as ports: exact where ports can say it, refused where they can't."""

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from netcosim.errors import ScenarioError
from netcosim.scenario import Scenario, StragglerSpec, build_scenario
from netcosim.units import format_duration, format_rate
from sim.plan import Network
from sim.settings import conditions_on, network, network_of
from sim.shares import share_names
from tests.sim.naive.plans import make_network
from topo.catalogue import build_spec
from topo.paths import path_between
from topo.share import max_min_bps
from topo.spec import NetLink

MBIT = 10**6
SLOW_PORT = (
    'training.share: "{share}": does not look at workers\' links, and {worker} has 10mbit where'
    " s0 has 100mbit; take max_min"
)


def scenario(*, share: str = "max_min", sweep: list[int] | None = None, **cluster) -> Scenario:
    training = {"share": share} | ({} if sweep is None else {"workers": sweep})
    return build_scenario(
        {
            "name": "x",
            "cluster": {"topology": "star", "link": {"rate": "100mbit"}, **cluster},
            "training": training,
            "workload": [{"name": "w", "profile": "resnet50"}],
            "transport": [{"name": "t", "sender": "grpc", "receiver": "grpc"}],
        }
    )


def mbit(rates: np.ndarray) -> list[float]:
    return [rate / MBIT for rate in rates]


def test_a_star_with_exceptions():
    links = {
        "s1": {"rate": "1gbit", "delay": "1ms"},
        "w2": {"rate": "10mbit", "delay": "5ms"},
        "s0": {"rate": "100mbit", "delay": "1ms"},
    }
    job = scenario(servers=2, links=links, workers=3)
    found = network_of(job, 3)
    assert mbit(found.server_bps) == [100, 1000]
    assert mbit(found.worker_bps) == [100, 100, 10]
    assert found.delay_ns.tolist() == [1_000_000, 1_000_000, 6_000_000]
    assert (found.share, found.both_busy) == ("max_min", 1.0)
    assert mbit(network_of(job, 2).worker_bps) == [100, 100]
    assert mbit(network_of(job, 5).worker_bps) == [100, 100, 10, 100, 100]


def test_a_pair_has_one_link_for_both():
    found = network_of(scenario(topology="pair", link={"rate": "50mbit", "delay": "2ms"}), 1)
    assert (mbit(found.server_bps), mbit(found.worker_bps)) == ([50], [50])
    assert found.delay_ns.tolist() == [2_000_000]


def test_the_part_of_the_rate_that_carries_messages():
    found = network_of(scenario(workers=2), 2, payload_share=1448 / 1514)
    assert found.server_bps.tolist() == [95_640_687]
    assert found.worker_bps.tolist() == [95_640_687] * 2
    assert found.server_bps.dtype == found.worker_bps.dtype == np.int64


def assert_refused(job: Scenario, workers: int, said: str) -> None:
    with pytest.raises(ScenarioError) as refused:
        network_of(job, workers)
    assert str(refused.value) == said


class TestMiddle:
    def test_one_server_behind_it_has_what_it_lets_through(self):
        job = scenario(topology="racks", links={"uplink": {"rate": "30mbit", "delay": "1ms"}})
        found = network_of(job, 4)
        assert mbit(found.server_bps) == [30]
        assert mbit(found.worker_bps) == [100] * 4
        assert found.delay_ns.tolist() == [1_000_000] * 4

    def test_one_worker_behind_it_likewise(self):
        job = scenario(topology="racks", servers=2, links={"uplink": {"rate": "30mbit"}})
        found = network_of(job, 1)
        assert (mbit(found.server_bps), mbit(found.worker_bps)) == ([100, 100], [30])

    def test_one_that_never_binds_is_left_out(self):
        job = scenario(topology="racks", servers=2, links={"uplink": {"rate": "200mbit"}})
        found = network_of(job, 9)
        assert (mbit(found.server_bps), mbit(found.worker_bps)) == ([100, 100], [100] * 9)

    @pytest.mark.parametrize("workers", [2, 2000])
    def test_one_that_binds_several_on_both_sides_is_refused(self, workers):
        job = scenario(topology="racks", servers=2, links={"uplink": {"rate": "150mbit"}})
        said = (
            'cluster.links.uplink.rate: "150mbit": link uplink of topology racks is shared by'
            " several servers and workers, which the simulator can't express; give it 200mbit or"
            " more, or take star"
        )
        assert_refused(job, workers, said)


rates = st.sampled_from([10, 20, 30, 50, 100, 150, 400]).map(lambda m: format_rate(m * MBIT))
hosts = st.one_of(
    st.integers(0, 2).map(lambda i: f"s{i}"), st.integers(0, 3).map(lambda i: f"w{i}")
)


def by_ports(found: Network, flows: dict[str, tuple[int, int]]) -> dict[str, int]:
    """Max-min fair rates with the ports of a network as the only links."""
    link = build_spec(scenario().cluster).links[0].link

    def port(name: str, rate_bps: int) -> NetLink:
        return NetLink(name=name, a="a", b=name, link=link.model_copy(update={"rate": rate_bps}))

    return max_min_bps(
        {
            name: (
                port(f"s{server}", int(found.server_bps[server])),
                port(f"w{worker}", int(found.worker_bps[worker])),
            )
            for name, (server, worker) in flows.items()
        }
    )


@given(
    topology=st.sampled_from(["star", "racks"]),
    servers=st.integers(1, 3),
    workers=st.integers(1, 4),
    links=st.dictionaries(st.one_of(hosts, st.just("uplink")), rates, max_size=4),
    busy=st.integers(1, 2**12 - 1),
)
def test_ports_share_as_the_whole_network_does(topology, servers, workers, links, busy):
    """Held to max-min fairness over the links of the topology, for any set of busy flows."""
    given_links = {name: {"rate": rate} for name, rate in links.items()}
    job = scenario(topology=topology, servers=servers, workers=workers, links=given_links)
    try:
        found = network_of(job, workers)
    except ScenarioError:
        assume(False)
    spec = build_spec(job.cluster)
    pairs = [(s, w) for s in range(servers) for w in range(workers)]
    flows = {f"f{s}{w}": (s, w) for i, (s, w) in enumerate(pairs) if busy >> i & 1}
    assume(flows)
    whole = max_min_bps(
        {name: path_between(spec, f"s{s}", f"w{w}") for name, (s, w) in flows.items()}
    )
    assert by_ports(found, flows) == whole


class TestManyWorkers:
    def test_are_as_if_each_was_laid_out(self, monkeypatch):
        links = {f"w{i}": {"rate": f"{10 + i % 3}mbit"} for i in range(0, 60, 7)}
        job = scenario(servers=2, links=links, workers=60)
        whole = network_of(job, 50)
        monkeypatch.setattr(network, "MOST_LAID_OUT", 5)
        few = network_of(job, 50)
        for field in ("server_bps", "worker_bps", "delay_ns"):
            assert getattr(few, field).tolist() == getattr(whole, field).tolist()
        monkeypatch.setattr(network, "MOST_LAID_OUT", 3)
        with pytest.raises(ScenarioError, match="must be < 3 different ones with so many workers"):
            network_of(job, 50)

    def test_the_most(self):
        found = network_of(scenario(links={"w65535": {"rate": "1gbit"}}), 65536)
        assert mbit(found.worker_bps[[0, 65534, 65535]]) == [100, 100, 1000]


class TestRefused:
    @pytest.mark.parametrize(
        ("workers", "line"),
        [
            (3, "unknown link; topology star has s0, w0, w1, w2"),
            (2000, "unknown link; there are w0 to w1999"),
        ],
    )
    def test_a_link_that_is_not_there(self, workers, line):
        job = scenario(links={"w2000": {"rate": "1gbit"}})
        assert_refused(job, workers, f'cluster.links: "w2000": {line}')

    def test_the_link_of_a_worker_of_a_larger_run_is_there(self):
        job = scenario(links={"w3": {"rate": "10mbit"}}, sweep=[1, 4])
        assert mbit(network_of(job, 1).worker_bps) == [100]
        assert mbit(network_of(job, 4).worker_bps) == [100, 100, 100, 10]

    def test_a_pair_of_many(self):
        with pytest.raises(ScenarioError, match=r"workers: 4: topology pair has exactly 1"):
            network_of(scenario(topology="pair", sweep=[1, 4]), 1)

    def test_an_unknown_share(self):
        said = 'training.share: "fair": unknown; allowed: equal, max_min, two_servers'
        assert_refused(scenario(share="fair"), 1, said)
        assert share_names() == ("equal", "max_min", "two_servers")

    @pytest.mark.parametrize("share", ["equal", "two_servers"])
    def test_a_slow_link_that_the_share_does_not_look_at(self, share):
        job = scenario(share=share, links={"w1": {"rate": "10mbit"}}, workers=2)
        assert_refused(job, 2, SLOW_PORT.format(share=share, worker="w1"))
        network_of(job, 1)

    def test_two_servers_are_two(self):
        with pytest.raises(ScenarioError, match="is for two servers, not 3; take equal or max_min"):
            network_of(scenario(share="two_servers", servers=3), 1)

    @pytest.mark.parametrize(
        ("more", "shown"), [({"loss": 0.01}, "loss 0.01"), ({"jitter": "1ms"}, "jitter 1ms")]
    )
    def test_what_simulated_links_do_not_have(self, more, shown):
        job = scenario(links={"w0": {"rate": "100mbit", **more}})
        said = f'link w0: "{shown}": simulated links have rate and delay only; leave it out'
        assert_refused(job, 1, said)

    def test_delays_that_hang_on_the_server(self):
        job = scenario(servers=2, links={"s1": {"rate": "1gbit", "delay": "3ms"}})
        said = rf'delay of w0: "0ns and {format_duration(3_000_000)}": a simulated worker has the'
        with pytest.raises(ScenarioError, match=said):
            network_of(job, 1)


@pytest.mark.parametrize("share", ["equal", "two_servers"])
def test_a_slow_port_that_the_share_does_not_look_at(share):
    network = make_network(workers=3, share=share, server_bps=100 * MBIT, worker_bps=100 * MBIT)

    def found(rate):
        spec = StragglerSpec(kind="link", workers=[2], options={"rate": rate})
        return conditions_on(network, [spec], 5, np.random.SeedSequence(1), horizon_ns=1.0)

    with pytest.raises(ScenarioError) as refused:
        found("10mbit")
    assert str(refused.value) == SLOW_PORT.format(share=share, worker="w2")
    assert found("100mbit").worker_bps.tolist() == [100 * MBIT] * 3
