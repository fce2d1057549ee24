"""Scenarios and command lines of the documentation: they work as shown."""

import re
import shlex
import tomllib
from pathlib import Path
from typing import Any

import pytest

import emu.run
import sim.run
from emu.plan import make_plan
from netcosim.errors import ScenarioError
from netcosim.scenario import (
    Scenario,
    TrainingSpec,
    build_scenario,
    parse_scenario,
    read_scenario,
)
from sim.cli.describe import describe
from sim.experiment.checks import checked_cells

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
EXAMPLES = sorted((ROOT / "examples").glob("*.toml"))

COMMANDS = {"run": emu.run.main, "emu.run": emu.run.main, "sim.run": sim.run.main}
COMMAND = re.compile(r"(sudo )?(\./dev run|(\S*/)?python3? -m (emu|sim)\.run)\b")

# What a piece of a scenario is completed with, so that it can be planned.
REST: dict[str, Any] = {
    "name": "piece",
    "cluster": {"topology": "star", "workers": 8, "link": {"rate": "1gbit"}},
    "workload": [{"name": "alexnet", "profile": "alexnet"}],
    "transport": [{"name": "grpc", "sender": "grpc", "receiver": "grpc"}],
}


def blocks(language: str) -> list[tuple[str, str]]:
    found = []
    for page in PAGES:
        text = page.read_text(encoding="utf-8")
        for number, body in enumerate(re.findall(rf"```{language}\n(.*?)```", text, re.S)):
            found.append((f"{page.relative_to(ROOT)}#{number}", body))
    return found


def scenarios() -> list[tuple[str, str]]:
    return [(where, body) for where, body in blocks("toml") if "[[workload]]" in body]


def pieces() -> list[tuple[str, str]]:
    """Pieces of scenarios on pages that show the simulator's tables alone."""
    wanted = re.compile(r"^\[(training|\[straggler\])\]", re.M)
    return [(w, b) for w, b in blocks("toml") if wanted.search(b) and "[[workload]]" not in b]


def command_lines() -> list[str]:
    lines = []
    for _, body in [*blocks("bash"), *blocks("sh"), *blocks("console"), *blocks("")]:
        for raw in body.splitlines():
            line = raw.strip().removeprefix("$ ").split("#")[0].strip()
            if COMMAND.match(line):
                lines.append(line)
    return sorted(set(lines))


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
    for command in ("./dev run", "sim.run"):
        assert any(command in line for line in command_lines())


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


@pytest.mark.parametrize("line", command_lines())
def test_every_command_line_of_the_docs_is_understood(line, monkeypatch, capsys):
    """Planned instead of run; placeholders such as FILE stand for an example."""
    monkeypatch.chdir(ROOT)
    words = shlex.split(line)
    start = next(i for i, word in enumerate(words) if word in COMMANDS)
    file = "examples/scaling.toml" if words[start] == "sim.run" else "examples/star.toml"
    profile = "netcosim/workload/data/alexnet.json"
    placeholders = {"FILE": file, "[ARGS]": None, "./profile.json": profile}
    arguments = [placeholders.get(word, word) for word in words[start + 1 :]]
    given = [word for word in arguments if word is not None]
    if not {"--list", "--help"} & set(given):
        given.append("--plan")
    assert COMMANDS[words[start]](given) == 0, capsys.readouterr().err
    assert "scenario" in capsys.readouterr().out


def test_a_wrong_example_would_be_noticed():
    text = scenarios()[0][1].replace("repetitions", "repetition")
    with pytest.raises(ScenarioError, match="unknown key"):
        plan(parse_scenario(text, "changed"))


def test_a_wrong_piece_would_be_noticed():
    text = next(body for _, body in pieces() if "[training]" in body)
    with pytest.raises(ScenarioError, match="unknown key"):
        plan(with_the_rest(text.replace("steps", "step"), "changed"))
    unknown = '[[straggler]]\nkind = "tired"\ncount = 1\n'
    with pytest.raises(ScenarioError, match="tired"):
        plan(with_the_rest(unknown, "changed"))
