"""Benchmarks by either clock: what one leaves never takes the place of the other's."""

import json
from pathlib import Path

import pytest

from bench.common import record as records
from bench.common.kept_lines import add_line, read_lines
from bench.common.record import Figure, heading, record
from bench.fidelity.listing import read_listing
from bench.identify import scenario_of

FIGURES = [Figure(name="a", value=1, unit="")]


def test_each_clock_has_its_own_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(records, "RESULTS", tmp_path)
    assert record("it", FIGURES, clock="real") == record("it", FIGURES, clock="virtual") == 0
    real, virtual = (
        json.loads((tmp_path / name).read_text()) for name in ("it.json", "it-virtual.json")
    )
    assert (real["clock"], real["command"]) == ("real", "./dev bench it")
    assert (virtual["clock"], virtual["command"]) == ("virtual", "./dev bench it --clock virtual")
    assert "`./dev bench it --clock virtual`" in heading("it", "virtual")


def test_scenarios_say_the_clock() -> None:
    ends = {"name": "t", "sender": "grpc", "receiver": "grpc"}
    assert scenario_of([ends], clock="virtual").clock == "virtual"
    for clock in ("real", "virtual"):
        cells = read_listing(clock=clock)
        assert {cell.scenario.clock for cell in cells[:5]} == {clock}


FIRST, SECOND, THIRD = {"part": "a", "s": 1.5}, {"part": "b"}, {"part": "ä"}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    kept = tmp_path / "kept.jsonl"
    add_line(kept, FIRST)
    add_line(kept, SECOND)
    return kept


@pytest.mark.parametrize("cut", range(1, 14))
def test_a_cut_line_is_none_and_the_next_one_takes_its_place(path: Path, cut: int) -> None:
    path.write_bytes(path.read_bytes()[:-cut])
    assert read_lines(path) == [FIRST]
    add_line(path, THIRD)
    assert read_lines(path) == [FIRST, THIRD]


def test_a_line_that_is_none_in_the_midst_hides_no_other(path: Path) -> None:
    path.write_bytes(path.read_bytes().replace(b'{"part":"b"}', b'{"part'))
    add_line(path, THIRD)
    assert read_lines(path) == [FIRST, THIRD]
