"""Studies of schedules: what is simulated for them, and how figures are summed up."""

import itertools

import numpy as np
import pytest

from bench.schedules.orders import NETWORKS, points
from bench.schedules.orders_random import against_tic, forward_pass, gaps, random_network
from bench.schedules.page import least_gap
from bench.schedules.published import published
from bench.schedules.scaled import BATCH, STEP_S, compute_s, scaled
from bench.schedules.studies import studies
from bench.schedules.transfers import Setting, least_step_s
from netcosim.policies import load_order
from netcosim.policies.makespan import makespan_ns
from netcosim.policies.order_input import OrderInput
from netcosim.scenario import build_scenario
from netcosim.step_graph import topological_order
from netcosim.workload.catalogue import load_profile
from topo.spec import GOODPUT_SHARE


def test_a_scaled_network_computes_as_long_as_was_measured_elsewhere():
    assert compute_s(scaled("resnet50"), BATCH) == pytest.approx(STEP_S, rel=1e-6)
    ratio = compute_s(scaled("vgg11"), 4) / compute_s(load_profile("vgg11"), 4)
    assert ratio == pytest.approx(STEP_S / compute_s(load_profile("resnet50"), BATCH), rel=1e-6)


def test_all_that_is_simulated_is_a_scenario(tmp_path):
    for study in studies():
        setting = study.settings[0]
        build_scenario(setting.scenario(tmp_path / "x.json"))
    assert len({point.file_name for point in points()}) > len(NETWORKS)


def test_no_schedule_beats_computing_and_one_slice_there_and_back():
    setting = Setting(network="resnet50", schedule="p3", rate_bps=10**12)
    assert least_step_s(setting) == pytest.approx(STEP_S, rel=1e-3)
    slow = Setting(network="resnet50", schedule="p3", rate_bps=10**8, workers=2)
    size = sum(op.size_bytes for op in scaled("resnet50").step.transfers if op.source == "worker")
    assert least_step_s(slow) == pytest.approx(2 * 8 * size / GOODPUT_SHARE / 1e8)


def test_a_gap_that_all_runs_agree_on_is_no_chance():
    one = {"values": [10.0, 20.0, 30.0], "examples_per_s": 20.0}
    other = {"values": [11.0, 21.0, 31.0], "examples_per_s": 21.0}
    assert least_gap([one, other]) == pytest.approx(0.0, abs=1e-12)
    noisy = {"values": [9.0, 24.0, 27.0], "examples_per_s": 20.0}
    assert least_gap([one, noisy]) > 0.3


def test_what_was_published_stands_at_its_own_point():
    assert published("resnet50", 64, 10**9, "prophet") == 27.7
    assert published("resnet50", 16, 3 * 10**9, "bytescheduler") == 14.22
    assert published("vgg11", 64, 10**9, "prophet") is None
    assert published("resnet50", 64, 10**9, "fifo") is None


@pytest.mark.parametrize("listed", list(itertools.permutations(range(3))))
def test_tac_beats_tic_by_a_fifth_where_dependencies_mislead(listed):
    drawn = against_tic()
    step = forward_pass(drawn.duration_ns, drawn.predecessors, listed)
    told = OrderInput(sizes_bytes=[1] * 3, step=step)
    tac, tic = (
        makespan_ns(step, load_order(name)(told, np.random.default_rng(0)))
        for name in ("tac", "tic")
    )
    assert (tac, tic) == (13.0, 22.0)
    assert tac <= 0.8 * tic


def test_random_networks_are_steps_and_no_order_is_better_than_the_best():
    for seed in range(50):
        step = random_network(np.random.default_rng(seed), shuffled=bool(seed % 2))
        pulls = step.kind.count("pull")
        assert 2 <= pulls <= 8
        assert sorted(step.tensor[:pulls]) == list(range(pulls))
        waited_for = {before for each in step.predecessors for before in each}
        assert set(range(pulls)) <= waited_for
        assert len(topological_order(step)) == len(step)
        assert min(gap.mean for gap in gaps(2, seed).values()) >= 0
