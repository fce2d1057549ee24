"""Small valid profiles for the tests of this folder, and ways to break them."""

import copy
import json
from typing import Any

from netcosim.workload import Profile, parse_profile

WHOLE = {"kind": "transfer", "tensor": "w", "size_bytes": 4000}
RULE = {"destination": "worker", "resource": "worker", "alpha_ns_per_byte": 0.5, "beta_ns": 100.0}
OPERATIONS: list[dict[str, Any]] = [
    {**WHOLE, "name": "w/pull", "source": "server", "destination": "worker"},
    {"kind": "compute", "name": "a/forward", "resource": "worker", "after": ["w/pull"]},
    {"kind": "compute", "name": "a/backward", "resource": "worker", "after": ["a/forward"]},
    {
        **WHOLE,
        "name": "w/push",
        "source": "worker",
        "destination": "server",
        "after": ["a/backward"],
    },
    {
        "kind": "compute",
        "name": "w/update",
        "resource": "server",
        "after": ["w/push"],
        "batch_share": 0.0,
        "tensor": "w",
    },
]


def plain(**changes: Any) -> dict[str, Any]:
    """A profile as plain data, two measured steps of five operations."""
    data: dict[str, Any] = {
        "format": "netcosim-profile",
        "version": 1,
        "name": "tiny",
        "provenance": "made up for a test",
        "batch": 4,
        "samples": "measured",
        "window_bytes": 65536,
        "parsing": [dict(RULE)],
        "step": {
            "resources": [
                {"name": "worker", "node": "worker"},
                {"name": "server", "node": "server", "capacity": 2},
            ],
            "operations": copy.deepcopy(OPERATIONS),
        },
        "duration_ns": [[10, 20, 5], [11, 21, 6]],
    }
    return {**data, **changes}


def profile(data: dict[str, Any] | None = None) -> Profile:
    return parse_profile(json.dumps(plain() if data is None else data), "tiny.json")


def changed(name: str, /, **fields: Any) -> dict[str, Any]:
    """The plain profile with these fields of the operation of this name."""
    data = plain()
    operation = next(op for op in data["step"]["operations"] if op["name"] == name)
    operation.update(fields)
    return data
