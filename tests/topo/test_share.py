"""Max-min fairness: nobody can get more without taking from somebody who has no more."""

from hypothesis import given
from hypothesis import strategies as st

from netcosim.scenario import ClusterSpec
from topo.catalogue import build_spec
from topo.paths import path_between
from topo.share import max_min_bps

RATES = st.integers(1, 1000).map(lambda rate: {"rate": f"{rate}mbit"})


def test_a_slow_worker_leaves_the_rest_to_the_others() -> None:
    cluster = ClusterSpec.model_validate(
        {
            "topology": "star",
            "workers": 3,
            "link": {"rate": "100mbit"},
            "links": {"w1": {"rate": "10mbit"}},
        }
    )
    spec = build_spec(cluster)
    flows = {w.name: path_between(spec, "s0", w.name) for w in spec.workers}
    assert max_min_bps(flows) == {"w0": 45_000_000, "w1": 10_000_000, "w2": 45_000_000}


@given(
    servers=st.integers(1, 3),
    workers=st.integers(1, 5),
    rates=st.lists(RATES, min_size=9, max_size=9),
)
def test_every_flow_has_a_full_link_where_nobody_has_more(servers, workers, rates) -> None:
    names = [*(f"s{i}" for i in range(servers)), *(f"w{i}" for i in range(workers)), "uplink"]
    cluster = ClusterSpec.model_validate(
        {
            "topology": "racks",
            "servers": servers,
            "workers": workers,
            "link": {"rate": "100mbit"},
            "links": dict(zip(names, rates, strict=False)),
        }
    )
    spec = build_spec(cluster)
    flows = {
        f"{s.name}-{w.name}": path_between(spec, s.name, w.name)
        for s in spec.servers
        for w in spec.workers
    }
    shares = max_min_bps(flows)
    load = {link.name: [0, 0] for link in spec.links}
    for flow, path in flows.items():
        for link in path:
            load[link.name][0] += shares[flow]
            load[link.name][1] = max(load[link.name][1], shares[flow])
    rate = {link.name: link.link.rate for link in spec.links}
    slack = len(flows)  # rates are rounded down to whole bits
    assert all(total <= rate[name] for name, (total, _) in load.items())
    for flow, path in flows.items():
        assert any(
            load[link.name][0] >= rate[link.name] - slack and shares[flow] >= load[link.name][1] - 1
            for link in path
        ), flow
