"""Every rule of the linter finds its seeded fault and nothing else; the command says the same."""

import copy
import itertools
import json
import random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from netcosim.cli.lint_profile import main
from netcosim.errors import ScenarioError
from netcosim.workload.graph import cycle_text, find_cycle, sorted_nodes
from netcosim.workload.lint import check, lint
from tests.workload.profiles import changed, plain, profile


def found(data: dict[str, Any]) -> list[str]:
    return [f"{f.severity}: {f}" for f in lint(profile(data))]


def with_operation(row: list[int] | None = None, **fields: Any) -> dict[str, Any]:
    """The plain profile with one operation more, at the end."""
    data = plain(duration_ns=(row and [row]) or plain()["duration_ns"])
    data["step"]["operations"].append(fields)
    return data


def without(name: str) -> dict[str, Any]:
    """The plain profile without an operation that computes, nor its column."""
    data = plain()
    operations = data["step"]["operations"]
    columns = [op["name"] for op in operations if op["kind"] == "compute"]
    data["step"]["operations"] = [op for op in operations if op["name"] != name]
    for row in data["duration_ns"]:
        del row[columns.index(name)]
    return data


def resources(*entries: dict[str, Any]) -> dict[str, Any]:
    data = plain()
    data["step"]["resources"] += entries
    return data


def sliced(down: tuple[int, ...], up: tuple[int, ...]) -> dict[str, Any]:
    """The plain profile with its tensor in slices of these sizes."""
    data = plain()
    pull, forward, backward, push, update = data["step"]["operations"]
    pulls = [pull | {"name": f"pull{i}", "slice": i, "size_bytes": z} for i, z in enumerate(down)]
    pushes = [push | {"name": f"push{i}", "slice": i, "size_bytes": z} for i, z in enumerate(up)]
    forward["after"] = [op["name"] for op in pulls]
    update["after"] = [op["name"] for op in pushes]
    data["step"]["operations"] = [*pulls, forward, backward, *pushes, update]
    return data


PUSH = {
    "kind": "transfer",
    "name": "v/push",
    "source": "worker",
    "destination": "server",
    "tensor": "v",
    "size_bytes": 4,
    "after": ["a/backward"],
}
EMPTY = plain(step={"resources": [], "operations": []}, duration_ns=[[]], parsing=[])
MEDIANS = {"samples": "medians", "duration_ns": [[1, 2, 3]]}
LOGNORMAL = {"model": "lognormal", "spread": 0.1}

