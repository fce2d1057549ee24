"""A receiver's work for a message is in every plan, whatever the profile looks like."""

import json
from typing import Any

import numpy as np
import pytest

from netcosim.training.plan import SERVER, WORKER, StepPlan
from netcosim.training.prepare import make_plan
from netcosim.workload import parse_profile
from tests.netcosim.training.prepare.test_joined_plans import assignment
from tests.netcosim.workload.profiles import plain

AT_SERVER = {
    "destination": "server",
    "resource": "server",
    "alpha_ns_per_byte": 2.0,
    "beta_ns": 50.0,
}


def planned(data: dict[str, Any], servers: dict[str, int]) -> StepPlan:
    """A plan of the profile with each tensor at its server."""
    profile = parse_profile(json.dumps(data), "tiny.json")
    durations_ns = np.array(profile.duration_ns, dtype=np.float64)
    return make_plan(profile, durations_ns, assignment(servers), np.random.default_rng(0))


def two_tensors() -> dict[str, Any]:
    """Two tensors whose updates run on resources of their own; messages are parsed on one."""
    data = plain(parsing=[AT_SERVER], duration_ns=[[10, 20, 5, 7]])
    step = data["step"]
    step["resources"].append({"name": "other", "node": "server"})
    push, update = step["operations"][3:]
    step["operations"] += [
        push | {"name": "v/push", "tensor": "v", "size_bytes": 100},
        update | {"name": "v/update", "tensor": "v", "resource": "other", "after": ["v/push"]},
    ]
    return data


def place_of(plan: StepPlan, name: str) -> tuple[int, int, str]:
    place = plan.place[plan.names.index(name)] - len(plan.channels)
    processor = plan.processors[place]
    return processor.node, processor.server, processor.resource


def durations(plan: StepPlan, name: str) -> list[float]:
    return [float(ns) for ns in plan.duration_ns[:, plan.names.index(name)]]


def test_the_operation_that_reads_a_message_parses_it() -> None:
    plan = planned(plain(), {"w": 1})
    assert durations(plan, "a/forward") == [10 + 0.5 * 4000 + 100, 11 + 0.5 * 4000 + 100]
    assert place_of(plan, "a/forward") == (WORKER, 0, "worker")
    assert plan.operations == 5


@pytest.mark.parametrize("at", [0, 1])
def test_where_none_does_parsing_is_an_operation_of_its_own(at: int) -> None:
    """At the server that the message goes to, though nothing else runs on the resource there."""
    plan = planned(two_tensors(), {"w": 0, "v": at})
    assert durations(plan, "w/update") == [5 + 2.0 * 4000 + 50]
    assert durations(plan, "v/push/parse") == [2.0 * 100 + 50]
    assert durations(plan, "v/update") == [7]
    assert place_of(plan, "v/push/parse") == (SERVER, at, "server")
    parser, update = plan.names.index("v/push/parse"), plan.names.index("v/update")
    first, behind = plan.after_start[parser : parser + 2]
    assert list(plan.after[first:behind]) == [update]
