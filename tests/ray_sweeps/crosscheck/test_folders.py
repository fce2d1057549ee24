"""Runs that can't be read, or are not whole, are told in a line each."""

from collections.abc import Callable
from pathlib import Path

import pytest

from netcosim.errors import StorageError
from netcosim.results.collection import Collection
from netcosim.results.folder import LOST, RUN, SCENARIO, TRACE
from netcosim.results.streams.summary import NotRun
from ray_sweeps.crosscheck.folders import read_runs, read_scores, run_names
from ray_sweeps.crosscheck.unit import StoredScore
from tests.netcosim.results.synthetic import Case, write_folder
from tests.netcosim.results.synthetic_training import Job, write_training_folder
from tests.ray_sweeps.crosscheck.made import (
    CELL,
    CYCLE,
    FIFO,
    scenario,
    simulated,
    stored_summary,
    write_run,
)


def write(path: Path) -> Path:
    return write_run(path, scenario(), simulated(scenario(), bursts=1), lost=[])


def emptied(name: str) -> Callable[[Path], object]:
    return lambda path: (path / name).write_bytes(b"")


DAMAGED: dict[str, tuple[Callable[[Path], object], str]] = {
    "no record": (lambda p: (p / RUN).unlink(), "has no run.json: the run ended before it"),
    "no trace": (lambda p: (p / TRACE).unlink(), "has no trace.parquet: the run finished no burst"),
    "no scenario": (lambda p: (p / SCENARIO).unlink(), "is not a results folder"),
    "trace": (emptied(TRACE), "trace.parquet: can't be read as Parquet"),
    "lost": (lambda p: (p / LOST).write_bytes((p / TRACE).read_bytes()), "lost.parquet: is not a"),
    "record": (emptied(RUN), "run.json: Invalid JSON"),
    "scenario": (lambda p: (p / SCENARIO).write_text("name = 7"), "scenario.toml: name: 7"),
    "other": (
        lambda p: (p / SCENARIO).write_text((p / SCENARIO).read_text().replace("five", "six")),
        'trace.parquet: cell: "five/h2-fifo": is not in scenario.toml',
    ),
    "format": (
        lambda p: (p / RUN).write_text((p / RUN).read_text().replace("netcosim-run", "x")),
        "run.json: format: Input should be 'netcosim-run'",
    ),
}


@pytest.mark.parametrize("name", DAMAGED)
def test_a_damaged_folder_is_a_line_with_its_name(tmp_path: Path, name: str):
    damage, said = DAMAGED[name]
    path = write(tmp_path / "run")
    damage(path)
    (read,) = read_runs([str(path)], {})
    assert not read.units
    (line,) = read.lines
    assert said in line and str(path) in line and "\n" not in line


def test_foreign_things_are_lines_and_the_others_are_read(tmp_path: Path):
    (tmp_path / "foreign").mkdir()
    (tmp_path / "file").write_text("?")
    write_training_folder(tmp_path / "sim", [Job()])
    write(tmp_path / "good")
    names = ["foreign", "file", "sim", "nothing", "good"]
    found = list(read_runs([str(tmp_path / name) for name in names], {}))
    assert [len(read.units) for read in found] == [0, 0, 0, 0, 1]
    assert [len(read.lines) for read in found] == [1, 1, 1, 1, 0]
    assert "of a simulation" in found[2].lines[0]


def test_an_incomplete_run_is_compared_as_far_as_it_came(tmp_path: Path):
    asked = scenario([FIFO, CYCLE])
    rows = [row for row in simulated(asked, bursts=1) if row.cell == CELL]
    path = write_run(
        tmp_path / "run", asked, rows, summary=stored_summary(complete=False, reasons=("Ctrl-C",))
    )
    (read,) = read_runs([str(path)], {})
    assert [unit.cell for unit in read.units] == [CELL]
    assert read.lines == (
        f"{path}: the run is incomplete (Ctrl-C): no burst of five/h2-cycle; what it finished is"
        " compared",
    )


