"""The naive simulator's ways to share links against cases worked out by hand."""

import pytest

from tests.sim.naive.plans import (
    Op,
    at_worker,
    chain_plan,
    down,
    make_network,
    make_plan,
    make_sending,
    same_draws,
    up,
)
from tests.sim.naive.test_naive import ends
from tests.sim.naive.twin import simulate

FIFO = make_sending("fifo")


@pytest.mark.parametrize("share", ["equal", "max_min", "two_servers"])
def test_a_port_is_slower_while_its_other_direction_is_busy(share):
    plan = make_plan(
        [Op(name="pull", at=down(), size_bytes=1000), Op(name="push", at=up(), size_bytes=400)]
    )
    network = make_network(share=share, both_busy=0.5)
    run = simulate(plan, network, FIFO, same_draws(), None)
    # Both at half a byte a nanosecond until 800; then 600 bytes at full speed.
    assert ends(run, plan) == {"push": 800, "pull": 1400}


def test_a_workers_own_port_is_slower_both_ways_only_where_it_is_looked_at():
    plan = make_plan(
        [Op(name="pull", at=down(0), size_bytes=1000), Op(name="push", at=up(1), size_bytes=400)],
        servers=2,
    )
    for share, expected in (("equal", 1000), ("max_min", 1400)):
        network = make_network(share=share, servers=2, both_busy=0.5)
        run = simulate(plan, network, FIFO, same_draws(), None)
        assert ends(run, plan)["pull"] == expected


def two_servers_plan():
    """Everyone pulls from server 1 at once, from server 0 late or at once, as drawn."""
    return make_plan(
        [
            Op(name="wait", at=at_worker(), duration_ns=[0, 100_000]),
            Op(name="far", at=down(1), size_bytes=1000),
            Op(name="near", at=down(0), size_bytes=1000, after=("wait",)),
        ],
        servers=2,
        recorded=2,
    )


def test_two_servers_where_a_worker_is_alone_at_one():
    plan = two_servers_plan()
    draws = same_draws(workers=3)
    draws.step[1:] = 1
    network = make_network(share="two_servers", servers=2, workers=3)
    run = simulate(plan, network, FIFO, draws, None)
    # Worker 0 is one of three at server 1, and misses a third of server 0.
    assert ends(run, plan, worker=0)["near"] == pytest.approx(1500)
    assert ends(run, plan, worker=0)["far"] == pytest.approx(3000)
    assert ends(run, plan, worker=1)["far"] == pytest.approx(3000)
    assert ends(run, plan, worker=1)["near"] == pytest.approx(102_000)


def test_two_servers_where_a_worker_is_alone_at_both():
    plan = two_servers_plan()
    network = make_network(share="two_servers", servers=2)
    run = simulate(plan, network, FIFO, same_draws(), None)
    assert ends(run, plan) == {"wait": 0, "far": 2000, "near": 2000}


def test_two_servers_where_both_have_several_workers():
    plan = two_servers_plan()
    network = make_network(share="two_servers", servers=2, workers=2)
    run = simulate(plan, network, FIFO, same_draws(workers=2), None)
    assert {row.end_ns for row in run.operations} == {0, 2000}


def test_max_min_with_a_slow_worker():
    plan = make_plan([Op(name="pull", at=down(), size_bytes=900)])
    network = make_network(share="max_min", workers=2, worker_bps=[2_000_000_000, 8_000_000_000])
    run = simulate(plan, network, FIFO, same_draws(workers=2), None)
    # A quarter and three quarters of a byte a nanosecond.
    assert run.steps == [(1, 0, 0, 1200), (0, 0, 0, 3600)]


def test_max_min_where_a_workers_port_has_two_servers():
    plan = make_plan([Op(name=f"pull{k}", at=down(k), size_bytes=1000) for k in (0, 1)], servers=2)
    network = make_network(share="max_min", servers=2, server_bps=[8_000_000_000, 2_000_000_000])
    run = simulate(plan, network, FIFO, same_draws(), None)
    # Server 1 gives a quarter; server 0 three quarters to 4000/3, all of its own then.
    assert ends(run, plan)["pull0"] == pytest.approx(4000 / 3)
    assert ends(run, plan)["pull1"] == 4000


def test_an_unknown_share_and_a_third_server_are_refused():
    plan = chain_plan()
    with pytest.raises(ValueError, match="share: half: must be one of"):
        simulate(plan, make_network(share="half"), FIFO, same_draws(), None)
    network = make_network(share="two_servers", servers=3)
    with pytest.raises(ValueError, match="3 servers: must be 1 or 2"):
        simulate(plan, network, FIFO, same_draws(), None)
