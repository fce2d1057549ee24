"""What one step more of each thing changes, from runs made for it."""

import tomllib
from typing import Any

import pytest

import sim
from netcosim.scenario import build_scenario
from sim.experiment.cell import training_cells
from sim.experiment.one_step_more import USUAL_RATES_BPS, steps_more
from tests.sim.cli.started import FAST

WHOLE = {"sender": "grpc", "receiver": "grpc", "flow_control": False, "whole_messages": True}
JOB: dict[str, Any] = {**tomllib.loads(FAST), "transport": [{"name": "whole", **WHOLE}]}


def test_each_change_is_the_scenario_with_that_change() -> None:
    """The same figures as somebody gets who types it; interpreted kernels would give the same."""
    (series,) = sim.simulate(JOB, recommend=True).summary.series
    found = series.recommendation
    typed = {
        "rate": {"cluster.link.rate": "2500mbit"},
        "servers": {"cluster.servers": 2},
        "batch": {"training.batch": 2 * series.batch},
    }
    assert [change.what for change in found.changes] == list(typed)
    for change in found.changes:
        again = sim.simulate(JOB, {**typed[change.what], "training.workers": [found.workers]})
        (point,) = again.summary.series[0].points
        assert change.examples_per_s == point.examples_per_s
        gain = point.examples_per_s.mean / found.examples_per_s.mean - 1
        assert change.gain == pytest.approx(gain)


def test_it_is_at_the_knee_or_at_the_most_workers() -> None:
    fast = {"training.workers": [1, 2], "cluster.link.rate": "100gbit"}
    few = sim.simulate(JOB, fast, recommend=True).summary.series[0]
    assert (few.saturation, few.recommendation.workers) == (None, 2)
    assert not few.recommendation.reached
    slow = {"training.workers": [1, 4, 8, 16], "cluster.link.rate": "100mbit"}
    many = sim.simulate(JOB, slow, recommend=True).summary.series[0]
    assert many.recommendation.reached
    assert many.recommendation.workers == many.saturation.workers


def test_what_can_not_be_simulated_is_left_out() -> None:
    pair = build_scenario(JOB | {"cluster": {"topology": "pair", "link": {"rate": "800gbit"}}})
    (cell,) = training_cells(
        pair.model_copy(update={"training": pair.training.model_copy(update={"workers": (1,)})})
    )
    assert [more.what for more in steps_more(cell, 1)] == ["batch"]


def test_a_rate_is_the_next_that_is_sold() -> None:
    assert list(USUAL_RATES_BPS) == sorted(set(USUAL_RATES_BPS))
    steps = ("1gbit 2500mbit", "2500mbit 5gbit", "7gbit 25gbit", "10gbit 25gbit", "40gbit 100gbit")
    for rate, more in map(str.split, steps):
        cluster = {"topology": "star", "link": {"rate": rate}}
        (cell,) = training_cells(build_scenario(JOB | {"cluster": cluster}))
        assert steps_more(cell, 1)[0].after == more
