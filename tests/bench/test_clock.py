"""Benchmarks by either clock: what one leaves never takes the place of the other's."""

import json
from pathlib import Path

import pytest

from bench.common import record as records
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


def test_where_there_is_no_choice_no_clock_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(records, "RESULTS", tmp_path)
    record("it", FIGURES)
    assert "clock" not in json.loads((tmp_path / "it.json").read_text())


def test_scenarios_say_the_clock() -> None:
    ends = {"name": "t", "sender": "grpc", "receiver": "grpc"}
    assert scenario_of([ends], clock="virtual").clock == "virtual"
    for clock in ("real", "virtual"):
        cells = read_listing(clock=clock)
        assert {cell.scenario.clock for cell in cells[:5]} == {clock}
