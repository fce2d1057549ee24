"""Studies of schedules: what is simulated for them, and how figures are summed up."""

import numpy as np
import pytest

from bench.schedules.orders import NETWORKS, forward_part, points, rate_bps, shuffled
from bench.schedules.page import least_gap
from bench.schedules.published import published
from bench.schedules.scaled import BATCH, STEP_S, compute_s, scaled
from bench.schedules.studies import studies
from bench.schedules.transfers import Setting, least_step_s
from netcosim.scenario import build_scenario
from netcosim.workload.catalogue import load_profile
from netcosim.workload.profile_file import dump_profile, parse_profile
from topo.spec import GOODPUT_SHARE


def test_a_scaled_network_computes_as_long_as_was_measured_elsewhere():
    assert compute_s(scaled("resnet50"), BATCH) == pytest.approx(STEP_S, rel=1e-6)
    ratio = compute_s(scaled("vgg11"), 4) / compute_s(load_profile("vgg11"), 4)
    assert ratio == pytest.approx(STEP_S / compute_s(load_profile("resnet50"), BATCH), rel=1e-6)


@pytest.mark.parametrize("network", NETWORKS)
def test_the_forward_part_is_a_profile_without_anything_that_is_sent(network: str):
    part = parse_profile(dump_profile(forward_part(load_profile(network))), "forward.json")
    assert all(op.source == "server" for op in part.step.transfers)
    whole = load_profile(network)
    assert len(part.step.transfers) == sum(op.source == "server" for op in whole.step.transfers)
    assert 0 < np.sum(part.duration_ns) < np.sum(whole.duration_ns)


def test_another_listing_has_the_same_operations():
    profile = load_profile("alexnet")
    one, other = shuffled(profile, 1), shuffled(profile, 2)
    assert one.step.operations != other.step.operations
    assert set(one.step.operations) == set(other.step.operations) == set(profile.step.operations)


def test_receiving_takes_as_long_as_the_forward_pass():
    profile = load_profile("resnet50")
    bits = 8 * sum(op.size_bytes for op in profile.step.transfers if op.source == "server")
    forward = float(np.sum(forward_part(profile).duration_ns)) / 1e9
    assert bits / (rate_bps("resnet50") * GOODPUT_SHARE) == pytest.approx(forward, rel=1e-6)


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
