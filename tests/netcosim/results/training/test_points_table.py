"""The main table of a simulation: one row a point, the figures of the summary, the same bytes."""

import csv
import io
import json
from dataclasses import replace
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from netcosim.results.folder import ResultsFolder
from netcosim.results.json_files import from_json, to_json
from netcosim.results.training.bottleneck import bottleneck
from netcosim.results.training.points_table import (
    POINT_COLUMNS,
    describe_points,
    points_csv,
    points_table,
)
from netcosim.results.training.summary import TimeShares, TrainingSummary
from tests.netcosim.results.synthetic_training import Job, training_scenario, training_summary

DOCS = Path(__file__).parents[4] / "docs/reference/results.md"
JOBS = (
    Job(counts=(1, 2), runs=2, steps=6, traced_steps=2),
    Job(transport="slow", counts=(2, 4), runs=1, steps=6, traced_steps=2, lead=0, servers=2),
    Job(workload="other", counts=(3,), runs=2, steps=6, traced_steps=2, stragglers=("one, slow",)),
)


@pytest.fixture(scope="module")
def summary() -> TrainingSummary:
    return training_summary(JOBS)


def test_each_row_has_the_figures_of_its_point(summary: TrainingSummary) -> None:
    rows = points_table(summary).to_pylist()
    points = [(series, point) for series in summary.series for point in series.points]
    assert [(r["cell"], r["workers"]) for r in rows] == [(s.cell, p.workers) for s, p in points]
    for row, (series, point) in zip(rows, points, strict=True):
        assert row["examples_per_s"] == pytest.approx(point.examples_per_s.mean, rel=1e-8)
        assert row["step_p95_ns"] == pytest.approx(point.step_ns.p95, rel=1e-8)
        gain = point.steps_per_s.mean / series.alone.mean
        assert row["speed_up"] == pytest.approx(gain, rel=1e-8)
        assert row["efficiency"] == pytest.approx(gain / point.workers, rel=1e-8)
        shares = sum(row[f"time_{mode}"] for mode in TimeShares.model_fields)
        assert shares == pytest.approx(1, abs=1e-7)
        most = max(point.link_utilisation, key=lambda link: link.utilisation)
        assert row["fullest_link"] == f"server {most.server} {most.direction}"
        assert row["fullest_link_utilisation"] == pytest.approx(most.utilisation, rel=1e-8)
        assert row["bottleneck"] == bottleneck(point).name
        assert row["formula_no_overlap_steps_per_s"] == pytest.approx(
            point.baselines["no_overlap"], rel=1e-8
        )
        assert row["formula_undefined_steps_per_s"] is None
        assert (row["engine"], row["engine_hash"]) == (point.engine, summary.engine)


def test_nothing_is_null_that_may_not_be(summary: TrainingSummary) -> None:
    table = points_table(summary)
    for field in table.schema:
        assert field.nullable or table[field.name].null_count == 0
    rows = table.to_pylist()
    assert [row["examples_per_s_half_width"] is None for row in rows] == [0, 0, 1, 1, 0]
    assert [row["straggler_ns"] is None for row in rows] == [1, 1, 0, 0, 1]
    assert [row["lead_steps"] for row in rows] == [None, None, 0, 0, None]
    assert rows[-1]["stragglers"] == "one, slow"


def test_a_summary_that_was_read_makes_the_same_bytes(summary: TrainingSummary) -> None:
    """Sums of unrounded figures would differ in the last digit."""
    again = from_json(TrainingSummary, to_json(summary).encode(), "summary.json")
    assert points_table(again).equals(points_table(summary), check_metadata=True)
    assert points_csv(points_table(again)) == points_csv(points_table(summary))


def test_of_points_before_saturation_none_is_saturated() -> None:
    made = training_summary((replace(JOBS[0], counts=(1, 2, 4, 8, 16)),))
    saturation = made.series[0].saturation
    assert saturation is not None
    rows = points_table(made).to_pylist()
    assert [r["saturated"] for r in rows] == [r["workers"] >= saturation.workers for r in rows]


def test_a_run_without_points_has_the_columns_alone() -> None:
    table = points_table(training_summary(()))
    assert (len(table), table.schema.names) == (0, list(POINT_COLUMNS))
    assert points_csv(table).decode() == ",".join(POINT_COLUMNS) + "\n"


def test_the_folder_s_files_hold_one_table(tmp_path: Path, summary: TrainingSummary) -> None:
    wanted = points_table(summary)
    with ResultsFolder.create(tmp_path / "run", training_scenario(), world="sim") as folder:
        folder.write_points(summary)
        assert folder.world() == "sim"
    stored = pq.ParquetFile(tmp_path / "run/points.parquet").read(use_threads=False)
    assert stored.equals(wanted, check_metadata=True)
    described = json.loads((tmp_path / "run/schemas/points.columns.json").read_text())
    assert [column["name"] for column in described["columns"]] == wanted.schema.names
    read = list(csv.DictReader(io.StringIO((tmp_path / "run/points.csv").read_text())))
    for found, row in zip(read, wanted.to_pylist(), strict=True):
        for name, value in row.items():
            if value is None:
                assert found[name] == ""
            elif isinstance(value, bool):
                assert found[name] == str(value).lower()
            else:
                assert type(value)(found[name]) == value


def test_every_column_is_explained(summary: TrainingSummary) -> None:
    text = DOCS.read_text()
    # The nine shares of time and the formulas are explained as one.
    names = {n for n in POINT_COLUMNS if n.removeprefix("time_") not in TimeShares.model_fields}
    missing = [name for name in sorted(names) if f"`{name}`" not in text]
    assert missing == []
    assert "`formula_NAME_steps_per_s`" in text
    described = json.loads(describe_points(points_table(summary)))
    assert all(column["description"] for column in described["columns"])
