"""The data that lives in the project equals the reference material it was taken from."""

import json
import os
import re
from pathlib import Path

import pytest

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