def test_cells_that_were_not_run_and_runs_without_trust_are_told(tmp_path: Path):
    asked = scenario([FIFO, CYCLE])
    rows = [row for row in simulated(asked, bursts=1) if row.cell == CELL]
    lacking = NotRun(cell="five/h2-cycle", workload="five", transport="h2-cycle", reason="no lib")
    summary = stored_summary(reasons=("no evidence",))
    summary = summary.model_copy(update={"trusted": False, "not_run": (lacking,)})
    path = write_run(tmp_path / "run", asked, rows, summary=summary)
    (read,) = read_runs([str(path)], {})
    assert len(read.units) == 1
    assert read.lines == (
        f"{path}: the emulator does not trust the run: no evidence",
        f"{path}: five/h2-cycle was not run: no lib",
    )


def test_units_have_the_rows_of_their_cell_alone(tmp_path: Path):
    asked = scenario([FIFO, CYCLE])
    rows = simulated(asked, bursts=2)
    (read,) = read_runs([str(write_run(tmp_path / "run", asked, rows))], {})
    assert [unit.cell for unit in read.units] == [CELL, "five/h2-cycle"]
    assert len({unit.trace for unit in read.units}) == 2
    assert all(len(unit.trace) < (tmp_path / "run" / TRACE).stat().st_size for unit in read.units)


def test_a_collection_is_its_runs(tmp_path: Path):
    path = write(tmp_path / "run")
    kept = Collection(path=tmp_path / "kept")
    for name in ("b", "a"):
        kept.put(name, {n: (path / n).read_bytes() for n in (SCENARIO, RUN, TRACE, LOST)})
    names = run_names(tmp_path / "kept")
    assert names == (f"{tmp_path}/kept#a", f"{tmp_path}/kept#b")
    found = list(read_runs([*names, f"{tmp_path}/kept#c"], {}))
    assert [len(read.units) for read in found] == [1, 1, 0]
    assert "no such run" in found[2].lines[0]
    assert found[0].units[0].run == f"{tmp_path}/kept#a"
    (lone,) = read_runs([str(path)], {})
    assert found[0].units[0].trace == lone.units[0].trace
    (tmp_path / "kept" / "runs.parquet").write_bytes(b"?")
    with pytest.raises(StorageError, match=r"runs.parquet: can't be read as Parquet"):
        run_names(tmp_path / "kept")


def test_a_line_of_a_collection_names_the_run_and_no_temporary_folder(tmp_path: Path):
    path = write(tmp_path / "run")
    kept = Collection(path=tmp_path / "kept")
    files = {n: (path / n).read_bytes() for n in (SCENARIO, RUN, TRACE)}
    kept.put("a", {**files, RUN: b"{}"})
    (read,) = read_runs(run_names(tmp_path / "kept"), {})
    (line,) = read.lines
    assert line.startswith(f"{tmp_path}/kept#a/run.json: ") and "netcosim-" not in line


def test_stored_scores_are_those_of_the_summary_best_first(tmp_path: Path):
    case = Case()
    write_folder(tmp_path / "run", (case,))
    (read,) = read_runs([str(tmp_path / "run")], {})
    (unit,) = read.units
    assert unit.stored[0].model == "two_visit" == case.truth
    assert unit.stored[0].source == "summary.json"
    assert [s.order for s in unit.stored] == sorted(s.order for s in unit.stored)
    assert len(unit.stored) == 5


def test_scores_of_a_file_are_taken_where_a_folder_has_none(tmp_path: Path):
    file = tmp_path / "scores.json"
    errors = '{"streams": 9, "mean": 0.25, "median": 0.1, "max": 0.5}'
    rows = f'{{"key": "run", "right": "fifo", "levels": {{"PREDICT": {{"order": {errors},'
    file.write_text(f'{{"rows": [{rows} "wire": {errors}}}}}}}, {{"key": "b", "levels": {{}}}}]}}')
    scores = read_scores(file)
    score = StoredScore(
        model="fifo",
        source="scores.json",
        streams=9,
        order=0.25,
        order_max=0.5,
        time=0.25,
        time_max=0.5,
    )
    assert scores == {"run": score}
    (read,) = read_runs([str(write(tmp_path / "run"))], scores)
    assert read.units[0].stored == (score,)
    (other,) = read_runs([str(write(tmp_path / "b"))], scores)
    assert other.units[0].stored == ()


@pytest.mark.parametrize("text", ["", "[]", '{"rows": [{}]}'])
def test_a_file_without_scores_is_refused(tmp_path: Path, text: str):
    file = tmp_path / "scores.json"
    file.write_text(text)
    with pytest.raises(StorageError, match=r"scores.json: .*as ./dev bench fidelity writes them"):
        read_scores(file)
