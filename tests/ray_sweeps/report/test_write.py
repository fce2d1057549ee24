"""What comes out of a sweep, from its dataset alone: tables, summary, page; and of bad datasets."""

import json
import math
from pathlib import Path
from typing import Any

import duckdb
import jsonschema
import numpy as np
import pandas as pd
import polars as pl
import pyarrow.parquet as pq
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from netcosim.errors import StorageError
from netcosim.results.json_files import to_json
from ray_sweeps.analysis.changes import compare_datasets
from ray_sweeps.analysis.dataset import read_dataset
from ray_sweeps.analysis.outcomes import outcomes_of
from ray_sweeps.analysis.summary import SweepSummary
from ray_sweeps.report.write import write_outcomes
from tests.netcosim.report.pages import HOSTILE, PNG, Page
from tests.ray_sweeps.made_sweep import Price, Row, Sweep, grid, run_row, write_sweep

LUCK = [1.0, 1.02, 0.97]
LEVELS = {
    "straggler": ["none", "one-slow"],
    "synchronisation": ["asp", "bsp"],
    "servers": [1, 2],
    "workers": [1, 2, 4],
}


def rate(factors: dict[str, Any], run: int) -> float:
    slow = 0.5 if factors["straggler"] != "none" else 1.0
    return LUCK[run] * slow * min(factors["workers"], 2.5 * factors["servers"])


def outcome(folder: Path, rows: list[Row], sweep: Sweep | None = None) -> SweepSummary:
    return write_outcomes(write_sweep(folder, rows), sweep or Sweep())


def analysed(folder: Path) -> SweepSummary:
    return outcomes_of(read_dataset(folder), Sweep(prices=())).summary


def page_of(folder: Path) -> Page:
    return Page((folder / "report.html").read_text("utf-8"))


@pytest.mark.oracle
def test_all_files_are_written_and_read_by_others(tmp_path):
    summary = outcome(tmp_path, grid(LEVELS, rate))
    stored = json.loads((tmp_path / "summary.json").read_text())
    jsonschema.validate(stored, json.loads((tmp_path / "schemas/summary.schema.json").read_text()))
    assert SweepSummary.model_validate(stored).points == summary.points == 24
    table = pq.read_table(tmp_path / "points.parquet")
    described = json.loads((tmp_path / "schemas/points.columns.json").read_text())
    assert [c["name"] for c in described["columns"]] == table.schema.names
    assert [c["type"] for c in described["columns"]] == [str(f.type) for f in table.schema]
    assert [c["null"] for c in described["columns"]] == [
        table[name].null_count > 0 for name in table.schema.names
    ]
    best = "select max(examples_per_s) from"
    by_duckdb = duckdb.sql(f"{best} '{tmp_path}/points.parquet'").fetchall()
    by_csv = pd.read_csv(tmp_path / "points.csv")
    assert by_duckdb[0][0] == by_csv["examples_per_s"].max() == summary.best[0].best.examples_per_s
    assert pl.read_csv(tmp_path / "points.csv").height == 24
    assert all(p.read_bytes().startswith(PNG) for p in (tmp_path / "pictures").iterdir())
    # Again, of the rows in another order: the same bytes, and no picture of an earlier analysis.
    before = written(tmp_path)
    (tmp_path / "pictures" / "old.png").write_bytes(PNG)
    outcome(tmp_path, grid(LEVELS, rate)[::-1])
    assert written(tmp_path) == before
    assert not [p.name for p in tmp_path.rglob("*") if p.name.startswith(".")]


def written(folder: Path) -> dict[Path, bytes]:
    """All that an analysis has written into a folder."""
    files = (p.relative_to(folder) for p in folder.rglob("*.*") if "runs" not in p.parts)
    return {path: (folder / path).read_bytes() for path in files}


