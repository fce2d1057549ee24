"""The command: files, tables, exit codes; units and results travel as plain data."""

import json
import pickle
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import duckdb
import jsonschema
import pytest

from netcosim.results.folder import RUN
from ray_sweeps.crosscheck import command, main
from ray_sweeps.crosscheck.unit import CellCheck, Unit
from tests.ray_sweeps.crosscheck.made import (
    CELL,
    CYCLE,
    FIFO,
    scenario,
    simulated,
    validity,
    write_run,
)

Work = Callable[[Unit], CellCheck]

FILES = ["crosscheck.json", "pictures", "report.html", "schemas", "streams.parquet"]


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of two cells, one of whose bursts is not judged."""
    asked = scenario([FIFO, CYCLE])
    rows = simulated(asked, bursts=2)
    each = [validity(cell, b) for cell in (CELL, "five/h2-cycle") for b in range(2)]
    each[0] = validity(CELL, 0, judged=False, delayed_inputs=("a grant came <late>",))
    return write_run(tmp_path_factory.mktemp("made") / "run", asked, rows, validities=each)


def record(out: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((out / "crosscheck.json").read_text())
    return found


def test_a_good_folder_ends_with_0_and_all_files(run: Path, tmp_path: Path, capsys: Any):
    out = tmp_path / "out"
    assert main(["--serial", str(run), "--cells", "--out", str(out)]) == 0
    said = capsys.readouterr()
    assert said.err == ""
    assert "3 of 4 measured bursts of 2 cells were compared, 15 streams" in said.out
    assert "1 burst of 1 cell: a pause delayed an input" in said.out
    assert "run: five/h2-cycle" in said.out
    assert said.out.rstrip().endswith(f"report: {out}/report.html")
    assert sorted(p.name for p in out.iterdir()) == FILES
    found = record(out)
    schema = json.loads((out / "schemas" / "crosscheck.schema.json").read_text())
    jsonschema.validate(found, schema)
    assert found["errors"]["time"]["max"] < 1e-6
    assert found["errors"]["orders_equal"] == found["compared_bursts"] == 3
    pages = (out / "report.html").read_text()
    assert "a grant came &lt;late&gt;" in pages and "<late>" not in pages
    assert pages.count("data:image/png;base64,") == len(list((out / "pictures").iterdir()))


def test_the_table_of_streams_says_what_the_record_says(run: Path, tmp_path: Path):
    out = tmp_path / "out"
    main(["--serial", str(run), "--no-report", "--out", str(out)])
    table = duckdb.read_parquet(str(out / "streams.parquet"))
    columns = json.loads((out / "schemas" / "streams.columns.json").read_text())["columns"]
    assert table.columns == [column["name"] for column in columns]
    assert all(column["description"] for column in columns)
    assert table.filter("compared").shape[0] == record(out)["compared_streams"]
    apart = table.filter("not compared").project("reason").distinct().fetchall()
    assert apart == [("not judged",)]
    assert not (out / "report.html").exists()


def test_bad_folders_are_lines_and_the_others_are_done(run: Path, tmp_path: Path, capsys: Any):
    bad = tmp_path / "bad"
    bad.mkdir()
    out = tmp_path / "out"
    code = main(
        ["--serial", str(bad), str(run), str(tmp_path / "none"), "--no-report", "--out", str(out)]
    )
    assert code == 1
    lines = capsys.readouterr().err.splitlines()
    assert lines == record(out)["lines"]
    assert len(lines) == 2 and str(bad) in lines[0] and str(tmp_path / "none") in lines[1]
    assert record(out)["compared_bursts"] == 3


def test_nothing_to_read_is_refused_and_leaves_no_folder(tmp_path: Path, capsys: Any):
    out = tmp_path / "new" / "out"
    assert main(["--serial", str(tmp_path / "none"), "--out", str(out)]) == 6
    said = capsys.readouterr()
    assert len(said.err.splitlines()) == 2
    assert not out.exists() and not out.parent.exists()


def test_a_run_of_which_no_burst_can_be_compared_ends_with_1(tmp_path: Path, capsys: Any):
    asked = scenario(workload__five__stagger="9ms", cluster__workers=2, cluster__topology="star")
    rows = simulated(scenario(cluster__workers=2, cluster__topology="star"), bursts=2)
    out = tmp_path / "out"
    assert main(["--serial", str(write_run(tmp_path / "run", asked, rows)), "--out", str(out)]) == 1
    said = capsys.readouterr().out
    assert "None of 2 measured bursts of 1 cell could be compared." in said
    assert "2 bursts of 1 cell: workers start one after the other" in said
    assert record(out)["errors"] is None
    assert "could be compared" in (out / "report.html").read_text()


def test_a_cell_that_turns_out_to_be_damaged_is_a_line(run: Path, tmp_path: Path, capsys: Any):
    rows = [replace(row, wire_end_ns=-1) for row in simulated(scenario(), bursts=1)]
    bad = write_run(tmp_path / "bad", scenario(), rows)
    out = tmp_path / "out"
    assert main(["--serial", str(bad), str(run), "--no-report", "--out", str(out)]) == 1
    assert capsys.readouterr().err == f"{bad}: {CELL}: burst 0 took no time\n"
    assert len(record(out)["cells"]) == 2


def test_results_do_not_hang_on_who_does_the_units_and_in_which_order(run: Path, tmp_path: Path):
    def elsewhere(work: Work, units: Iterable[Unit]) -> Iterator[CellCheck]:
        for unit in reversed(list(units)):
            there = pickle.loads(pickle.dumps((work, unit)))
            yield pickle.loads(pickle.dumps(there[0](there[1])))

    outs = [tmp_path / "here", tmp_path / "elsewhere"]
    assert main(["--serial", str(run), "--no-report", "--out", str(outs[0])]) == 0
    assert command.run([str(run), "--no-report", "--out", str(outs[1])], do=elsewhere) == 0
    for name in ("crosscheck.json", "streams.parquet"):
        assert (outs[0] / name).read_bytes() == (outs[1] / name).read_bytes()


def test_a_unit_needs_no_folder(run: Path, tmp_path: Path):
    copy = tmp_path / "gone"
    copy.mkdir()
    for file in run.iterdir():
        if file.is_file():
            (copy / file.name).write_bytes(file.read_bytes())

    def after_removal(work: Work, units: Iterable[Unit]) -> Iterator[CellCheck]:
        kept = list(units)
        for file in copy.iterdir():
            file.unlink()
        return map(work, kept)

    out = tmp_path / "out"
    assert command.run([str(copy), "--no-report", "--out", str(out)], do=after_removal) == 0
    assert record(out)["compared_bursts"] == 3


@pytest.mark.parametrize(
    ("failure", "said", "code"),
    [
        (KeyboardInterrupt(), "interrupted; what was done (1 cell) is in {out}", 130),
        (RuntimeError("boom"), "this is a bug: RuntimeError: boom (see {out}/traceback.txt)", 70),
    ],
)
def test_what_was_done_is_kept_whatever_ends_it(
    run: Path, tmp_path: Path, failure: BaseException, said: str, code: int, capsys: Any
):
    def failing(work: Work, units: Iterable[Unit]) -> Iterator[CellCheck]:
        yield work(next(iter(units)))
        raise failure

    out = tmp_path / "out"
    assert command.run([str(run), "--out", str(out)], do=failing) == code
    assert capsys.readouterr().err.rstrip().endswith(said.format(out=out))
    assert record(out)["complete"] is False
    assert len(record(out)["cells"]) == 1


@pytest.mark.parametrize(
    ("arguments", "said", "code"),
    [
        ([], "required: FOLDER", 2),
        (["{run}", "--bad"], "unrecognized arguments: --bad", 2),
        (["{run}", "--scores", "/nonexistent.json"], "/nonexistent.json: can't be read", 6),
        (["{run}", "--out", "{run}"], "is not empty: must be a new or an empty folder", 6),
        (["{run}", "--out", "/proc/x"], "/proc/x: can't be created", 6),
    ],
)
def test_wrong_options_are_one_line(
    run: Path, arguments: list[str], said: str, code: int, capsys: Any
):
    before = (run / RUN).read_bytes()
    assert main(["--serial", *(each.format(run=run) for each in arguments)]) == code
    err = capsys.readouterr().err
    assert said in err and len(err.splitlines()) == 1
    assert (run / RUN).read_bytes() == before
