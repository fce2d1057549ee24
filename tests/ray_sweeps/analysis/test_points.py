"""Points from runs, against a twin that adds up in plain Python."""

import math
import statistics
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from scipy import stats

from netcosim.errors import StorageError
from ray_sweeps.analysis.dataset import read_dataset
from ray_sweeps.analysis.levels import ordered
from ray_sweeps.analysis.points import COLUMNS, describe, points_of
from tests.ray_sweeps.made_sweep import Price, Row, Varied, grid, read_rows, run_row, write_sweep

LEVELS = {"workers": [1, 2, 8], "servers": [1, 2], "rate": ["10gbit", "100mbit", "1gbit"]}


def random_rows(seed: int) -> list[Row]:
    """A grid with noise, failures, figures that lack, runs that are there twice, odd numbers."""
    rng = np.random.default_rng(seed)
    rows = grid(LEVELS, lambda f, _: float(rng.lognormal(2, 0.5)), runs=5)
    for row in rows:
        chance = rng.random()
        if chance < 0.1:
            failed = run_row({}, row["run"], None, error=str(rng.choice(["gone", "broken"])))
            row.update({name: None for name in row if name not in failed} | failed | {
                "key": row["key"], **{n: v for n, v in row.items() if n.startswith("factor_")}
            })  # fmt: skip
        elif chance < 0.15:
            row["examples_per_s"] = float(rng.choice([math.nan, math.inf]))
        elif chance < 0.3:
            row["straggler_ns"] = float(rng.lognormal(20, 1))
        if row["error"] is None:
            row["bottleneck"] = str(rng.choice(["workers", "server 0 down", "none"]))
    rows += [dict(rows[i]) for i in rng.choice(len(rows), 7)]
    rng.shuffle(rows)  # type: ignore[arg-type]
    return rows


def by_hand(rows: list[Row]) -> dict[str, dict[str, Any]]:
    """What points should be: the twin."""
    runs: dict[str, dict[int, Row]] = defaultdict(dict)
    for row in rows:
        good = row["error"] is None and math.isfinite(row["examples_per_s"])
        before = runs[row["key"]].get(row["run"])
        if before is None or (good and not before["_good"]):
            runs[row["key"]][row["run"]] = {**row, "_good": good}
    found: dict[str, dict[str, Any]] = {}
    for key, each in runs.items():
        good = [row for row in each.values() if row["_good"]]
        point: dict[str, Any] = {"runs": len(good), "errors": len(each) - len(good)}
        for name in ("examples_per_s", "step_p95_ns", "straggler_ns"):
            values = [row[name] for row in good if row[name] is not None]
            point[name] = statistics.mean(values) if values else None
            point[f"{name}_half_width"] = (
                stats.t.ppf(0.975, len(values) - 1)
                * statistics.stdev(values)
                / math.sqrt(len(values))
                if len(values) > 1
                else None
            )
        most = Counter(row["bottleneck"] for row in good)
        point["bottleneck"] = min(most, key=lambda b: (-most[b], b)) if most else None
        found[key] = point
    for point_key, point in found.items():
        factors = next(iter(runs[point_key].values()))
        alone = next(
            found[key]
            for key, each in runs.items()
            for row in [next(iter(each.values()))]
            if row["factor_workers"] == 1
            and all(row[f"factor_{n}"] == factors[f"factor_{n}"] for n in ("servers", "rate"))
        )
        both = point["examples_per_s"] and alone["examples_per_s"]
        point["speed_up"] = point["examples_per_s"] / alone["examples_per_s"] if both else None
        point["cost_on demand"] = (
            factors["factor_workers"] + 0.5 * factors["factor_servers"] if point["runs"] else None
        )
    return found


@pytest.mark.parametrize("seed", range(4))
def test_points_are_what_adding_up_by_hand_gives(tmp_path: Path, seed: int) -> None:
    rows = random_rows(seed)
    points = read_rows(tmp_path, rows, [Price()], parts=3)
    wanted = by_hand(rows)
    assert points.table["key"].n_unique() == points.table.height == len(wanted)
    for row in points.table.iter_rows(named=True):
        for name, value in wanted[row["key"]].items():
            exact = not isinstance(value, float)
            assert row[name] == (value if exact else pytest.approx(value, rel=2e-5)), name
        assert (row["error"] is None) == (row["errors"] == 0)
    assert points.run_count == len({(row["key"], row["run"]) for row in rows})
    good = {(r["key"], r["run"]) for r in rows if r["error"] is None and
            math.isfinite(r["examples_per_s"])}  # fmt: skip
    assert points.values.height == len(good)