def noisy_rows() -> list[Row]:
    """Runs of which some fail, some lack a figure, and some are there twice, of two engines."""
    rng = np.random.default_rng(0)
    rows = grid(LEVELS, lambda f, _: rate(f, 0) * float(rng.lognormal(0, 0.1)), runs=6)
    for row in rows[::11]:
        row["straggler_ns"] = float(rng.lognormal(20, 1))
    failed = [run_row({n: row[f"factor_{n}"] for n in LEVELS}, 6, None) for row in rows[::60]]
    again = [
        {**row, "engine_hash": "f" * 16, "examples_per_s": row["examples_per_s"] * (1 + 1e-9)}
        for row in rows[::40]
    ]
    return [*rows, *failed, *again]


Analysis = tuple[dict[Path, bytes], str]


def analysis_of(rows: list[Row], parts: int, folder: Path) -> Analysis:
    """All files of a sweep's analysis, and what compares it with a faster one."""
    write_outcomes(write_sweep(folder / "it", rows, parts), Sweep(), drawn=False)
    faster = [{**row, "examples_per_s": 1.01 * row.get("examples_per_s", 0)} for row in rows]
    changed = read_dataset(write_sweep(folder / "faster", faster))
    found = compare_datasets(read_dataset(folder / "it"), changed)
    return written(folder / "it"), to_json(found).replace(str(folder), "")


@pytest.fixture(scope="module")
def reference(tmp_path_factory: pytest.TempPathFactory) -> Analysis:
    return analysis_of(noisy_rows(), 1, tmp_path_factory.mktemp("reference"))


@given(chance=st.randoms(use_true_random=False), parts=st.integers(1, 7))
@settings(max_examples=5, deadline=None, phases=[Phase.generate])
def test_equal_datasets_give_equal_bytes(tmp_path_factory, reference, chance, parts):
    """Whatever the order in which runs have ended, and the parts that they are in."""
    rows = noisy_rows()
    shuffled = chance.sample(rows, len(rows))
    assert analysis_of(shuffled, parts, tmp_path_factory.mktemp("other")) == reference


def test_the_answer_stands_in_summary_and_page(tmp_path):
    summary = outcome(tmp_path, grid(LEVELS, rate))
    said = summary.findings
    assert said[0] == (
        "Fastest: straggler none, synchronisation asp, servers 2, workers 4 with 3.99 +- 0.26"
        " examples/s (3 runs)."
    )
    assert said[1].startswith("1 other is within noise of it: straggler none, synchronisation bsp")
    assert any(text.startswith("Most for its price (on demand): ") for text in said)
    assert any(text.startswith("What matters most is workers") for text in said)
    assert any("one-slow asp 50 %, bsp 50 %" in text for text in said)
    text = " ".join(page_of(tmp_path).text.split())
    for sentence in said:
        assert sentence.replace(" +- ", " ± ") in text
    assert [(b.prices, b.condition) for b in summary.best] == [
        (None, {}),
        ("on demand", {}),
        (None, {"straggler": "none"}),
        (None, {"straggler": "one-slow"}),
    ]


def test_failures_are_counted_and_the_rest_is_analysed(tmp_path):
    rows = grid(LEVELS, rate)
    for i in (0, 1, 2, 10):
        factors = {name: rows[i][f"factor_{name}"] for name in LEVELS}
        rows[i] = run_row(factors, rows[i]["run"], None, error="disk full\nsecond line")
    summary = outcome(tmp_path, rows)
    assert (summary.points, summary.finished_points) == (24, 23)
    assert (summary.runs, summary.failed_runs) == (72, 4)
    assert summary.findings[-1] == (
        "4 of 72 runs failed; 1 point without any figures; with: disk full second line"
    )
    assert "points have from 2 to 3 runs" in summary.reasons
    assert summary.effects is not None and summary.effects.left_out == 1


