"""Values put in place of a scenario's, by dotted path."""

import re
from typing import Any

import pytest

from netcosim.errors import ScenarioError
from netcosim.scenario import Scenario, build_scenario, with_values

DATA: dict[str, Any] = {
    "name": "job",
    "cluster": {"topology": "star", "link": {"rate": "1gbit"}},
    "straggler": [{"kind": "slow", "count": 1, "options": {"factor": 2}}],
    "workload": [{"name": "alexnet", "profile": "alexnet"}],
    "transport": [
        {"name": "grpc", "sender": "grpc", "receiver": "grpc"},
        {"name": "off", "sender": "grpc", "receiver": "grpc", "flow_control": False},
    ],
}


@pytest.fixture
def scenario() -> Scenario:
    return build_scenario(DATA)


def test_what_a_file_says_with_these_values_is_what_comes_out(scenario: Scenario) -> None:
    changed = with_values(
        scenario,
        {
            "cluster.link.rate": "10gbit",
            "cluster.links.w0.rate": "100mbit",
            "training.workers": [1, 8],
            "transport.grpc.window": "64KiB",
            "straggler.0.count": 2,
        },
    )
    written = {
        **DATA,
        "cluster": {
            "topology": "star",
            "link": {"rate": "10gbit"},
            "links": {"w0": {"rate": "100mbit"}},
        },
        "training": {"workers": [1, 8]},
        "straggler": [{"kind": "slow", "count": 2, "options": {"factor": 2}}],
        "transport": [DATA["transport"][0] | {"window": "64KiB"}, DATA["transport"][1]],
    }
    assert changed == build_scenario(written)


def test_a_path_into_a_given_value_leaves_what_was_given(scenario: Scenario) -> None:
    given = {"transport": [dict(DATA["transport"][0])], "transport.grpc.window": "64KiB"}
    assert with_values(scenario, given).transport[0].window == 2**16
    assert given["transport"] == [DATA["transport"][0]]


def test_nothing_takes_a_value_away(scenario: Scenario) -> None:
    wide = with_values(scenario, {"training.workers": [1, 2]})
    assert with_values(wide, {"training.workers": None}) == scenario
    assert with_values(scenario, {}) is scenario


@pytest.mark.parametrize(
    ("path", "value", "message"),
    [
        ("cluster.lnk.rate", "1gbit", "changes: cluster.lnk: "),
        ("cluster.link.rate", "1", 'changes: cluster.link.rate: "1": has no unit'),
        ("name.first", 1, "changes: name: is no table"),
        ("training.steps.x", 1, "changes: training.steps: is no table"),
        (
            "transport.gprc.window",
            "1MB",
            'changes: transport.gprc: "gprc": must be one of: grpc, off',
        ),
        ("straggler.1.count", 1, 'changes: straggler.1: "1": must be one of: 0'),
    ],
)
def test_a_place_or_value_that_no_scenario_has_is_refused(scenario, path, value, message) -> None:
    with pytest.raises(ScenarioError, match=f"^{re.escape(message)}"):
        with_values(scenario, {path: value})
