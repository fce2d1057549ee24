"""Scenarios of the documentation and the examples: each can be planned in the world it is for."""

import re
import tomllib
from typing import Any

import pytest

from emu.plan import make_plan
from netcosim.errors import ScenarioError
from netcosim.scenario import Scenario, TrainingSpec, build_scenario, parse_scenario, read_scenario
from sim.cli.describe import describe
from sim.experiment.checks import checked_cells
from tests.docs.pages import ROOT, blocks

EXAMPLES = sorted((ROOT / "examples").glob("*.toml"))

# What a piece of a scenario is completed with, so that it can be planned.
REST: dict[str, Any] = {
    "name": "piece",
    "cluster": {"topology": "star", "workers": 8, "link": {"rate": "1gbit"}},
    "workload": [{"name": "alexnet", "profile": "alexnet"}],
    "transport": [{"name": "grpc", "sender": "grpc", "receiver": "grpc"}],
}


def scenarios() -> list[tuple[str, str]]:
    return [(where, body) for where, body in blocks("toml") if "[[workload]]" in body]


def pieces() -> list[tuple[str, str]]:
    """Pieces of scenarios on pages that show the simulator's tables alone."""
    wanted = re.compile(r"^\[(training|\[straggler\])\]", re.M)
    return [(w, b) for w, b in blocks("toml") if wanted.search(b) and "[[workload]]" not in b]


def is_simulated(scenario: Scenario) -> bool:
    """True if it says anything that only the simulator can do."""
    profiles = any(workload.profile is not None for workload in scenario.workload)
    return profiles or scenario.training != TrainingSpec() or bool(scenario.straggler)


def plan_simulation(scenario: Scenario) -> str:
    return "\n".join(describe(scenario, checked_cells(scenario)))


def plan(scenario: Scenario) -> None:
    """By the world that it is for; the other one has to refuse what trains."""
    if not is_simulated(scenario):
        make_plan(scenario)
        return
    assert scenario.name in plan_simulation(scenario)
    with pytest.raises(ScenarioError):
        make_plan(scenario)


def with_the_rest(text: str, where: str) -> Scenario:
    return build_scenario({**REST, **tomllib.loads(text)}, where)


def test_the_pages_hold_something_to_check():
    assert scenarios()
    assert pieces()
    assert EXAMPLES
    assert any(is_simulated(read_scenario(path)) for path in EXAMPLES)
    assert any(not is_simulated(read_scenario(path)) for path in EXAMPLES)


@pytest.mark.parametrize(("where", "text"), scenarios(), ids=lambda v: v if "#" in v else "")
def test_every_scenario_of_the_docs_can_be_planned(where, text):
    plan(parse_scenario(text, where))


@pytest.mark.parametrize(("where", "text"), pieces(), ids=lambda v: v if ".md" in v else "")
def test_every_piece_of_a_simulation_in_the_docs_can_be_planned(where, text, monkeypatch):
    monkeypatch.chdir(ROOT / "examples")  # files that it names are those of the examples
    plan(with_the_rest(text, where))


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda p: p.stem)
def test_every_example_can_be_planned(path):
    scenario = read_scenario(path)
    plan(scenario)
    assert scenario.name == path.stem
    assert scenario.description


def test_a_wrong_example_would_be_noticed():
    text = scenarios()[0][1].replace("repetitions", "repetition")
    with pytest.raises(ScenarioError, match="unknown key"):
        plan(parse_scenario(text, "changed"))


def test_a_wrong_piece_would_be_noticed():
    text = next(body for _, body in pieces() if "\nsteps =" in body)
    with pytest.raises(ScenarioError, match="unknown key"):
        plan(with_the_rest(text.replace("steps", "step"), "changed"))
    unknown = '[[straggler]]\nkind = "tired"\ncount = 1\n'
    with pytest.raises(ScenarioError, match="tired"):
        plan(with_the_rest(unknown, "changed"))
