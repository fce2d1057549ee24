"""Conditions on a network: what its share strategy does not look at is refused."""

import numpy as np
import pytest

from netcosim.errors import ScenarioError
from netcosim.scenario import StragglerSpec
from sim.settings import conditions_on
from tests.sim.naive.plans import make_network

MBIT = 10**6


@pytest.mark.parametrize("share", ["equal", "two_servers"])
def test_a_slow_port_that_the_share_does_not_look_at(share):
    network = make_network(workers=3, share=share, server_bps=100 * MBIT, worker_bps=100 * MBIT)

    def found(rate):
        spec = StragglerSpec(kind="link", workers=[2], options={"rate": rate})
        return conditions_on(network, [spec], 5, np.random.SeedSequence(1), horizon_ns=1.0)

    with pytest.raises(ScenarioError) as refused:
        found("10mbit")
    assert str(refused.value) == (
        f'training.share: "{share}": does not look at workers\' links, and w2 has 10mbit'
        " where s0 has 100mbit; take max_min"
    )
    assert found("100mbit").worker_bps.tolist() == [100 * MBIT] * 3
