"""The share strategy of links: chosen once all else is known, and what a wrong one does."""

import tomllib
from typing import Any

import pytest

import sim
from netcosim.scenario import build_scenario, with_values
from sim.experiment.checks import checked_cells, notes
from sim.experiment.link_share import with_share
from tests.sim.cli.started import FAST

JOB: dict[str, Any] = tomllib.loads(FAST)
SLOW_LINK = {"kind": "link", "workers": [1], "options": {"part": 0.5}}


@pytest.mark.parametrize(
    ("changes", "share"),
    [
        ({}, "equal"),
        ({"cluster.links.w1.rate": "10gbit"}, "equal"),
        ({"cluster.links.w1.rate": "999mbit"}, "max_min"),
        ({"cluster.links.w1.rate": "2gbit", "training.rates": ["1gbit", "5gbit"]}, "max_min"),
        ({"cluster.servers": 2}, "max_min"),
        ({"straggler": [SLOW_LINK]}, "max_min"),
        ({"training.share": "two_servers", "cluster.servers": 2}, "two_servers"),
        ({"training.share": "max_min"}, "max_min"),
    ],
)
def test_it_is_the_cheapest_that_is_right_unless_it_is_given(changes, share):
    scenario = with_share(with_values(build_scenario(JOB), changes))
    assert scenario.training.share == share
    assert {cell.network(1).share for cell in checked_cells(scenario)} == {share}


@pytest.mark.oracle
def test_no_port_carries_more_than_its_rate():
    """A worker alone with eight servers is as fast as its own port, whoever asks."""
    alone = {"training.workers": [1], "cluster.servers": 8, "cluster.link.rate": "100mbit"}
    chosen = sim.simulate(JOB, alone).summary
    (point,) = chosen.series[0].points
    one_server = sim.simulate(JOB, {**alone, "cluster.servers": 1}).summary
    limit = one_server.series[0].points[0].steps_per_s
    assert chosen.trusted
    # What one server would send one after the other comes at once, and no faster.
    assert point.steps_per_s.mean == pytest.approx(limit.mean, rel=0.02)


def test_a_given_one_that_overfills_a_port_is_told_and_not_trusted():
    alone = {"training.workers": [1], "cluster.servers": 8, "training.share": "equal"}
    result = sim.simulate(JOB, alone)
    assert result.notes == (
        "alexnet/whole: share equal does not look at workers' links: w0 has 1gbit, and may get"
        " 8gbit from all servers at once; max_min keeps to it",
    )
    assert not result.summary.trusted
    assert result.summary.complete
    assert result.summary.reasons == (
        "alexnet/whole: with 1 worker a worker's port carried more than its rate, as share equal"
        " does not look at it; take max_min",
    )


def test_a_given_one_that_fills_no_port_is_trusted():
    scenario = build_scenario(JOB | {"training": {**JOB["training"], "share": "equal"}})
    assert notes(scenario, checked_cells(scenario)) == []
    assert sim.simulate(scenario).summary.trusted
