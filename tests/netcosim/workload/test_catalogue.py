"""The built-in profiles, the torch importer behind them, and the branches of their networks."""

import json
import os
import random
from collections import Counter
from collections.abc import Mapping, Sequence
from importlib import resources
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from netcosim.errors import ScenarioError
from netcosim.tensors import tensor_set
from netcosim.workload import Compute, Profile, dump_profile, parse_profile
from netcosim.workload.catalogue import load_profile, profile_names
from netcosim.workload.importers import torch
from netcosim.workload.lint import lint
from netcosim.workload.profile_import import import_profile
from netcosim.workload.topological_order import sorted_nodes
from netcosim.workload.wiring import wire
from tests.snapshots import refusal

BATCHES = {
    "alexnet": 8,
    "alexnet_b4": 4,
    "googlenet": 4,
    "inception_v3": 4,
    "resnet50": 8,
    "resnet50_b4": 4,
    "vgg11": 4,
}


def source_of(name: str) -> dict[str, Any]:
    file = resources.files("netcosim.workload") / "data" / f"{name}.json"
    return json.loads(file.read_text("utf-8"))


def test_what_the_catalogue_holds():
    assert dict.fromkeys(profile_names()) == dict.fromkeys(BATCHES)
    assert {name: load_profile(name).batch for name in BATCHES} == BATCHES
    with pytest.raises(ScenarioError, match='profile: "lenet": unknown; allowed: alexnet, '):
        load_profile("lenet")


@pytest.mark.parametrize("name", sorted(BATCHES))
def test_a_built_in_profile_is_sound_and_says_what_is_assumed(name):
    profile = load_profile(name)
    assert profile.name == name
    assert lint(profile) == ()
    assert "is assumed, not measured" in profile.provenance
    assert profile.jitter is not None
    jitter = profile.jitter
    assert (jitter.model, jitter.spread, jitter.scope) == ("lognormal", 0.1, "step")
    assert parse_profile(dump_profile(profile)) == profile


@pytest.mark.parametrize("name", sorted(BATCHES))
def test_its_tensors_are_those_of_the_set(name):
    pulls = {op.tensor: op.size_bytes for op in load_profile(name).step.transfers
             if op.source == "server"}  # fmt: skip
    assert pulls == dict(tensor_set(name.removesuffix("_b4")).tensors)


@pytest.mark.parametrize("name", sorted(BATCHES))
def test_its_times_come_to_what_was_measured(name):
    source, profile = source_of(name), load_profile(name)
    of = Counter[str]()
    for op, ns in zip(profile.step.computes, profile.duration_ns[0], strict=True):
        of[op.name.rpartition("/")[2]] += ns
    layers = len(source["layers"])
    for way, short in (("forward", "fwd"), ("backward", "bwd")):
        measured_us = sum(layer[f"{short}_us_median"] for layer in source["layers"])
        assert of[way] == pytest.approx(1e3 * measured_us, abs=layers)
        assert of[way] < 1e9 * source[f"{way}_s_median"]
    assert of["update"] == pytest.approx(1e9 * source["optimizer_s_median"], abs=2 * layers)
    assert of["loss"] == 0


def test_updates_share_the_optimizers_time_by_bytes():
    profile = load_profile("vgg11")
    sizes = {op.tensor: op.size_bytes for op in profile.step.transfers}
    for op, ns in zip(profile.step.computes, profile.duration_ns[0], strict=True):
        if op.tensor is not None:
            share = sizes[op.tensor] / sum(sizes.values())
            assert ns == pytest.approx(0.108273 * 1e9 * share, abs=1)


def layer(name, params, forward_us, backward_us) -> dict[str, Any]:
    times = {"fwd_us_median": forward_us, "bwd_us_median": backward_us}
    return {"name": name, "params": params, **times}


TINY: dict[str, Any] = {
    "model": "mine",
    "batch": 2,
    "torch": "2.0",
    "threads": 1,
    "iters": 3,
    "forward_s_median": 0.1,
    "backward_s_median": 0.2,
    "optimizer_s_median": 0.000003,
    "layers": [
        layer("a", [["a.weight", 200], ["a.bias", 100]], 1.5, 2.25),
        layer("b", [], 0.5, 0),
    ],
}


def tiny(**changes: Any) -> Profile:
    return torch.read(json.dumps({**TINY, **changes}), "t.json", None)


def with_layer(**changes: Any) -> dict[str, Any]:
    return {"layers": [TINY["layers"][0], {**TINY["layers"][1], **changes}]}


