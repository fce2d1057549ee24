"""Every rule of the linter finds its seeded fault and nothing else; the command says the same."""

import copy
import json
import random
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from netcosim.cli.lint_profile import main
from netcosim.workload.lint import check, lint, linted, tensors
from tests.netcosim.workload.profiles import changed, plain, profile
from tests.snapshots import assert_kept, refusal, sections


def with_operation(row: list[int] | None = None, **fields: Any) -> dict[str, Any]:
    """The plain profile with one operation more, at the end."""
    data = plain(duration_ns=(row and [row]) or plain()["duration_ns"])
    data["step"]["operations"].append(fields)
    return data


def computing(name: str, resource: str = "worker", **more: Any) -> dict[str, Any]:
    """The plain profile with one computation more, at the end."""
    return with_operation([1, 2, 3, 4], kind="compute", name=name, resource=resource, **more)


def without(name: str) -> dict[str, Any]:
    """The plain profile without an operation; what waited for it waits for what it waited for."""
    data = plain()
    operations = data["step"]["operations"]
    columns = [op["name"] for op in operations if op["kind"] == "compute"]
    [gone] = [op for op in operations if op["name"] == name]
    operations.remove(gone)
    for op in operations:
        if name in op.get("after", []):
            op["after"] = gone["after"]
    for row in data["duration_ns"] if name in columns else ():
        del row[columns.index(name)]
    return data


def resources(*entries: dict[str, Any]) -> dict[str, Any]:
    data = plain()
    data["step"]["resources"] += entries
    return data


def parsed_apart() -> dict[str, Any]:
    """The plain profile with its messages parsed on a resource that does nothing else."""
    data = resources({"name": "nic", "node": "worker"})
    data["parsing"][0]["resource"] = "nic"
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


TRANSFER = {"kind": "transfer", "tensor": "v", "size_bytes": 4}
PUSH = {"name": "v/push", "source": "worker", "destination": "server", "after": ["a/backward"]}
PULL = {"name": "v/pull", "source": "server", "destination": "worker"}
EMPTY = plain(step={"resources": [], "operations": []}, duration_ns=[[]], parsing=[])
MEDIANS = {"samples": "medians", "duration_ns": [[1, 2, 3]]}
LOGNORMAL = {"model": "lognormal", "spread": 0.1}

FAULTS = {
    "no operations": EMPTY,
    "name twice": computing("a/backward", after=["a/forward"]),
    "resource twice": resources({"name": "worker", "node": "worker"}),
    "unknown after": changed("a/forward", after=["w/pull", "b"]),
    "after twice": changed("a/forward", after=["w/pull", "w/pull"]),
    "waits for itself": changed("a/forward", after=["w/pull", "a/forward"]),
    "cycle": changed("w/pull", after=["w/update"]),
    "unknown resource": changed("a/forward", resource="gpu"),
    "unused resource": resources({"name": "gpu", "node": "worker"}),
    "to itself": changed("w/pull", destination="server"),
    "no bytes": sliced((0,), (1,)),
    "negative bytes": sliced((-4,), (-4,)),
    "pull for nobody": changed("a/forward", after=[]),
    "compute for nobody": computing("idle"),
    "parsing on an unknown resource": plain(parsing=[plain()["parsing"][0] | {"resource": "gpu"}]),
    "parsing elsewhere": plain(parsing=[plain()["parsing"][0] | {"resource": "server"}]),
    "parsing where nothing computes": parsed_apart(),
    "parsing twice": plain(parsing=plain()["parsing"] * 2),
    "no steps": plain(duration_ns=[]),
    "jitter of measured steps": plain(jitter=LOGNORMAL),
    "several medians": plain(samples="medians", jitter=LOGNORMAL),
    "medians without jitter": plain(**MEDIANS),
    "factors missing": plain(**MEDIANS, jitter={"model": "empirical"}),
    "factors of another model": plain(**MEDIANS, jitter={"model": "pareto", "factors": [1.0]}),
    "short row": plain(duration_ns=[[1, 2, 3], [1, 2]]),
    "empty row": plain(duration_ns=[[]]),
    "long row": plain(duration_ns=[[1, 2, 3, 4]]),
    "negative duration": plain(duration_ns=[[1, 2, 3], [1, -2, 3]]),
    "nothing computed": plain(duration_ns=[[1, 2, 3], [0, 0, 0]]),
    "pushed, never updated": with_operation(**TRANSFER | PUSH),
    "pushed and pulled, never updated": without("w/update"),
    "update before its push": changed("w/update", after=["a/backward"]),
    "update of an unknown tensor": computing("v/update", "server", tensor="v", after=["w/push"]),
    "updated, never pushed": without("w/push"),
    "update at the worker": computing("w/step", tensor="w", after=["a/backward"]),
    "nobody's work at the server": computing("log", "server", after=["w/push"]),
    "sizes differ": sliced((100, 200), (100, 201)),
    "totals differ": sliced((100, 200), (301,)),
}


def found(data: dict[str, Any]) -> list[str]:
    return [f"{f.severity}: {f}" for f in lint(profile(data))]


def test_a_sound_profile_has_no_findings():
    assert found(plain()) == []
    assert found(sliced((100, 200), (300,))) == []
    assert found(plain(**MEDIANS, jitter=LOGNORMAL)) == []
    assert found(plain(**MEDIANS, jitter={"model": "empirical", "factors": [1.0, 1.5]})) == []
    check(profile(), "tiny.json")


def test_a_seeded_fault_is_found_and_nothing_else():
    said = sections({name: "\n".join(found(data)) for name, data in FAULTS.items()})
    assert_kept(Path(__file__).parent / "snapshots/lint.txt", said)