def test_points_stand_in_the_order_of_their_values(tmp_path: Path) -> None:
    dataset = read_dataset(write_sweep(tmp_path, grid(LEVELS, lambda *_: 1.0)))
    by_size = points_of(dataset).table["factor_rate"].unique(maintain_order=True).to_list()
    assert by_size == ["100mbit", "1gbit", "10gbit"]
    wanted = Varied("rate", "cluster.link.rate", ("1gbit", "10gbit", "100mbit"))
    given = points_of(dataset, factors=[wanted])
    assert given.table["factor_rate"].unique(maintain_order=True).to_list() == list(
        wanted.values or ()
    )
    assert given.table["factor_workers"].to_list()[:4] == [1, 1, 1, 1]


def test_values_are_ordered_by_their_size_after_none() -> None:
    assert ordered(["b", "none", "a", None]) == [None, "none", "a", "b"]
    assert ordered(["64KiB", "1MB", "off"]) == ["off", "64KiB", "1MB"]
    assert ordered([3, None, 1.5]) == [None, 1.5, 3]
    assert ordered(["5ms", "200us"]) == ["200us", "5ms"]
    assert ordered(["5ms", "200us", "fast"]) == ["5ms", "200us", "fast"]  # not all are durations
    assert ordered(["run-10", "run-9", "run-9b"]) == ["run-9", "run-9b", "run-10"]


def test_each_column_is_described(tmp_path: Path) -> None:
    table = read_rows(tmp_path, random_rows(1), [Price()]).table
    assert all(describe(name) for name in table.columns)
    assert set(COLUMNS) <= set(table.columns)


def test_a_dataset_gives_the_same_points_whatever_the_order_of_its_rows(tmp_path: Path) -> None:
    rows = random_rows(2)
    one = read_rows(tmp_path / "a", rows, [Price()], parts=1)
    other = read_rows(tmp_path / "b", rows[::-1], [Price()], parts=5)
    assert one.table.equals(other.table) and one.values.equals(other.values)


def test_runs_of_two_simulators_are_told(tmp_path: Path) -> None:
    rows = grid({"workers": [1, 2]}, lambda *_: 1.0)
    rows += [{**row, "key": row["key"] + "'", "engine_hash": "f" * 16} for row in rows]
    assert read_rows(tmp_path, rows).engines == ("0123456789abcdef", "f" * 16)


def test_what_is_no_dataset_is_refused_in_a_line(tmp_path: Path) -> None:
    with pytest.raises(StorageError, match="there is no such folder"):
        read_dataset(tmp_path)
    (tmp_path / "runs").mkdir()
    (tmp_path / "runs" / ".part-00000.parquet.tmp").write_bytes(b"being written")
    with pytest.raises(StorageError, match=r"no part-\*.parquet"):
        read_dataset(tmp_path)
    (tmp_path / "runs" / "part-00000.parquet").write_bytes(b"PAR1 and no more")
    with pytest.raises(StorageError, match=r"part-00000.parquet: can't be read as Parquet"):
        read_dataset(tmp_path)
    pl.DataFrame({"key": ["a"]}).write_parquet(tmp_path / "runs" / "part-00000.parquet")
    with pytest.raises(StorageError, match='lacks the column "run"'):
        read_dataset(tmp_path)


def test_parts_of_other_columns_or_types_are_refused(tmp_path: Path) -> None:
    write_sweep(tmp_path, grid({"workers": [1, 2]}, lambda *_: 1.0), parts=1)
    first = pl.read_parquet(tmp_path / "runs" / "part-00000.parquet")
    other = tmp_path / "runs" / "part-00001.parquet"
    first.drop("factor_workers").write_parquet(other)
    with pytest.raises(StorageError, match=r'part-00001.*lacks the column "factor_workers"'):
        read_dataset(tmp_path)
    first.cast({"factor_workers": pl.Float64}).write_parquet(other)
    with pytest.raises(StorageError, match='"factor_workers" is Float64 and not Int64'):
        read_dataset(tmp_path)


def test_a_part_that_is_cut_short_is_left_out_and_named(tmp_path: Path) -> None:
    write_sweep(tmp_path, grid({"workers": [1, 2, 4]}, lambda *_: 1.0, runs=2), parts=2)
    cut = tmp_path / "runs" / "part-00001.parquet"
    cut.write_bytes(cut.read_bytes()[:-100])
    dataset = read_dataset(tmp_path)
    assert len(dataset.problems) == 1 and "part-00001.parquet" in dataset.problems[0]
    assert points_of(dataset).table["runs"].sum() == 3


def test_a_part_damaged_within_is_one_line(tmp_path: Path) -> None:
    write_sweep(tmp_path, grid({"workers": [1, 2, 4]}, lambda *_: 1.0), parts=1)
    path = tmp_path / "runs" / "part-00000.parquet"
    content = bytearray(path.read_bytes())
    content[4:1000] = bytes(996)
    path.write_bytes(content)
    with pytest.raises(StorageError, match="a part can't be read"):
        points_of(read_dataset(tmp_path))
