"""Tables of figures in narrow terminals and in pipes: no number is ever cut or wrapped."""

import io
import re
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from netcosim.cli import output
from netcosim.cli.columns import Column, print_columns
from netcosim.cli.table import print_summary, print_training
from tests.netcosim.cli.test_command_line import SMALL
from tests.netcosim.results.synthetic import summary
from tests.netcosim.results.synthetic_training import Job, recommendation, training_summary

JOB = Job(counts=(1, 4), runs=2, steps=10, traced_steps=1)
NUMBERS = ["9.3547 +- 0.0018", "130.12 +- 0.33"]


def printed(columns: list[Column], width: int) -> str:
    out = io.StringIO()
    print_columns(columns, Console(file=out, width=width))
    return out.getvalue()


@given(st.integers(12, 120), st.lists(st.integers(0, 3), min_size=1, max_size=6))
def test_no_width_cuts_a_number(width: int, ranks: list[int]) -> None:
    columns = [
        Column(heading=f"of {i}", cells=[f"{i}: {text}" for text in NUMBERS], rank=rank)
        for i, rank in enumerate([0, *ranks])
    ]
    text = printed(columns, width)
    ranks = [0, *ranks]
    left_out = [f"of {i}" for i in range(len(ranks)) if f"{i}: {NUMBERS[0]}" not in text]
    assert re.findall(r"of \d", " ".join(text.partition("No room for:")[2].split())) == left_out
    for i in range(len(ranks)):
        assert (f"{i}: {NUMBERS[1]}" in text) == (f"of {i}" not in left_out)
        assert ranks[i] or f"of {i}" not in left_out
    assert "…" not in text


def test_the_least_wanted_column_goes_first() -> None:
    columns = [
        Column(heading=name, cells=["1234567"], rank=rank)
        for name, rank in (("a", 0), ("b", 3), ("c", 1), ("d", 3))
    ]
    assert "No room" not in printed(columns, 36)
    assert "No room for: d." in printed(columns, 35)
    assert "No room for: b, d." in printed(columns, 26)
    assert "No room for: b, c, d." in " ".join(printed(columns, 17).split())


def test_text_is_folded_before_a_column_is_left_out() -> None:
    name = Column(heading="cell", cells=["a-long-workload/transport"], folds=True, justify="left")
    text = printed([name, Column(heading="n", cells=["1.25"], rank=1)], 20)
    assert "1.25" in text and "a-long-workload" not in text and "No room" not in text


@pytest.mark.parametrize("width", [20, 40, 60, 80, 200])
def test_the_tables_of_a_run_keep_their_figures_at_any_width(width: int) -> None:
    made = training_summary((JOB,))
    advised = made.series[0].model_copy(update={"recommendation": recommendation()})
    out = io.StringIO()
    print_training(made.model_copy(update={"series": (advised,)}), Console(file=out, width=width))
    for figures in ("19.00 +- 0.10", "10.00 +- 0.10"):
        assert figures in out.getvalue()
    print_summary(summary((SMALL,)), Console(file=out, width=width))
    assert "…" not in out.getvalue()
    assert "2 of 2" in out.getvalue()


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize("terminal", [False, True])
def test_what_is_piped_is_not_wrapped(terminal: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    out = Terminal() if terminal else io.StringIO()
    monkeypatch.setattr(sys, "stdout", out)
    monkeypatch.setenv("COLUMNS", "40")
    monkeypatch.setenv("TERM", "xterm")
    output().print("a line of words " * 10)
    print_training(training_summary((JOB,)), output())
    assert (len(out.getvalue().splitlines()[0]) > 150) != terminal
    assert ("No room for" in out.getvalue()) == terminal