FAULTS = {
    "no operations": (EMPTY, ["error: step.operations: none; must be at least one"]),
    "name twice": (
        with_operation(
            [1, 2, 3, 4],
            kind="compute",
            name="a/backward",
            resource="worker",
            after=["a/forward"],
        ),
        ['error: operation "a/backward": name: 2 operations have it; must be unique'],
    ),
    "resource twice": (
        resources({"name": "worker", "node": "worker"}),
        ['error: step.resources: "worker": 2 have it; must be unique'],
    ),
    "unknown after": (
        changed("a/forward", after=["w/pull", "b"]),
        ['error: operation "a/forward": after: "b": no operation has this name'],
    ),
    "after twice": (
        changed("a/forward", after=["w/pull", "w/pull"]),
        ['error: operation "a/forward": after: "w/pull": stands there 2 times'],
    ),
    "waits for itself": (
        changed("a/forward", after=["w/pull", "a/forward"]),
        [
            'error: operation "a/forward": after: a cycle, in which nothing can begin:'
            " a/forward -> a/forward"
        ],
    ),
    "cycle": (
        changed("w/pull", after=["w/update"]),
        [
            'error: operation "w/pull": after: a cycle, in which nothing can begin:'
            " w/pull -> a/forward -> a/backward -> w/push -> w/update -> w/pull"
        ],
    ),
    "unknown resource": (
        changed("a/forward", resource="gpu"),
        ['error: operation "a/forward": resource: "gpu": unknown; allowed: worker, server'],
    ),
    "unused resource": (
        resources({"name": "gpu", "node": "worker"}),
        ['warning: step.resources: "gpu": no operation runs on it'],
    ),
    "to itself": (
        changed("w/pull", destination="server"),
        ['error: operation "w/pull": destination: "server": is also the source'],
    ),
    "no bytes": (
        sliced((0,), (1,)),
        [
            'error: operation "pull0": size_bytes: 0: must be >= 1',
            'warning: operation "pull0": size_bytes: slice 0 of tensor "w" has 0 bytes down'
            " and 1 up",
        ],
    ),
    "negative bytes": (
        sliced((-4,), (-4,)),
        [
            'error: operation "pull0": size_bytes: -4: must be >= 1',
            'error: operation "push0": size_bytes: -4: must be >= 1',
        ],
    ),
    "pull for nobody": (
        changed("a/forward", after=[]),
        ['warning: operation "w/pull": nothing waits for what it brings to the worker'],
    ),
    "compute for nobody": (
        with_operation([1, 2, 3, 4], kind="compute", name="idle", resource="worker"),
        ['warning: operation "idle": waits for nothing, and nothing waits for it'],
    ),
    "parsing on an unknown resource": (
        plain(parsing=[plain()["parsing"][0] | {"resource": "gpu"}]),
        ['error: parsing[0].resource: "gpu": unknown; allowed: worker, server'],
    ),
    "parsing elsewhere": (
        plain(parsing=[plain()["parsing"][0] | {"resource": "server"}]),
        ['error: parsing[0].resource: "server": must be at the worker, which receives'],
    ),
    "parsing twice": (
        plain(parsing=plain()["parsing"] * 2),
        ["error: parsing: 2 entries for messages to the worker; must be one"],
    ),
    "no steps": (
        plain(duration_ns=[]),
        ["error: duration_ns: no steps; must be at least one"],
    ),
    "jitter of measured steps": (
        plain(jitter=LOGNORMAL),
        ['error: jitter: must not be given for samples "measured": they vary as they did'],
    ),
    "several medians": (
        plain(samples="medians", jitter=LOGNORMAL),
        ['error: duration_ns: 2 rows; must be one for samples "medians"'],
    ),
    "medians without jitter": (
        plain(**MEDIANS),
        ['error: jitter: is required for samples "medians"; "deterministic" is one'],
    ),
    "factors missing": (
        plain(**MEDIANS, jitter={"model": "empirical"}),
        ['error: jitter.factors: must have one > 0 for model "empirical"'],
    ),
    "factors of another model": (
        plain(**MEDIANS, jitter={"model": "pareto", "factors": [1.0]}),
        ['error: jitter.factors: only for model "empirical", not "pareto"'],
    ),
    "short row": (
        plain(duration_ns=[[1, 2, 3], [1, 2]]),
        ['error: operation "w/update": step 1: duration_ns: none for it'],
    ),
    "empty row": (
        plain(duration_ns=[[]]),
        [
            'error: operation "a/forward": step 0: duration_ns: none for it and for 2 more',
            "error: step 0: duration_ns: all are 0: nothing was computed",
        ],
    ),
    "long row": (
        plain(duration_ns=[[1, 2, 3, 4]]),
        ["error: step 0: duration_ns: 4 values; must be 3, one a computation"],
    ),
    "negative duration": (
        plain(duration_ns=[[1, 2, 3], [1, -2, 3]]),
        ['error: operation "a/backward": step 1: duration_ns: -2: must be >= 0'],
    ),
    "nothing computed": (
        plain(duration_ns=[[1, 2, 3], [0, 0, 0]]),
        ["error: step 1: duration_ns: all are 0: nothing was computed"],
    ),
    "pushed, never updated": (
        with_operation(**PUSH),
        ['error: operation "v/push": tensor: "v": no update at the server for it'],
    ),
    "pushed and pulled, never updated": (
        without("w/update"),
        [
            'error: operation "w/pull": tensor: "w": no update at the server for it',
            'warning: step.resources: "server": no operation runs on it',
        ],
    ),
    "update before its push": (
        changed("w/update", after=["a/backward"]),
        ['error: operation "w/push": tensor: "w": no update of it waits for this'],
    ),
    "update of an unknown tensor": (
        with_operation(
            [1, 2, 3, 4],
            kind="compute",
            name="v/update",
            resource="server",
            tensor="v",
            after=["w/push"],
        ),
        ['error: operation "v/update": tensor: "v": no transfer moves a tensor of it'],
    ),
    "update at the worker": (
        with_operation(
            [1, 2, 3, 4],
            kind="compute",
            name="w/step",
            resource="worker",
            tensor="w",
            after=["a/backward"],
        ),
        ['error: operation "w/step": tensor: "w": only for work at a server'],
    ),
    "nobody's work at the server": (
        with_operation(
            [1, 2, 3, 4], kind="compute", name="log", resource="server", after=["w/push"]
        ),
        ['warning: operation "log": tensor: not given: which of several servers runs it?'],
    ),
    "sizes differ": (
        sliced((100, 200), (100, 201)),
        [
            'warning: operation "pull1": size_bytes: slice 1 of tensor "w" has'
            " 200 bytes down and 201 up"
        ],
    ),
    "totals differ": (
        sliced((100, 200), (301,)),
        [
            'warning: operation "pull0": size_bytes: the slices of tensor "w" come to'
            " 300 bytes down and 301 up"
        ],
    ),
}


