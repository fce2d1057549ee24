"""Profiles with one fault each, and what the linter says of them."""

from typing import Any

from tests.netcosim.workload.profiles import changed, plain


def with_operation(row: list[int] | None = None, **fields: Any) -> dict[str, Any]:
    """The plain profile with one operation more, at the end."""
    data = plain(duration_ns=(row and [row]) or plain()["duration_ns"])
    data["step"]["operations"].append(fields)
    return data


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
    "parsing where nothing computes": (
        parsed_apart(),
        [
            'error: parsing[0].resource: "nic": no operation runs on it; allowed: worker',
            'warning: step.resources: "nic": no operation runs on it',
        ],
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
    "updated, never pushed": (
        without("w/push"),
        ['warning: operation "w/update": tensor: "w": updated, but never pushed'],
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