def test_a_frozen_tensor_is_only_pulled():
    data = with_operation(**TRANSFER | PULL)
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
    data = computing("sum", "server", tensor="w")
    operations = data["step"]["operations"]
    operations[-1]["after"] = ["w/push"]
    operations[-2]["after"] = ["sum"]
    assert found(data) == []


LOADING = ("Input", "input", "Input0", "node1-Input/forward", "data loading", "x/DataLoader")


@pytest.mark.parametrize("name", [*LOADING, "data_load"])
def test_data_loading_is_to_be_dropped(name):
    data = computing(name)
    data["step"]["operations"][1]["after"].append(name)
    message = "is data loading, which is no part of a step; drop this operation"
    assert found(data) == [f'error: operation "{name}": {message}']


@pytest.mark.parametrize("name", ["input_layer/forward", "inputs_norm", "a.inputx"])
def test_a_layer_may_have_input_in_its_name(name):
    data = computing(name)
    data["step"]["operations"][1]["after"].append(name)
    assert found(data) == []


def test_what_waits_for_a_tensor_is_no_data_loading():
    data = json.loads(json.dumps(plain()).replace("a/forward", "input/forward"))
    assert found(data) == []


def test_the_first_error_is_raised():
    data = changed("w/pull", size_bytes=0)
    data["duration_ns"] = []
    message = 'x.json: operation "w/pull": size_bytes: 0: must be >= 1 (and 1 more)'
    assert refusal(check, profile(data), "x.json") == message


def test_warnings_are_not_raised():
    check(profile(changed("a/forward", after=[])), "x.json")


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


def joined_far_away(layers: int) -> dict[str, Any]:
    """A profile whose updates wait for their pushes through another operation each."""
    data = plain()
    ops: list[dict[str, Any]] = []
    for i in range(layers):
        before = [f"l{i - 1}"] if i else []
        push = {"kind": "transfer", "source": "worker", "destination": "server", "size_bytes": 9}
        ops += [
            {"kind": "compute", "name": f"l{i}", "resource": "worker", "after": before},
            {**push, "name": f"p{i}", "tensor": f"t{i}", "after": [f"l{i}"]},
            {"kind": "compute", "name": f"j{i}", "resource": "worker", "after": [f"p{i}"]},
            {"kind": "compute", "name": f"u{i}", "resource": "server", "after": [f"j{i}"],
             "tensor": f"t{i}"},
        ]  # fmt: skip
    data["step"]["operations"] = ops
    data["duration_ns"] = [[1] * (3 * layers)]
    return data


def test_what_is_looked_at_grows_with_the_operations_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """Counted: what is behind updates, and how often the graph is turned round."""
    looked_at: list[int] = []
    real = tensors._reached

    def reached(*arguments: Any) -> set[str] | None:
        seen = real(*arguments)
        looked_at.append(len(seen or ()))
        return seen

    turned: list[int] = []
    real_dependents = linted.dependents

    def dependents(after: Any) -> dict[str, list[str]]:
        turned.append(len(after))
        return real_dependents(after)

    monkeypatch.setattr(tensors, "_reached", reached)
    monkeypatch.setattr(linted, "dependents", dependents)
    monkeypatch.delattr(tensors, "_unreached")  # which looks at all operations for some pushes
    counts = []
    for layers in (100, 200):
        looked_at.clear()
        assert found(joined_far_away(layers)) == []
        counts.append(sum(looked_at))
    assert counts == [300, 600]
    assert turned == [400, 800]


@pytest.mark.parametrize("looked_at", [0, 1, 20])
@given(random=st.randoms(use_true_random=False))
@settings(max_examples=60, deadline=None)
def test_a_push_that_no_update_of_its_tensor_waits_for_is_found_however_far_away(looked_at, random):
    """Against a search from every update; in several passes, and around cycles, too."""
    count = random.randrange(1, 14)
    ops: list[dict[str, Any]] = []
    cyclic = random.random() < 0.2
    for i in range(count):
        known = range(count if cyclic else i)
        after = [f"op{j}" for j in known if j != i and random.random() < 2 / count]
        op: dict[str, Any] = {"name": f"op{i}", "after": after, "tensor": f"t{random.randrange(2)}"}
        push = {"kind": "transfer", "source": "worker", "destination": "server", "size_bytes": 9}
        update = {"kind": "compute", "resource": "server"}
        push["slice"] = i
        ops.append(op | (push if random.random() < 0.5 else update))
    data = plain()
    data["step"]["operations"] = ops
    checked = profile(data)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("netcosim.workload.lint.tensors._AT_A_TIME", 2)
        most = 20 if cyclic else looked_at
        patch.setattr("netcosim.workload.lint.tensors._VISITS_AN_OPERATION", most)
        told = {f.operation for f in lint(checked) if "no update of it waits" in f.message}
    after_of = {op["name"]: op["after"] for op in ops}

    def waited_for(update: str) -> set[str]:
        seen: set[str] = set()
        ahead = [update]
        while ahead:
            fresh = set(after_of[ahead.pop()]) - seen
            seen |= fresh
            ahead += fresh
        return seen

    updates = [op for op in ops if op["kind"] == "compute"]
    read = {
        tensor: [u["name"] for u in updates if u["tensor"] == tensor] for tensor in ("t0", "t1")
    }
    assert told == {
        op["name"]
        for op in ops
        if op["kind"] == "transfer"
        and read[op["tensor"]]
        and not any(op["name"] in waited_for(update) for update in read[op["tensor"]])
    }
