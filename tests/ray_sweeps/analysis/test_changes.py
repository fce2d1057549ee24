"""What changed between two datasets: exactly what was changed is found."""

import copy
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from netcosim.errors import ScenarioError
from ray_sweeps.analysis.changes import SweepComparison, compare_datasets
from ray_sweeps.analysis.dataset import read_dataset
from tests.ray_sweeps.made_sweep import Row, grid, run_row, write_sweep

LEVELS = {"workers": [1, 2, 4, 8], "rate": ["1gbit", "10gbit"], "gap": [None, 3]}


def rate(factors: dict[str, Any], run: int) -> float:
    luck = np.random.default_rng(run).lognormal(0, 0.3)
    return float(factors["workers"] * luck * (2 if factors["rate"] == "10gbit" else 1))


def compared(folder: Path, a: list[Row], b: list[Row]) -> SweepComparison:
    one = read_dataset(write_sweep(folder / "a", a, parts=1))
    return compare_datasets(one, read_dataset(write_sweep(folder / "b", b, parts=3)))


@pytest.mark.parametrize("seed", range(5))
def test_just_the_points_that_were_changed_are_found(tmp_path: Path, seed: int) -> None:
    rng = np.random.default_rng(seed)
    a = grid(LEVELS, rate)
    keys = list(dict.fromkeys(row["key"] for row in a))
    rng.shuffle(keys)
    beyond, within, gone, failed = keys[:3], keys[3:5], keys[5:6], keys[6:7]
    added = run_row({"workers": 16, "rate": "1gbit", "gap": None}, 0, 5.0)
    b = [copy.copy(row) for row in a if row["key"] not in gone] + [added]
    for i, row in enumerate(b):
        if row["key"] in beyond:
            row["examples_per_s"] *= 1.1 + 0.05 * beyond.index(row["key"])
        elif row["key"] in within:
            # 1 % up and down again: the mean hardly moves, its interval is wide.
            row["examples_per_s"] *= [1.01, 0.99, 1.0][row["run"]]
        elif row["key"] in failed:
            factors = {name: row[f"factor_{name}"] for name in LEVELS}
            b[i] = run_row(factors, row["run"], None)
    found = compared(tmp_path, a, b)
    assert (found.common, found.only_a, found.only_b) == (15, 1, 1)
    assert (found.newly_failed, found.newly_finished) == (1, 0)
    main = found.figures[0]
    assert (main.figure, main.beyond, main.within) == ("examples_per_s", 3, 2)
    assert main.equal == 15 - 1 - 5
    assert all(each.beyond == each.within == 0 for each in found.figures[1:])
    named = [",".join(f"{n}={v}" for n, v in point.factors.items()) for point in found.largest]
    assert named == beyond[::-1]  # the largest change first
    assert [point.share for point in found.largest] == pytest.approx([0.2, 0.15, 0.1])
    assert found.only_b_first == ({"workers": 16, "rate": "1gbit", "gap": None},)
    assert found.matched == "content" and found.differs


def test_changes_are_told_by_factor(tmp_path: Path) -> None:
    a = grid(LEVELS, rate)
    b = [copy.copy(row) for row in a]
    for row in b:
        if row["factor_workers"] == 8:
            row["examples_per_s"] *= 0.5
    found = compared(tmp_path, a, b)
    first = [change for change in found.by_factor if change.factor == "workers"]
    assert found.by_factor[: len(first)] == tuple(first)
    assert [(c.value, c.points, c.beyond) for c in first] == [
        (1, 4, 0),
        (2, 4, 0),
        (4, 4, 0),
        (8, 4, 4),
    ]
    assert [c.mean_share for c in first] == pytest.approx([0, 0, 0, -0.5])


def test_equal_datasets_do_not_differ_whatever_their_parts_and_engines(tmp_path: Path) -> None:
    a = grid(LEVELS, rate)
    b = [{**row, "engine_hash": "f" * 16} for row in a[::-1]]
    # What another processor computed may differ in the last of the digits that are stored.
    b[3] = {**b[3], "examples_per_s": b[3]["examples_per_s"] * (1 + 1e-9)}
    found = compared(tmp_path, a, b)
    assert not found.differs and all(each.equal == 16 for each in found.figures)
    assert (found.a.engines, found.b.engines) == (("0123456789abcdef",), ("f" * 16,))


def test_points_of_other_content_are_matched_by_their_factors(tmp_path: Path) -> None:
    a = grid(LEVELS, rate)
    b = [{**row, "key": f"other {row['key']}"} for row in a]
    found = compared(tmp_path, a, b)
    assert (found.matched, found.common, found.only_a) == ("factors", 16, 0)
    assert not found.differs
    some = [{**row, "key": f"other {row['key']}"} if row["factor_gap"] else row for row in a]
    both = compared(tmp_path / "both", a, some)
    assert (both.matched, both.common) == ("both", 16)


def test_runs_without_a_partner_are_compared_by_welch(tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    noise = rng.normal(0, 0.01, 12)
    a = [run_row({"workers": 1}, run, 10 + noise[run]) for run in range(6)]
    b = [run_row({"workers": 1}, run, 12 + noise[run]) for run in range(6, 12)]
    found = compared(tmp_path, a, b)
    (point,) = found.largest
    assert point.method == "welch" and point.half_width is not None and point.half_width < 0.05
    assert point.share == pytest.approx(0.2, abs=0.01)


def test_of_single_runs_any_difference_counts(tmp_path: Path) -> None:
    a = grid({"workers": [1, 2]}, rate_of_workers, runs=1)
    b = [copy.copy(row) for row in a]
    b[1]["examples_per_s"] *= 1.001
    found = compared(tmp_path, a, b)
    (point,) = found.largest
    assert (point.method, point.half_width) == ("none", None)
    figure = found.figures[0]
    assert (figure.equal, figure.beyond, figure.unequal) == (1, 0, 1)
    assert found.differs


def rate_of_workers(factors: dict[str, Any], run: int) -> float:
    return float(factors["workers"] + run)


def test_a_run_that_failed_first_and_then_went_well_counts_as_well(tmp_path: Path) -> None:
    a = grid({"workers": [1, 2]}, rate_of_workers)
    b = [*a, run_row({"workers": 1}, 0, None)]
    found = compared(tmp_path, a, b)
    assert not found.differs and found.b.failed_runs == 0


def test_nothing_in_common_is_refused(tmp_path: Path) -> None:
    one = grid({"workers": [1]}, rate_of_workers)
    with pytest.raises(ScenarioError, match=r"no point in common.*\(workers and servers\)"):
        compared(tmp_path, one, grid({"servers": [1]}, lambda *_: 1.0))


def test_all_failed_in_both_is_no_difference(tmp_path: Path) -> None:
    rows = [run_row({"workers": n}, 0, None) for n in (1, 2)]
    found = compared(tmp_path, rows, rows)
    assert not found.differs and found.common == 2 and found.figures[0].equal == 0