def test_a_sound_profile_has_no_findings():
    assert found(plain()) == []
    assert found(sliced((100, 200), (300,))) == []
    assert found(plain(**MEDIANS, jitter=LOGNORMAL)) == []
    assert found(plain(**MEDIANS, jitter={"model": "empirical", "factors": [1.0, 1.5]})) == []
    check(profile(), "tiny.json")


@pytest.mark.parametrize(("data", "expected"), FAULTS.values(), ids=FAULTS)
def test_a_seeded_fault_is_found_and_nothing_else(data, expected):
    assert found(data) == expected


def test_a_frozen_tensor_is_only_pulled():
    data = with_operation(
        kind="transfer",
        name="v/pull",
        source="server",
        destination="worker",
        tensor="v",
        size_bytes=4,
    )
    data["step"]["operations"][1]["after"].append("v/pull")
    assert found(data) == ['warning: operation "v/pull": tensor: "v": pulled, but never updated']


def test_a_slice_that_is_sent_twice():
    data = sliced((100, 200), (100, 200))
    data["step"]["operations"][1]["slice"] = 0
    assert found(data)[0] == (
        'error: operation "pull0": slice: 0 of tensor "w": 2 transfers from the server have it;'
        " must be one"
    )


def test_an_update_may_wait_for_its_push_through_others():
    data = with_operation([1, 2, 3, 4], kind="compute", name="sum", resource="server", tensor="w")
    operations = data["step"]["operations"]
    operations[-1]["after"] = ["w/push"]
    operations[-2]["after"] = ["sum"]
    assert found(data) == []


@pytest.mark.parametrize(
    "name",
    [
        "Input",
        "input",
        "Input0",
        "node1-Input/forward",
        "data loading",
        "x/DataLoader",
        "data_load",
    ],
)
def test_data_loading_is_to_be_dropped(name):
    data = with_operation([1, 2, 3, 4], kind="compute", name=name, resource="worker")
    data["step"]["operations"][1]["after"].append(name)
    message = "is data loading, which is no part of a step; drop this operation"
    assert found(data) == [f'error: operation "{name}": {message}']


@pytest.mark.parametrize("name", ["input_layer/forward", "inputs_norm", "a.inputx"])
def test_a_layer_may_have_input_in_its_name(name):
    data = with_operation([1, 2, 3, 4], kind="compute", name=name, resource="worker")
    data["step"]["operations"][1]["after"].append(name)
    assert found(data) == []


