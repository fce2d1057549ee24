"""PipeDream's graphs: a small one by hand, everything wrong with one, the ten published ones."""

import json
import os
import random
from functools import partial
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from netcosim.errors import ScenarioError
from netcosim.scenario import WorkloadSpec, load_workload
from netcosim.workload import Compute, Profile, Transfer, dump_profile, parse_profile
from netcosim.workload.importers import UnknownBatchError, pipedream
from netcosim.workload.lint import lint
from netcosim.workload.profile_import import import_profile, importer_names, load_importer
from tests.snapshots import assert_kept, refusal, refusals


def node(name: str, what: str, times: tuple[str, str], sizes: tuple[str, str]) -> str:
    return (
        f"{name} -- {what} -- forward_compute_time={times[0]}, backward_compute_time={times[1]},"
        f" activation_size={sizes[0]}, parameter_size={sizes[1]}"
    )


FEATURES = "in_features=16, out_features=10, bias=True"
# Two branches between a convolution and an addition; the nodes stand in no order.
LINES = [
    node("node5", "Add(inplace)", ("0.000", "0.000"), ("512.000", "0.000")),
    node("node2", "Conv2d(3, 4, kernel_size=(1, 1))", ("1.5", "3.25"), ("512.000", "48.000")),
    node("node1", "Input", ("99.000", "0.000"), ("96.000", "0.000")),
    node("node3", "ReLU(inplace)", ("0.000001", "0.0000004"), ("512.000", "0.000")),
    node("node4", "Conv2d(4, 4, kernel_size=(1, 1))", ("2", "4"), ("512.000", "64.000")),
    node("node6", f"Linear({FEATURES})", ("0.5", "0.7"), ("320.000", "680.000")),
    *(f"\tnode{a} -- node{b}" for a, b in ((1, 2), (2, 3), (2, 4), (4, 5), (3, 5), (5, 6))),
]


def imported(lines: list[str], batch: int | None = None) -> Profile:
    return pipedream.read("\n".join(lines), "some/net.graph.txt", batch)


def durations(profile: Profile) -> dict[str, int]:
    names = [op.name for op in profile.step.computes]
    return dict(zip(names, profile.duration_ns[0], strict=True))


def after(profile: Profile) -> dict[str, set[str]]:
    return {op.name: set(op.after) for op in profile.step.operations}


def test_a_graph_becomes_forward_loss_backward():
    profile = imported(LINES)
    assert after(profile) == {
        "node2.Conv2d/pull": set(),
        "node4.Conv2d/pull": set(),
        "node6.Linear/pull": set(),
        "node2.Conv2d/forward": {"node2.Conv2d/pull"},
        "node3.ReLU/forward": {"node2.Conv2d/forward"},
        "node4.Conv2d/forward": {"node4.Conv2d/pull", "node2.Conv2d/forward"},
        "node5.Add/forward": {"node3.ReLU/forward", "node4.Conv2d/forward"},
        "node6.Linear/forward": {"node6.Linear/pull", "node5.Add/forward"},
        "loss": {"node6.Linear/forward"},
        "node6.Linear/backward": {"loss"},
        "node6.Linear/push": {"node6.Linear/backward"},
        "node6.Linear/update": {"node6.Linear/push"},
        "node5.Add/backward": {"node6.Linear/backward"},
        "node4.Conv2d/backward": {"node5.Add/backward"},
        "node4.Conv2d/push": {"node4.Conv2d/backward"},
        "node4.Conv2d/update": {"node4.Conv2d/push"},
        "node3.ReLU/backward": {"node5.Add/backward"},
        "node2.Conv2d/backward": {"node3.ReLU/backward", "node4.Conv2d/backward"},
        "node2.Conv2d/push": {"node2.Conv2d/backward"},
        "node2.Conv2d/update": {"node2.Conv2d/push"},
    }


def test_times_become_whole_nanoseconds_and_updates_take_none():
    found = durations(imported(LINES))
    assert found["node2.Conv2d/forward"] == 1_500_000
    assert found["node2.Conv2d/backward"] == 3_250_000
    assert found["node3.ReLU/forward"] == 1
    assert found["node3.ReLU/backward"] == 0
    assert {ns for name, ns in found.items() if name.endswith("/update")} == {0}


