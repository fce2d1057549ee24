"""Simulations of the documentation: all can be planned; quick ones print what the page shows.

Quick is what the plan says. The figures on pages that other simulations print are not compared.
"""

import os
import re
from collections.abc import Sequence
from pathlib import Path

import pytest

import sim.run
from tests.docs.pages import ROOT, CommandLine, command_lines
from tests.docs.parsing import ENDS_AT_ONCE, NOT_PLANNED, heard, planned
from tests.docs.shell import Call, calls_if_understood

QUICK_S = 15.0
"""By the plan, on one processor; ten seconds of it are a cold start and the report."""

UNITS_S = {"s": 1.0, "min": 60.0, "h": 3600.0}


def simulations() -> list[tuple[CommandLine, Call]]:
    """Each simulation once, planned or not, with the line that shows most of what it prints."""
    found: dict[str, tuple[CommandLine, Call]] = {}
    for line in command_lines():
        for call in calls_if_understood(line.text):
            if call.program != "sim.run" or (ENDS_AT_ONCE | NOT_PLANNED) & set(call.arguments):
                continue
            before = found.get(call.title.removesuffix(" --plan"))
            if before is None or len(line.shown) > len(before[0].shown):
                found[call.title.removesuffix(" --plan")] = (line, call)
    return list(found.values())


@pytest.mark.slow
@pytest.mark.parametrize(
    ("line", "call"), simulations(), ids=lambda v: v.title if isinstance(v, Call) else ""
)
def test_it_can_be_planned_and_prints_what_the_page_shows(line, call, monkeypatch, tmp_path):
    with monkeypatch.context() as patch:
        patch.setattr(os, "sched_getaffinity", lambda _: {0})
        takes_s = estimate_s(planned(call))
    if takes_s <= QUICK_S and not {"FILE", "./profile.json"} & set(call.arguments):
        printed = run(call, monkeypatch, tmp_path)
        assert not missing(line.shown, printed)


def estimate_s(plan: str) -> float:
    """Seconds in the plan's last line."""
    found = re.search(r"^takes +about ([\d.]+) (s|min|h) on 1 processor\b", plan, re.M)
    assert found is not None, plan
    return float(found[1]) * UNITS_S[found[2]]


def run(call: Call, monkeypatch: pytest.MonkeyPatch, folder: Path) -> str:
    """Run it in a folder with the examples, but for the report, which is drawn once elsewhere."""
    (folder / "examples").symlink_to(ROOT / "examples")
    monkeypatch.chdir(folder)
    own = ["--no-report"] if "--out" in call.arguments else ["--no-report", "--out", "out"]
    arguments = [word for word in call.arguments if word != "--plan"]
    code, printed, errors = heard(lambda: sim.run.main([*arguments, *own]))
    assert code == 0, errors
    return printed


def missing(shown: Sequence[str], printed: str) -> list[str]:
    """Lines of a page that a program did not print; tables may be cut to some columns."""
    rows = [cells(line) for line in printed.splitlines()]
    flowing = " ".join(printed.split())
    return [
        line
        for line in shown
        if line != "..."
        and " ".join(line.split()) not in flowing
        and not any(is_part(cells(line), row) for row in rows)
    ]


def cells(line: str) -> list[str]:
    return re.split(r"\s{2,}", line.strip())


def is_part(some: Sequence[str], row: Sequence[str]) -> bool:
    """True if a row has these cells, in this order."""
    left = iter(row)
    return all(cell in left for cell in some)


def test_what_is_not_printed_would_be_noticed():
    said = " workers  examples/s     steps/s\n      8  9.08 +- 0.18    1.135\nNothing was\nleft.\n"
    good = ["workers  steps/s", "8  9.08 +- 0.18", "...", "Nothing was left."]
    assert not missing(good, said)
    bad = ["8  9.08 +- 0.19", "8  1.135  9.08 +- 0.18", "Nothing is left"]
    assert missing(bad, said) == bad


def test_figures_of_pages_are_among_what_is_compared():
    quick = {"--no-recommendation"}
    shown = [
        text for line, call in simulations() if quick & set(call.arguments) for text in line.shown
    ]
    assert sum("+-" in text for text in shown) >= 5