def test_what_waits_for_a_tensor_is_no_data_loading():
    data = json.loads(json.dumps(plain()).replace("a/forward", "input/forward"))
    assert found(data) == []


def test_the_first_error_is_raised():
    data = changed("w/pull", size_bytes=0)
    data["duration_ns"] = []
    with pytest.raises(ScenarioError) as caught:
        check(profile(data), "x.json")
    message = 'x.json: operation "w/pull": size_bytes: 0: must be >= 1 (and 1 more)'
    assert str(caught.value) == message


def test_warnings_are_not_raised():
    check(profile(changed("a/forward", after=[])), "x.json")


@given(st.lists(st.tuples(st.integers(0, 7), st.integers(0, 7)), max_size=14))
def test_a_graph_is_sorted_or_has_a_cycle(edges):
    after = {f"n{i}": [f"n{a}" for a, b in edges if b == i] for i in range(8)}
    order, cycle = sorted_nodes(after), find_cycle(after)
    place = {name: i for i, name in enumerate(order)}
    for name in order:
        assert all(place[other] < place[name] for other in after[name])
    assert (len(order) == 8) == (not cycle)
    if cycle:
        for earlier, later in itertools.pairwise([*cycle, cycle[0]]):
            assert earlier in after[later]
        assert len(set(cycle)) == len(cycle)


def test_a_graph_that_needs_no_sorting_stays_as_it_is():
    assert sorted_nodes({"c": [], "a": ["c"], "b": []}) == ["c", "a", "b"]


def test_a_long_cycle_is_cut_in_the_middle():
    assert cycle_text(["a", "b"]) == "a -> b -> a"
    assert cycle_text([str(i) for i in range(20)]) == (
        "0 -> 1 -> 2 -> 3 -> 4 -> 5 -> ... (13 more) -> 19 -> 0"
    )


@given(st.integers(0, 2**32))
def test_no_profile_breaks_the_linter(seed):
    rng = random.Random(seed)
    data = copy.deepcopy(plain())
    names = ["w/pull", "a/forward", "a/backward", "w/push", "w/update", "nobody"]
    for op in data["step"]["operations"]:
        op["name"] = rng.choice([op["name"], op["name"], rng.choice(names)])
        op["after"] = rng.sample(names, rng.randint(0, 3))
        if op["kind"] == "compute":
            op["resource"] = rng.choice(["worker", "server", "gpu"])
            op["tensor"] = rng.choice([None, "w", "v"])
        else:
            op["tensor"] = rng.choice(["w", "v"])
            op["source"], op["size_bytes"] = rng.choice(["worker", "server"]), rng.randint(-1, 2)
    data["duration_ns"] = [[rng.randint(-1, 1) for _ in range(rng.randint(0, 4))]]
    for finding in lint(profile(data)):
        assert str(finding).isprintable()


def test_the_command_tells_and_returns(tmp_path, capsys):
    files = {"good": plain(), "odd": changed("a/forward", after=[]), "bad": EMPTY}
    for name, data in files.items():
        (tmp_path / f"{name}.json").write_text(json.dumps(data))
    good, odd, bad, none = (str(tmp_path / f"{n}.json") for n in ("good", "odd", "bad", "none"))
    assert main([good, odd]) == 0
    assert capsys.readouterr().out.splitlines() == [
        f"{good}: fine: 3 computations, 2 transfers",
        f'{odd}: warning: operation "w/pull": nothing waits for what it brings to the worker',
    ]
    assert main([bad, good, none]) == 2
    assert capsys.readouterr().out.splitlines() == [
        f"{bad}: error: step.operations: none; must be at least one",
        f"{good}: fine: 3 computations, 2 transfers",
        f"{none}: can't be read: No such file or directory",
    ]
    assert main([]) == 2
    assert capsys.readouterr().err.startswith("netcosim.cli.lint_profile: the following")