def test_parameters_go_both_ways_whole():
    profile = imported(LINES)
    sizes = {(op.tensor, op.source): op.size_bytes for op in profile.step.transfers}
    assert sizes == {
        (f"{layer}", role): size
        for layer, size in (("node2.Conv2d", 48), ("node4.Conv2d", 64), ("node6.Linear", 680))
        for role in ("server", "worker")
    }
    assert {op.connection for op in profile.step.transfers} == {"data"}
    shares = {op.name: op.batch_share for op in profile.step.computes}
    assert all(share == (not name.endswith("/update")) for name, share in shares.items())


def test_what_an_import_says_of_itself():
    profile = imported(LINES)
    assert (profile.name, profile.batch, profile.samples) == ("net-b8", 8, "medians")
    assert "batch 8 by its activations" in profile.provenance
    assert "assumed, not measured" in profile.provenance
    assert lint(profile) == ()
    assert parse_profile(dump_profile(profile)) == profile
    assert imported(LINES, batch=16).batch == 16
    assert "batch 16 as given" in imported(LINES, batch=16).provenance


def test_the_batch_must_be_given_where_the_layers_do_not_tell_it():
    message = "some/net.graph.txt: batch: the sizes of activations do not tell it; must be given"
    unknown = [line for line in LINES if "node6" not in line]
    differing = [*LINES, node("node7", "View(16)", ("0", "0"), ("128.0", "0"))]
    broken = [line.replace("320.000", "321.000") for line in LINES]
    for lines in (unknown, differing, broken):
        assert refusal(imported, lines) == message
        assert imported(lines, batch=3).batch == 3


def test_the_state_of_an_lstm_tells_the_batch():
    lines = [node("node1", "LSTM(8, 16)", ("1", "1"), ("[9999.0; 2048.0; 2048.0]", "4"))]
    assert imported(lines).batch == 32


DAMAGED = {
    "a negative time": ("=1.5,", "=-1.5,"),
    "a time that is no number": ("=3.25,", "=nan,"),
    "a size with an exponent": ("=48.000", "=4e1"),
    "a time of many years": ("=1.5,", "=9999999999999999,"),
    "a node twice": ("node5 -- Add", "node2 -- Add"),
    "an edge to nowhere": ("\tnode5 -- node6", "\tnode5 -- node7"),
    "an edge twice": ("\tnode5 -- node6", "\tnode2 -- node3"),
    "an edge as a node": ("\tnode5 -- node6", "node5 -- node6"),
    "half a line": (", activation_size=96", ", activ"),
    "a cycle": ("\tnode1 -- node2", "\tnode6 -- node2"),
}


def test_a_damaged_graph_is_refused_with_its_line():
    text = "\n".join(LINES)
    assert all(text.count(was) == 1 for was, _ in DAMAGED.values())
    calls = {
        name: partial(pipedream.read, text.replace(*change), "g.txt", 4)
        for name, change in DAMAGED.items()
    }
    assert_kept(Path(__file__).parent / "snapshots/pipedream.txt", refusals(calls))


def test_a_graph_of_inputs_alone_has_no_layers():
    with pytest.raises(ScenarioError, match="no layers; must have at least one"):
        imported([LINES[2]], batch=1)


@given(st.integers(0, 2**32))
def test_changed_bytes_are_imported_or_refused(seed):
    rng = random.Random(seed)
    text = list("\n".join(LINES))
    for _ in range(rng.randint(1, 4)):
        place = rng.randrange(len(text))
        text[place : place + rng.randint(0, 3)] = rng.choice(
            ["", "0", "-", ",", " -- ", "\n", "\t", "\0", "9" * 30, "\u0661", "=", "e"]
        )
    try:
        profile = pipedream.read("".join(text), "g.txt", 4)
    except ScenarioError as problem:
        assert str(problem).startswith("g.txt: ")
        assert str(problem).isprintable()
    else:
        assert parse_profile(dump_profile(profile)) == profile


def test_every_importer_is_complete():
    assert importer_names() == ("own", "pipedream", "torch")
    for name in importer_names():
        importer = load_importer(name)
        assert importer.SUMMARY
        assert not importer.matches("")
    with pytest.raises(ScenarioError, match='"onnx": unknown; allowed: own, pipedream, torch'):
        load_importer("onnx")


def test_the_format_is_found_by_what_is_in_the_file(tmp_path):
    graph = tmp_path / "net.graph.txt"
    graph.write_text("\n".join(LINES))
    profile = import_profile(graph)
    assert profile == import_profile(graph, "pipedream")
    own = tmp_path / "net.json"
    own.write_text(dump_profile(profile))
    assert import_profile(own) == profile
    assert import_profile(own, batch=8) == profile


