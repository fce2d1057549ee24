"""The data that lives in the project equals the reference material it was taken from."""

import json
import os
import re
from pathlib import Path

import pytest

from emu.capture import analyse_capture
from emu.identify.analysis_record import analysis_record
from netcosim.policies import load_placement
from netcosim.tensors import tensor_set

pytestmark = pytest.mark.shared

MIB = 2**20
PROFILES = {
    "alexnet": "alexnet_b4",
    "googlenet": "googlenet_b4",
    "inception_v3": "inception_v3_b4",
    "resnet50": "resnet50_b4",
    "vgg11": "vgg11_b4",
}


@pytest.fixture
def shared() -> Path:
    default = Path(__file__).parents[3] / "shared"
    return Path(os.environ.get("NETCOSIM_SHARED", default))


@pytest.mark.parametrize("name", sorted(PROFILES))
def test_tensor_sets_equal_the_measured_profiles(shared, name):
    profile = json.loads((shared / "data" / "torch" / f"{PROFILES[name]}.json").read_text())
    listed = [(t, size) for layer in profile["layers"] for t, size in layer["params"]]
    assert list(tensor_set(name).tensors) == listed


@pytest.mark.parametrize(
    ("graph", "name", "close"),
    [("resnet50", "resnet50", 0.01), ("alexnet", "alexnet", 0.02)],
)
def test_totals_agree_with_an_independent_profile(shared, graph, name, close):
    text = (shared / "data" / "pipedream" / f"{graph}.graph.txt").read_text()
    total = sum(float(size) for size in re.findall(r"parameter_size=([0-9.]+)", text))
    assert tensor_set(name).total_bytes == pytest.approx(total, rel=close)


def test_greedy_placement_is_that_of_the_paper(shared):
    """Li et al., section 5: VGG-11 on two servers splits into 407 and 100 MB (they mean MiB)."""
    paper = next((shared / "seeds").glob("000_*.txt")).read_text(encoding="utf-8")
    assert "407 MB instead of 100 MB" in paper
    sizes = [size for _, size in tensor_set("vgg11").tensors]
    servers = load_placement("greedy")(sizes, 2)
    loads = [sum(z for z, s in zip(sizes, servers, strict=True) if s == k) / MIB for k in (0, 1)]
    assert [round(load) for load in loads] == [407, 100]


CAPTURES = {
    # File: discipline and its options, credit rule, and what the discipline's statement says.
    "headers_5_1_3_in_one_segment": ("fifo", {}, None, "fifo (whole streams"),
    "credit_half_of_65535_is_32767": ("fifo", {}, "half", "fifo (whole streams"),
    "h2c_upgrade_without_syn": ("round_robin", {"quantum": 16384}, None, "one DATA frame"),
    "programs/apache-wide": ("round_robin", {"quantum": 16375}, None, "one DATA frame"),
    "programs/caddy2-default": ("round_robin", {"quantum": 16384}, "half", "one DATA frame"),
    "programs/hypercorn-default": ("round_robin", {"quantum": 16384}, "half", "one DATA frame"),
    "programs/nghttpd-default": ("round_robin", {"quantum": 16384}, "half", "one DATA frame"),
    # The last one asked for fills the buffer, then all take turns.
    "programs/granian-default": (None, {}, "half", "none of the known disciplines fits"),
    # The oldest stream takes what room there is, the others 64 KiB.
    "programs/nginx-wide": (None, {}, None, "turns were longer while others waited"),
    "programs/pull-1.59.5-six5": (None, {}, "grpc_progress", "10 of 12 streams went whole"),
    "programs/push-1.59.5-5242880": (None, {}, "grpc_progress", "3 of 5 streams went whole"),
}


@pytest.mark.parametrize("name", CAPTURES)
def test_captures_of_known_programs_get_the_right_names(shared, name):
    """The larger direction of each; what no rule explains gets no name."""
    discipline, options, rule, said = CAPTURES[name]
    path = shared / "data" / "captures" / f"{name}.pcap.gz"
    report = analyse_capture(path, gap_ns=None, search=True)
    (connection,) = analysis_record(report, name).connections
    direction = max(connection.directions, key=lambda each: each.data_bytes)
    verdict = direction.discipline
    assert (verdict.discipline, verdict.options) == (discipline, options), verdict.statement
    assert said in verdict.statement
    assert direction.credit.rule == rule, direction.credit.statement