def test_two_simulators_and_damaged_parts_are_told_before_all(tmp_path):
    rows = grid({"workers": [1, 2]}, lambda f, r: LUCK[r] * float(str(f["workers"])))
    rows += [{**row, "key": "'" + row["key"], "engine_hash": "f" * 16} for row in rows]
    assert not outcome(tmp_path / "two", rows).trusted
    assert page_of(tmp_path / "two").of_class("untrusted") == 1
    folder = write_sweep(tmp_path / "cut", rows[:6])
    cut = folder / "runs" / "part-00001.parquet"
    cut.write_bytes(cut.read_bytes()[:50])
    summary = write_outcomes(folder, Sweep())
    assert not summary.complete and "part-00001.parquet" in summary.reasons[0]
    assert page_of(folder).of_class("incomplete") == 1


NUMBERS = [1, 2, 3]
BAD = {
    "all failed": [run_row({"workers": n}, r, None) for n in NUMBERS for r in range(2)],
    "one point": [run_row({"workers": 4}, r, LUCK[r]) for r in range(3)],
    "one run": [run_row({"workers": n}, 0, float(n)) for n in NUMBERS],
    "one run of one point": [run_row({"workers": 4}, 0, 1.0)],
    "no factor": [run_row({}, r, LUCK[r]) for r in range(3)],
    "one level": [run_row({"workers": n, "rate": "1gbit"}, r, LUCK[r]) for n in NUMBERS
                  for r in range(3)],
    "all null": [run_row({"workers": n, "gap": None}, r, LUCK[r]) for n in NUMBERS
                 for r in range(2)],
    "all equal": [run_row({"workers": n}, r, 1.0) for n in NUMBERS for r in range(3)],
    "all zero": [run_row({"workers": n}, r, 0.0) for n in NUMBERS for r in range(3)],
    "not finite": [run_row({"workers": n}, r, [1.0, math.nan, math.inf][r]) for n in NUMBERS
                   for r in range(3)],
    "flags": [run_row({"on": flag, "workers": n}, r, LUCK[r] * n) for n in NUMBERS
              for flag in (True, False, None) for r in range(3)],
    "a run each": [run_row({"workers": n}, n, 1.0) for n in NUMBERS],
}  # fmt: skip


@pytest.mark.parametrize("name", BAD)
def test_whatever_there_is_has_a_summary_and_a_page(tmp_path, name):
    summary = outcome(tmp_path, BAD[name])
    assert summary.findings and page_of(tmp_path).text
    good = {row["key"] for row in BAD[name] if row["error"] is None
            and math.isfinite(row["examples_per_s"])}  # fmt: skip
    assert summary.finished_points == len(good)
    assert bool(summary.best) == bool(good)


def test_what_is_said_of_a_dataset_with_little_in_it(tmp_path):
    def first(name: str) -> tuple[str, ...]:
        return analysed(write_sweep(tmp_path / name.replace(" ", "-"), BAD[name])).findings

    assert first("all failed") == ("All 6 runs failed; with: the profile is gone",)
    assert first("one point") == ("The only point: 0.997 +- 0.063 examples/s (3 runs).",)
    single = first("one run")
    assert "which others are within noise is not known" in single[1]
    assert "No other is within noise" not in " ".join(single)


def test_an_empty_folder_is_refused_and_stays_empty(tmp_path):
    (tmp_path / "runs").mkdir()
    with pytest.raises(StorageError, match="no run of the sweep is finished yet"):
        write_outcomes(tmp_path, Sweep())
    assert [p.name for p in tmp_path.iterdir()] == ["runs"]


def test_a_sweep_that_goes_on_is_analysed_as_far_as_it_is(tmp_path):
    rows = grid(LEVELS, rate)
    folder = write_sweep(tmp_path, rows[:30], parts=1)
    (folder / "runs" / ".part-00001.parquet.part").write_bytes(b"PAR1 being written")
    assert analysed(folder).runs == 30
    write_sweep(folder, rows, parts=3)
    assert analysed(folder).runs == 72


