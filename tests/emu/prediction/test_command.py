"""``emu.predict`` on runs that a model made: what it says, what it keeps, what it refuses."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from emu import predict
from netcosim.results.folder import ResultsFolder
from netcosim.results.streams.summary import CellSummary
from netcosim.scenario import Scenario, build_scenario
from tests.emu.run.made import write_run


def job() -> Scenario:
    h2 = {"sender": "h2", "receiver": "h2"}
    return build_scenario(
        {
            "name": "made",
            "repetitions": 2,
            "cluster": {"link": {"rate": "100mbit"}},
            "workload": [
                {
                    "name": "mix",
                    "tensors": [
                        {"name": "a", "size": "900kB"},
                        {"name": "b", "size": "300kB"},
                        {"name": "c", "size": "700kB"},
                    ],
                }
            ],
            "transport": [
                {"name": "fifo", **h2, "discipline": "fifo", "flow_control": False},
                {"name": "turns", **h2, "discipline": "round_robin", "flow_control": False},
            ],
        }
    )


@pytest.fixture
def run(tmp_path: Path) -> Path:
    write_run(tmp_path / "run", job(), bursts=3)
    return tmp_path / "run"


def last_line(capsys: pytest.CaptureFixture[str]) -> str:
    return capsys.readouterr().err.strip().splitlines()[-1]


def test_it_tells_errors_by_level_and_that_nothing_changed(
    run: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = {p: p.read_bytes() for p in run.rglob("*") if p.is_file()}
    assert predict.run([str(run)]) == 0
    told = capsys.readouterr().out
    for word in ("mix/fifo", "mix/turns", "PREDICT", "EXPLAIN", "ORACLE"):
        assert word in told
    assert "These predictions are the same as the run, byte for byte." in told
    assert {p: p.read_bytes() for p in run.rglob("*") if p.is_file()} == before


def test_invalid_bursts_are_predicted_and_not_scored(run: Path, tmp_path: Path) -> None:
    assert predict.run([str(run), "--out", str(tmp_path / "again")]) == 0
    with ResultsFolder.open(tmp_path / "again") as folder:
        summary, predicted = folder.read_summary(), folder.read_predictions()
    assert summary is not None
    assert (summary.complete, summary.trusted, summary.reasons) == (True, True, ())
    assert {(r.cell, r.burst) for r in predicted} == {
        (cell, burst) for cell in ("mix/fifo", "mix/turns") for burst in range(3)
    }
    for cell in summary.cells:
        assert (cell.judged_bursts, cell.invalid_bursts) == (2, 1)
        assert {m.bursts for m in cell.models} == {2}
        assert cell.best == {"mix/fifo": "fifo", "mix/turns": "round_robin"}[cell.cell]


PAUSE = (20_000_000, 35_000_000)


def cells_of(folder: Path) -> dict[str, CellSummary]:
    with ResultsFolder.open(folder) as opened:
        summary = opened.read_summary()
    assert summary is not None
    return {cell.cell: cell for cell in summary.cells}


@pytest.mark.oracle
def test_a_recorded_pause_changes_neither_predictions_nor_errors(
    run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_run(tmp_path / "paused", job(), bursts=3, pause=PAUSE)
    assert predict.run([str(tmp_path / "paused"), "--out", str(tmp_path / "again")]) == 0
    assert "These predictions are the same as the run, byte for byte." in capsys.readouterr().out
    calm = (run / "predictions.parquet").read_bytes()
    assert (tmp_path / "again/predictions.parquet").read_bytes() == calm
    before, after = cells_of(run), cells_of(tmp_path / "again")
    for name, cell in after.items():
        for one, other in zip(before[name].models, cell.models, strict=True):
            assert (one.model, one.order, one.wire) == (other.model, other.order, other.wire)
        assert before[name].models[0].wall.max == 0
        assert cell.models[0].wall.max > 0.1


def test_what_is_kept_can_be_predicted_again(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_run(tmp_path / "paused", job(), bursts=3, pause=PAUSE)
    assert predict.run([str(tmp_path / "paused"), "--out", str(tmp_path / "again")]) == 0
    capsys.readouterr()
    assert predict.run([str(tmp_path / "again"), "--out", str(tmp_path / "third")]) == 0
    assert "These predictions are the same as the run, byte for byte." in capsys.readouterr().out
    for name in ("predictions.parquet", "summary.json", "lost.parquet"):
        assert (tmp_path / "third" / name).read_bytes() == (tmp_path / "again" / name).read_bytes()


def test_a_run_of_an_older_release_is_predicted_on_its_wall_clock(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """It recorded no pauses and no positions on links, and did not say what was judged."""
    write_run(tmp_path / "old", job(), bursts=3, pause=PAUSE)
    (tmp_path / "old/lost.parquet").unlink()
    table = pq.read_table(tmp_path / "old/trace.parquet").drop_columns(["link_position"])
    pq.write_table(table, tmp_path / "old/trace.parquet")
    record = json.loads((tmp_path / "old/run.json").read_text())
    news = ("judged", "delayed_inputs", "length_ns", "lost_ns", "cut_ns", "loss_probes")
    for one in record["validity"]:
        for name in (*news, "timeouts", "reorderings"):
            del one[name]
        one["largest_gap_ns"] = 7
    del record["recorder"]
    (tmp_path / "old/run.json").write_text(json.dumps(record))
    assert predict.run([str(tmp_path / "old"), "--out", str(tmp_path / "again")]) == 0
    assert "These predictions are not those of the run" in capsys.readouterr().out
    for cell in cells_of(tmp_path / "again").values():
        assert (cell.judged_bursts, cell.shown_bursts, cell.invalid_bursts) == (2, 0, 1)
        assert (cell.grade, cell.lost_share) == (None, None)
        assert all(m.wall == m.wire for m in cell.models)
        best = next(m for m in cell.models if m.model == cell.best)
        assert best.order.max == 0
        assert best.wire.max > 0.1


def test_other_links_make_other_predictions(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    record = json.loads((run / "run.json").read_text())
    for link in record["models"].values():
        link["rate_bps"] //= 2
    (run / "run.json").write_text(json.dumps(record))
    assert predict.run([str(run)]) == 0
    assert "These predictions are not those of the run" in capsys.readouterr().out


def test_a_cell_that_was_never_reached_makes_the_run_incomplete(run: Path, tmp_path: Path) -> None:
    record = json.loads((run / "run.json").read_text())
    record["validity"] = [v for v in record["validity"] if v["cell"] == "mix/fifo"]
    (run / "summary.json").unlink()
    (run / "run.json").write_text(json.dumps(record))
    assert predict.run([str(run), "--out", str(tmp_path / "again")]) == 0
    with ResultsFolder.open(tmp_path / "again") as folder:
        summary = folder.read_summary()
    assert summary is not None
    assert not summary.complete
    assert not summary.trusted
    assert [c.cell for c in summary.cells] == ["mix/fifo"]


def test_a_cell_of_which_no_burst_was_captured_leaves_the_others_theirs(
    run: Path, tmp_path: Path
) -> None:
    lost = "mix/turns"
    for name in ("trace.parquet", "grants.parquet"):
        table = pq.read_table(run / name)
        kept = [place for place, cell in enumerate(table["cell"].to_pylist()) if cell != lost]
        pq.write_table(table.take(kept), run / name)
    record = json.loads((run / "run.json").read_text())
    record["models"] = {key: link for key, link in record["models"].items() if lost not in key}
    for each in record["validity"]:
        if each["cell"] == lost:
            each.update(valid=False, judged=False, reasons=["was received but not captured"])
    (run / "run.json").write_text(json.dumps(record))
    assert predict.run([str(run), "--out", str(tmp_path / "again")]) == 0
    before, after = cells_of(run), cells_of(tmp_path / "again")
    assert after["mix/fifo"] == before["mix/fifo"]
    assert (after[lost].judged_bursts, after[lost].invalid_bursts) == (0, 3)


def drop_links(run: Path) -> None:
    record = json.loads((run / "run.json").read_text())
    (run / "run.json").write_text(json.dumps({**record, "models": {}}))


@pytest.mark.parametrize(
    ("damage", "code", "reason"),
    [
        (
            lambda run: (run / "run.json").unlink(),
            6,
            "has no run.json: the run ended before it was",
        ),
        (lambda run: (run / "trace.parquet").unlink(), 6, "has no trace.parquet: can't be"),
        (lambda run: (run / "grants.parquet").unlink(), 6, "has no grants.parquet: can't be"),
        (lambda run: (run / "grants.parquet").write_bytes(b"x"), 6, "can't be read as Parquet"),
        (shutil.rmtree, 6, "can't be opened: No such file or directory"),
        (lambda run: (run / "scenario.toml").write_text("a ="), 2, "not TOML"),
        (drop_links, 6, 'run.json: models: "mix/fifo connection 0"'),
    ],
)
def test_a_damaged_folder_is_one_line(
    run: Path,
    capsys: pytest.CaptureFixture[str],
    damage: Callable[[Path], object],
    code: int,
    reason: str,
) -> None:
    damage(run)
    assert predict.run([str(run)]) == code
    line = last_line(capsys)
    assert line.startswith("emu.predict: ")
    assert reason in line


def test_options_are_refused_in_one_line(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert predict.run([]) == 2
    assert "FOLDER" in last_line(capsys)
    assert predict.run([str(run), "--nonsense"]) == 2
    assert "--nonsense" in last_line(capsys)
    assert predict.run([str(run), "--out", str(run)]) == 6
    assert "is not empty" in last_line(capsys)
