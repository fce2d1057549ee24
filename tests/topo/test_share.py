"""Max-min fairness: nobody can get more without taking from somebody who has no more."""

from hypothesis import given

from tests.topo.test_shared_links import network, racks
from topo.paths import path_between
from topo.share import max_min_bps


def test_a_slow_worker_leaves_the_rest_to_the_others() -> None:
    spec = network(3, w1="10mbit")
    flows = {w.name: path_between(spec, "s0", w.name) for w in spec.workers}
    assert max_min_bps(flows) == {"w0": 45_000_000, "w1": 10_000_000, "w2": 45_000_000}


@given(spec=racks(workers=5))
def test_every_flow_has_a_full_link_where_nobody_has_more(spec) -> None:
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