def test_a_file_of_another_format_is_refused(tmp_path):
    file = tmp_path / "x"
    file.write_text("{}")
    for importer, message in (
        (None, "of no known format; allowed: own: a profile of this project (JSON); pipedream: "),
        ("pipedream", "is not a layer graph of PipeDream"),
        ("torch", "is not a layer profile of PyTorch"),
        ("own", "name: is required"),
    ):
        assert refusal(import_profile, file, importer).startswith(f"{file}: {message}")
    both = tmp_path / "both.json"
    keys = {"format": "netcosim-profile", "layers": [], "fwd_us_median": 1}
    both.write_text(json.dumps(keys))
    with pytest.raises(ScenarioError, match="may be own or torch; name the importer"):
        import_profile(both)


def test_a_batch_that_is_none_or_contradicts_the_file(tmp_path):
    own = tmp_path / "net.json"
    own.write_text(dump_profile(imported(LINES)))
    with pytest.raises(ScenarioError, match="batch: 0: must be >= 1"):
        import_profile(own, batch=0)
    with pytest.raises(ScenarioError, match="batch: 9: the file says 8"):
        import_profile(own, batch=9)


PUBLISHED = {  # nodes without Inputs, batch, MiB of parameters
    "alexnet": (22, 256, 233.1),
    "densenet121": (428, 64, 30.4),
    "gnmt": (45, 32, 739.2),
    "inception_v3": (325, 128, 103.6),  # TicTac (Hashemi et al. 2019), table 1: 103.6
    "resnet101": (346, 64, 169.9),
    "resnet18": (70, 256, 44.6),
    "resnet50": (176, 128, 97.5),  # as above: 97.5
    "resnext50": (176, 128, 95.5),
    "squeezenet1_0": (67, 256, 4.8),
    "vgg16": (40, 128, 527.8),  # as above: 527.8
}


@pytest.mark.shared
@pytest.mark.parametrize(("name", "expected"), PUBLISHED.items(), ids=PUBLISHED)
def test_a_published_graph(name, expected):
    nodes, batch, mib = expected
    default = Path(__file__).parents[4] / "shared"
    folder = Path(os.environ.get("NETCOSIM_SHARED", default)) / "data" / "pipedream"
    profile = import_profile(folder / f"{name}.graph.txt")
    forward = [op for op in profile.step.computes if op.name.endswith("/forward")]
    assert (len(forward), profile.batch) == (nodes, batch)
    for source in ("server", "worker"):
        total = sum(op.size_bytes for op in profile.step.transfers if op.source == source)
        assert total / 2**20 == pytest.approx(mib, abs=0.05)
    assert lint(profile) == ()
    kinds = {type(op) for op in profile.step.operations}
    assert kinds == {Compute, Transfer}


TELLING = """\
node1 -- Input -- forward_compute_time=0.000, backward_compute_time=0.000, activation_size=96.000, parameter_size=0.000
node2 -- Linear(in_features=3, out_features=10, bias=True) -- forward_compute_time=0.500, backward_compute_time=0.700, activation_size=320.000, parameter_size=160.000
\tnode1 -- node2
"""  # noqa: E501
SILENT = TELLING.replace("Linear(in_features=3, out_features=10, bias=True)", "Conv2d(3, 4)")


def workload(folder: Path, text: str) -> WorkloadSpec:
    path = folder / "some.graph.txt"
    path.write_text(text)
    return WorkloadSpec.model_validate({"name": "some", "profile": str(path)})


def test_a_file_that_tells_is_read_as_it_is(tmp_path: Path) -> None:
    given = workload(tmp_path, TELLING)
    assert load_workload(given).batch == 8
    assert load_workload(given, 16) == load_workload(given)


def test_a_file_that_does_not_tell_has_the_batch_asked_for(tmp_path: Path) -> None:
    given = workload(tmp_path, SILENT)
    with pytest.raises(UnknownBatchError, match="batch: the sizes of activations do not tell it"):
        load_workload(given)
    found = load_workload(given, 16)
    assert (found.batch, found.name) == (16, "some-b16")
    assert set(found.duration_ns[0]) == {500_000, 700_000, 0}


def test_a_batch_does_not_mend_what_is_damaged(tmp_path: Path) -> None:
    given = workload(tmp_path, SILENT.replace("0.700", "x"))
    with pytest.raises(ScenarioError, match="must be a number") as refused:
        load_workload(given, 16)
    assert not isinstance(refused.value, UnknownBatchError)