def test_hostile_names_stay_text(tmp_path):
    rows = grid(
        {"straggler": ["none", HOSTILE], "$x_{1}$": ["\x1b[31m", "a"], "workers": [1, 2]},
        lambda f, run: LUCK[run] * float(str(f["workers"])),
    )
    sweep = Sweep(name="odd", description=HOSTILE, prices=(Price(name="$5 <b>"),))
    outcome(tmp_path, rows, sweep)
    page = page_of(tmp_path)
    assert not [tag for tag, _ in page.tags if tag in ("script", "b")]
    assert HOSTILE in page.text
    assert all((a.get("src") or "").startswith("data:") for t, a in page.tags if t == "img")


def test_prices_have_a_best_each_and_a_front_each(tmp_path):
    prices = (Price(), Price(name="spot", worker=0.3, server=0.5, unit=""))
    summary = outcome(tmp_path, grid(LEVELS, rate), Sweep(prices=prices))
    assert [front.prices for front in summary.fronts] == ["on demand", "spot"]
    for front in summary.fronts:
        costs = [point.cost for point in front.points]
        rates = [point.configuration.examples_per_s for point in front.points]
        assert costs == sorted(set(costs)) and rates == sorted(set(rates))
    costs = set(pq.read_table(tmp_path / "points.parquet")["cost_spot"].to_pylist())
    assert costs == {round(0.3 * w + 0.5 * s, 9) for w in (1, 2, 4) for s in (1, 2)}


@pytest.mark.oracle
def test_what_is_given_has_a_best_and_a_front_for_each_value(tmp_path):
    sweep = Sweep(given=("straggler", "synchronisation", "nosuch"))
    summary = outcome(tmp_path, grid(LEVELS, rate), sweep)
    conditions = [
        {"straggler": straggler, "synchronisation": sync}
        for straggler in ("none", "one-slow")
        for sync in ("asp", "bsp")
    ]
    assert summary.given == ("straggler", "synchronisation")
    assert [(b.prices, b.condition) for b in summary.best] == [
        (None, {}),
        *((prices, condition) for condition in conditions for prices in (None, "on demand")),
    ]
    assert [front.condition for front in summary.fronts] == conditions
    for found in summary.best[1:]:
        assert found.condition.items() <= found.best.factors.items()
        slow = 0.5 if found.condition["straggler"] == "one-slow" else 1.0
        if found.prices is None:
            assert found.best.examples_per_s == pytest.approx(slow * 4 * sum(LUCK) / 3)
    for front in summary.fronts:
        for point in front.points:
            assert front.condition.items() <= point.configuration.factors.items()
    assert summary.findings[0] == (
        "With straggler none, synchronisation asp the fastest is servers 2, workers 4:"
        " 3.99 +- 0.26 examples/s."
    )
    assert summary.findings[1].startswith("Most for its price (on demand): servers ")
    text = " ".join(page_of(tmp_path).text.split())
    assert "Pareto front: on demand, straggler one-slow, synchronisation bsp" in text


def test_conditions_are_those_that_some_point_has(tmp_path):
    rows = [r for r in grid(LEVELS, rate) if r["factor_servers"] == 1 or r["factor_workers"] > 1]
    summary = outcome(tmp_path, rows, Sweep(given=("servers", "workers"), prices=()))
    found = [(b.condition["servers"], b.condition["workers"]) for b in summary.best[1:]]
    assert found == [("1", "1"), ("1", "2"), ("1", "4"), ("2", "2"), ("2", "4")]


@pytest.mark.oracle
def test_points_of_a_changed_file_are_told(tmp_path):
    rows = grid(LEVELS, rate)
    assert not outcome(tmp_path / "same", rows).reasons
    later = [{**row, "key": f"{row['key']} later"} for row in rows if row["factor_workers"] == 4]
    (reason,) = outcome(tmp_path / "changed", rows + later).reasons
    assert reason.startswith("16 points have the values of another one")