def test_an_unknown_network_is_a_chain_and_its_tensors_move_apart():
    profile = tiny()
    assert {op.name: op.after for op in profile.step.operations} == {
        "a.weight/pull": (),
        "a.bias/pull": (),
        "a/forward": ("a.weight/pull", "a.bias/pull"),
        "b/forward": ("a/forward",),
        "loss": ("b/forward",),
        "b/backward": ("loss",),
        "a/backward": ("b/backward",),
        "a.weight/push": ("a/backward",),
        "a.bias/push": ("a/backward",),
        "a.weight/update": ("a.weight/push",),
        "a.bias/update": ("a.bias/push",),
    }
    assert profile.duration_ns == ((1500, 500, 0, 0, 2250, 2000, 1000),)
    assert (profile.name, profile.batch) == ("mine-b2", 2)
    assert lint(profile) == ()


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"batch": 0}, "batch: 0: must be >= 1"),
        ({"optimizer_s_median": -1}, "optimizer_s_median: -1: must be >= 0"),
        (with_layer(fwd_us_median="2"), 'layer "b": fwd_us_median: "2": must be a number'),
        (with_layer(params=[["b.weight", 0]]), 'layer "b": params[0][1]: 0: must be >= 1'),
        (with_layer(name=3), "layer number 1: name: 3: must be text"),
        (with_layer(name="a"), 'layer "a": is there twice; must be unique'),
        ({"layers": ["fwd_us_median"]}, "layer number 0: "),
        ({"layers": []}, "is not a layer profile"),
        ({"layers": [], "fwd_us_median": 1}, "no layers; must have at least one"),
    ],
)
def test_a_wrong_layer_profile_is_refused(changes, message):
    assert refusal(tiny, **changes).startswith(f"t.json: {message}")


@given(st.integers(0, 2**32))
def test_changed_bytes_are_imported_or_refused(seed):
    rng = random.Random(seed)
    text = list(json.dumps(TINY))
    for _ in range(rng.randint(1, 4)):
        place = rng.randrange(len(text))
        text[place : place + rng.randint(0, 3)] = rng.choice(
            ["", "0", "-", '"', "[", "}", ",", "\\u0000", "9" * 30, "null"]
        )
    try:
        profile = torch.read("".join(text), "t.json", None)
    except ScenarioError as problem:
        assert str(problem).startswith("t.json: ")
        assert str(problem).isprintable()
    else:
        assert parse_profile(dump_profile(profile)) == profile


def test_a_parameter_of_two_layers_is_noticed():
    shared = tiny(**with_layer(params=[["a.weight", 200]]))
    assert 'operation "a.weight/pull": name: 2 operations have it' in str(lint(shared)[0])


def wired(name: str) -> dict[str, tuple[str, ...]]:
    source = source_of(name)
    return wire(source["model"], [layer["name"] for layer in source["layers"]])


@pytest.mark.parametrize("name", sorted(BATCHES))
def test_every_layer_is_wired_between_the_first_and_the_classifier(name):
    reads = wired(name)
    names = [layer["name"] for layer in source_of(name)["layers"]]
    assert sorted(reads) == sorted(names)
    assert [n for n in names if not reads[n]] == names[:1]
    read = {other for inputs in reads.values() for other in inputs}
    assert set(names) - read == {names[-1]}
    assert len(sorted_nodes(reads)) == len(names)


def test_an_inception_block_of_googlenet():
    """Figure 2b: 1x1; 1x1 and 3x3; 1x1 and the largest; pooling and 1x1."""
    reads = wired("googlenet")
    assert reads["inception3a.branch1.conv"] == ("maxpool2",)
    assert reads["inception3a.branch4.1.conv"] == ("inception3a.branch4.0",)
    tails = tuple(f"inception3a.branch{tail}.bn" for tail in ("1", "2.1", "3.1", "4.1"))
    heads = ("branch1.conv", "branch2.0.conv", "branch3.0.conv", "branch4.0")
    assert all(reads[f"inception3b.{head}"] == tails for head in heads)
    assert len(reads["maxpool3"]) == len(reads["maxpool4"]) == len(reads["avgpool"]) == 4
    readers = Counter(len(inputs) for inputs in reads.values())
    # Nine blocks; 4 heads read 4 tails in the six that follow a block, and 3 layers behind blocks.
    assert readers[4] == 6 * 4 + 3


