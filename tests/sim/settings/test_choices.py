"""Another policy by a change: the options of the one before go, and what no policy has is told."""

import re
from typing import Any

import pytest

from netcosim.errors import ScenarioError
from netcosim.scenario import Scenario, build_scenario, with_values
from sim.experiment.checks import checked_cells
from sim.settings.choices import with_choices

DATA: dict[str, Any] = {
    "name": "job",
    "cluster": {"topology": "star", "link": {"rate": "1gbit"}},
    "policy": {
        "order": "given",
        "priorities": {"conv1.weight": 1},
        "placement": "given",
        "servers": {"conv1.weight": 0},
        "schedule": "bytescheduler",
        "schedule_options": {"credit_bytes": 6_000_000, "partition_bytes": 1_000_000},
    },
    "training": {"synchronisation": "join", "join": "tensor", "first": 2, "workers": [2]},
    "coordination": {
        "kind": "lb_bsp",
        "predictor": "average",
        "predictor_options": {"newest": 0.5},
        "decision": "1ms",
    },
    "straggler": [{"kind": "slow", "count": 1, "options": {"factor": 2.0}}],
    "workload": [{"name": "alexnet", "profile": "alexnet"}],
    "transport": [
        {
            "name": "own",
            "sender": "h2",
            "receiver": "h2",
            "discipline": "two_visit",
            "options": {"requeue_at_completion": 1},
            "window": "1MB",
            "connection_window": "2MB",
            "credit": "half",
        }
    ],
}


PLAIN: dict[str, Any] = {
    **{key: DATA[key] for key in ("name", "cluster", "workload")},
    "transport": [{"name": "grpc", "sender": "grpc", "receiver": "grpc"}],
}


@pytest.fixture
def scenario() -> Scenario:
    return build_scenario(DATA)


@pytest.mark.parametrize(
    ("changes", "left_out"),
    [
        ({"policy.schedule": "fifo"}, ["policy.schedule_options.*"]),
        ({"policy.schedule": "p3"}, ["policy.schedule_options.credit_bytes"]),
        ({"policy.schedule": "bytescheduler"}, []),
        ({"policy.schedule": None}, ["policy.schedule_options.*"]),
        ({"policy.order": "smallest_first"}, ["policy.priorities"]),
        ({"policy.placement": "greedy"}, ["policy.servers"]),
        ({"training.synchronisation": "bsp"}, ["training.join", "training.first"]),
        (
            {"coordination.kind": "bsp"},
            ["coordination.predictor", "coordination.predictor_options", "coordination.decision"],
        ),
        ({"coordination.predictor": "memoryless"}, ["coordination.predictor_options.newest"]),
        ({"straggler.0.kind": "jitter"}, ["straggler.0.options.factor"]),
        ({"transport.own.discipline": "fifo"}, ["transport.own.options.requeue_at_completion"]),
        ({"transport.0.discipline": "fifo"}, ["transport.own.options.requeue_at_completion"]),
        (
            {"transport.own.flow_control": False},
            ["transport.own.window", "transport.own.connection_window", "transport.own.credit"],
        ),
        (
            {"transport.own.sender": "grpc", "transport.own.receiver": "grpc"},
            [
                *("transport.own.connection_window", "transport.own.credit"),
                *("transport.own.discipline", "transport.own.options"),
            ],
        ),
        ({"transport": DATA["transport"]}, []),
    ],
)
def test_options_of_another_policy_are_left_out(scenario, changes, left_out):
    now, found = with_choices(scenario, changes)
    wanted = [
        each
        for path in left_out
        for each in ([f"{path[:-1]}{key}" for key in _at(path[:-2])] if "*" in path else [path])
    ]
    assert [one.path for one in found] == wanted
    # All else is as it was, and the rest can be read back as a file.
    taken = dict.fromkeys(wanted)
    assert now == with_values(scenario, {**taken, **changes})


def _at(path: str) -> list[str]:
    table: Any = DATA
    for part in path.split("."):
        table = table[part]
    return list(table)


def test_options_of_another_coordinator_are_left_out():
    table = {"kind": "ssp", "options": {"gap": 3}}
    scenario = build_scenario({**PLAIN, "coordination": table})
    now, (one,) = with_choices(scenario, {"coordination.kind": "redundant"})
    assert one.path == "coordination.options.gap"
    assert now.coordination is not None and now.coordination.options == {}
    checked_cells(now)


def test_what_is_left_out_is_told(scenario):
    _, (one,) = with_choices(scenario, {"policy.schedule": "p3"})
    assert str(one) == (
        "policy.schedule_options.credit_bytes 6000000 is left out: it is not of policy.schedule p3"
    )


def test_options_that_are_given_beside_the_policy_are_a_sweeps_alone_to_leave_out(scenario):
    changes = {"policy.schedule": "p3", "policy.schedule_options.credit_bytes": 3_000_000}
    kept, none = with_choices(scenario, changes)
    assert kept.policy.schedule_options["credit_bytes"] == 3_000_000 and none == ()
    swept, (one,) = with_choices(scenario, changes, also_given=True)
    assert swept.policy.schedule_options == {"partition_bytes": 1_000_000}
    assert one.value == 3_000_000


@pytest.mark.parametrize(
    ("tables", "changes", "message"),
    [
        (
            {"policy": {"schedule": "bytescheduler", "schedule_options": {"credit": 1}}},
            {"policy.schedule": "p3"},
            "policy.schedule_options.credit: 1: p3 has no such option",
        ),
        (  # nothing chooses: what the file says stays wrong
            {"policy": {"schedule": "p3", "schedule_options": {"credit_bytes": 1}}},
            {"training.steps": 100},
            "policy.schedule_options.credit_bytes: 1: p3 has no such option",
        ),
        (
            {"policy": {"schedule": "bytescheduler", "schedule_options": {"credit_bytes": 1}}},
            {"policy.schedule": "p4"},
            'policy.schedule: "p4": unknown',
        ),
        (
            {"straggler": [{"kind": "slow", "count": 1, "options": {"fcator": 2.0}}]},
            {"straggler.0.kind": "jitter"},
            "straggler[0].options.fcator",
        ),
        (
            {"transport": [{**DATA["transport"][0], "options": {"requeue": 1}}]},
            {"transport.own.discipline": "fifo"},
            'transport[own].options: fifo has no option "requeue"',
        ),
        (
            {"coordination": {"kind": "ssp", "options": {"gpa": 2}}},
            {"coordination.kind": "bsp"},
            "coordination.options.gpa: 2.0: bsp has no such option",
        ),
    ],
)
def test_what_no_policy_has_and_what_nothing_chooses_stay_errors(tables, changes, message):
    scenario = build_scenario({**PLAIN, **tables})
    with pytest.raises(ScenarioError, match=re.escape(message)):
        checked_cells(with_choices(scenario, changes)[0])
