"""What the documentation shows works: its scenarios and its command lines."""

import re
import shlex
from pathlib import Path

import pytest

from emu import run
from emu.plan import make_plan
from netcosim.errors import ScenarioError
from netcosim.scenario import parse_scenario, read_scenario

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
EXAMPLES = sorted((ROOT / "examples").glob("*.toml"))


def blocks(language: str) -> list[tuple[str, str]]:
    found = []
    for page in PAGES:
        text = page.read_text(encoding="utf-8")
        for number, body in enumerate(re.findall(rf"```{language}\n(.*?)```", text, re.S)):
            found.append((f"{page.relative_to(ROOT)}#{number}", body))
    return found


def scenarios() -> list[tuple[str, str]]:
    return [(where, body) for where, body in blocks("toml") if "[[workload]]" in body]


def command_lines() -> list[str]:
    lines = []
    for _, body in [*blocks("bash"), *blocks("sh"), *blocks("console"), *blocks("")]:
        for raw in body.splitlines():
            line = raw.strip().removeprefix("$ ").split("#")[0].strip()
            if re.match(r"(sudo )?(\./dev run|python3? -m emu\.run)\b", line):
                lines.append(line)
    return sorted(set(lines))


def test_the_pages_hold_something_to_check():
    assert scenarios()
    assert command_lines()
    assert EXAMPLES


@pytest.mark.parametrize(("where", "text"), scenarios(), ids=lambda v: v if "#" in v else "")
def test_every_scenario_of_the_docs_can_be_planned(where, text):
    make_plan(parse_scenario(text, where))


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda p: p.stem)
def test_every_example_can_be_planned(path):
    plan = make_plan(read_scenario(path))
    assert plan.scenario.name == path.stem
    assert plan.scenario.description


@pytest.mark.parametrize("line", command_lines())
def test_every_command_line_of_the_docs_is_understood(line, monkeypatch, capsys):
    """Planned instead of run; placeholders such as FILE stand for an example."""
    monkeypatch.chdir(ROOT)
    words = shlex.split(line)
    start = next(i for i, word in enumerate(words) if word in ("run", "emu.run"))
    placeholders = {"FILE": "examples/star.toml", "[ARGS]": None}
    arguments = [placeholders.get(word, word) for word in words[start + 1 :]]
    given = [word for word in arguments if word is not None]
    if "--list" not in given:
        given.append("--plan")
    assert run.main(given) == 0, capsys.readouterr().err
    assert "scenario" in capsys.readouterr().out


def test_a_wrong_example_would_be_noticed():
    text = scenarios()[0][1].replace("repetitions", "repetition")
    with pytest.raises(ScenarioError, match="unknown key"):
        make_plan(parse_scenario(text, "changed"))