def test_blocks_of_inception_v3():
    """Figures 5 to 7 and 10 of the paper."""
    reads = wired("inception_v3")
    assert reads["Mixed_5b.branch5x5_2.conv"] == ("Mixed_5b.branch5x5_1.bn",)
    assert len(reads["Mixed_5c.branch_pool.conv"]) == 4
    assert len(reads["Mixed_6b.branch7x7dbl_1.conv"]) == 2  # the grid reduction's third pools
    for half in "ab":
        assert reads[f"Mixed_7b.branch3x3_2{half}.conv"] == ("Mixed_7b.branch3x3_1.bn",)
        assert reads[f"Mixed_7b.branch3x3dbl_3{half}.conv"] == ("Mixed_7b.branch3x3dbl_2.bn",)
        assert reads[f"Mixed_7b.branch3x3_2{half}.bn"] == (f"Mixed_7b.branch3x3_2{half}.conv",)
    assert len(reads["avgpool"]) == 6


def test_a_residual_block_that_changes_its_size():
    reads = wired("resnet50")
    assert reads["layer2.0.downsample.0"] == reads["layer2.0.conv1"] == ("layer1.2.relu",)
    assert reads["layer2.0.relu"] == ("layer2.0.bn3", "layer2.0.downsample.1")
    assert reads["layer2.1.relu"] == ("layer2.1.bn3",)
    assert sum(len(inputs) == 2 for inputs in reads.values()) == 4


def test_the_shortcut_may_be_listed_behind_the_relu():
    names = ["conv1", "layer1.0.conv1", "layer1.0.relu", "layer1.0.downsample.0", "fc"]
    assert wire("resnet18", names) == {
        "conv1": (),
        "layer1.0.conv1": ("conv1",),
        "layer1.0.downsample.0": ("conv1",),
        "layer1.0.relu": ("layer1.0.conv1", "layer1.0.downsample.0"),
        "fc": ("layer1.0.relu",),
    }


def test_auxiliary_classifiers_stand_beside_the_path():
    names = ["a", "inception4a.branch1.conv", "aux1.conv", "aux1.fc", "inception4b.branch1.conv"]
    reads = wire("googlenet", names)
    assert reads["aux1.conv"] == reads["inception4b.branch1.conv"] == ("inception4a.branch1.conv",)
    assert reads["aux1.fc"] == ("aux1.conv",)


def test_what_is_called_like_a_block_elsewhere_is_a_chain():
    assert wire("vgg11", ["a", "layer1.0.downsample.0", "b"])["b"] == ("layer1.0.downsample.0",)


Edges = set[tuple[str, str]]


def reduced(reads: Mapping[str, Sequence[str]], kept: set[str]) -> Edges:
    """Edges among the kept layers, through the others, without those that longer paths imply."""
    ahead: dict[str, set[str]] = {}  # all kept layers before
    nearest: dict[str, set[str]] = {}
    for name in sorted_nodes(reads):
        direct = {
            found
            for other in reads[name]
            for found in ({other} if other in kept else nearest[other])
        }
        implied = set().union(*(ahead[other] for other in direct)) if direct else set()
        nearest[name] = direct - implied
        ahead[name] = direct | implied
    return {(other, name) for name in kept for other in nearest[name]}


def signature(edges: Edges, size: Mapping[str, int]) -> Counter[tuple[int, int]]:
    return Counter((size[a], size[b]) for a, b in edges)


@pytest.mark.shared
@pytest.mark.parametrize("name", ["inception_v3", "resnet50"])
def test_branches_agree_with_a_graph_that_was_traced(name):
    """PipeDream traced the same networks: convolutions and classifiers, by their bytes."""
    default = Path(__file__).parents[4] / "shared"
    folder = Path(os.environ.get("NETCOSIM_SHARED", default)) / "data" / "pipedream"
    traced = import_profile(folder / f"{name}.graph.txt")
    reads = {
        op.name.removesuffix("/forward"): [
            other.removesuffix("/forward") for other in op.after if other.endswith("/forward")
        ]
        for op in traced.step.operations
        if isinstance(op, Compute) and op.name.endswith("/forward")
    }
    size = {op.tensor: op.size_bytes for op in traced.step.transfers}
    main = {n for n in reads if "BatchNorm" not in n and n in size} - auxiliary(reads)
    ours = {
        layer["name"]: sum(z for _, z in layer["params"])
        for layer in source_of(name)["layers"]
        if layer["params"] and layer["type"] != "BatchNorm2d"
    }
    expected = signature(reduced(reads, main), size)
    assert sum(expected.values()) > len(main)
    assert signature(reduced(wired(name), set(ours)), ours) == expected


def auxiliary(reads: Mapping[str, Sequence[str]]) -> set[str]:
    """Layers from which the last classifier does not read."""
    ahead = [sorted_nodes(reads)[-1]]
    main = set(ahead)
    while ahead:
        new = set(reads[ahead.pop()]) - main
        main |= new
        ahead += new
    return set(reads) - main
