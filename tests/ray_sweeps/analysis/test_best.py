"""Best points and their noise, Pareto fronts against brute force, paired intervals."""

import math
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from netcosim.intervals import difference
from ray_sweeps.analysis.best import best_of, knee, pareto_front, steps_beyond
from ray_sweeps.analysis.paired import paired_differences
from tests.ray_sweeps.made_sweep import Price, grid, read_rows, run_row

COST = "cost_on demand"


@given(
    st.lists(
        st.tuples(st.one_of(st.none(), st.integers(0, 6)), st.one_of(st.none(), st.integers(0, 6))),
        max_size=30,
    )
)
@settings(max_examples=60, deadline=None)
def test_the_front_is_what_brute_force_finds(pairs: list[tuple[int | None, int | None]]) -> None:
    table = pl.DataFrame(
        {
            "point": range(len(pairs)),
            COST: [cost for cost, _ in pairs],
            "examples_per_s": [rate for _, rate in pairs],
        },
        schema={"point": pl.Int64, COST: pl.Float64, "examples_per_s": pl.Float64},
    )
    there = [(i, c, r) for i, (c, r) in enumerate(pairs) if c is not None and r is not None]
    beaten = {
        i
        for i, cost, rate in there
        if any(c <= cost and r >= rate and (c, r) != (cost, rate) for _, c, r in there)
    }
    front = pareto_front(table, COST)
    assert set(front["point"].to_list()) == {i for i, _, _ in there} - beaten
    assert front[COST].is_sorted()


@given(st.data())
@settings(max_examples=40, deadline=None)
def test_paired_differences_are_those_of_the_intervals(data: st.DataObject) -> None:
    numbers = st.floats(-1e3, 1e3, allow_nan=False)
    groups = data.draw(
        st.lists(st.lists(st.tuples(numbers, numbers), min_size=1, max_size=14), max_size=4)
    )
    rows = [
        {"group": g, "first": a, "second": b} for g, pairs in enumerate(groups) for a, b in pairs
    ]
    schema = {"group": pl.Int64, "first": pl.Float64, "second": pl.Float64}
    found = paired_differences(pl.DataFrame(rows, schema=schema), ["group"])
    assert found.height == len(groups)
    for row, pairs in zip(found.iter_rows(named=True), groups, strict=True):
        wanted = difference([a for a, _ in pairs], [b for _, b in pairs], paired=True)
        assert row["pairs"] == len(pairs)
        assert math.isclose(row["difference"], wanted.mean, rel_tol=1e-9, abs_tol=1e-9)
        if wanted.half_width is None:
            assert row["half_width"] is None
        else:
            assert math.isclose(row["half_width"], wanted.half_width, rel_tol=1e-6, abs_tol=1e-9)


@pytest.mark.parametrize("runs", [2, 3, 5, 12])
def test_paired_intervals_hold_the_truth_as_often_as_they_say(runs: int) -> None:
    # Noise that both have in common falls out; what is left is normal, as Student's t asks for.
    rng = np.random.default_rng(5)
    groups = 4000
    common = rng.lognormal(2, 1, (groups, runs))
    first = common + rng.normal(0, 1, (groups, runs))
    second = common + 0.7 + rng.normal(0, 2, (groups, runs))
    table = {"group": np.repeat(np.arange(groups), runs)}
    table |= {"first": first.ravel(), "second": second.ravel()}
    found = paired_differences(pl.DataFrame(table), ["group"])
    held = ((found["difference"] - 0.7).abs() <= found["half_width"]).mean()
    error = math.sqrt(0.95 * 0.05 / groups)
    assert isinstance(held, float) and abs(held - 0.95) < 4 * error


def test_points_within_noise_of_the_best_are_named(tmp_path: Path) -> None:
    # Runs vary by 30 % together, and by nothing apart: 2 % less is beyond doubt, unlike 0.1 %.
    luck = [1.0, 1.3, 0.8, 1.1]
    odd = [0.001, -0.002, 0.0015, 0.001]

    def rate(factors: dict[str, object], run: int) -> float:
        each = {1: 0.5, 2: 0.98, 4: 0.9995 + odd[run], 8: 1.0}[int(str(factors["workers"]))]
        return 100 * each * luck[run]

    rows = grid({"workers": [1, 2, 4, 8]}, rate, runs=4)
    points = read_rows(tmp_path, rows, [Price()])
    found = best_of(points, points.finished)
    assert found is not None and found.compared == 3
    named = points.table["factor_workers"]
    assert named[found.point] == 8 and [named[i] for i in found.equal] == [4]
    cheap = best_of(points, points.finished, COST)
    assert cheap is not None and named[cheap.point] == 2 and cheap.equal == ()


def test_single_runs_have_no_noise_to_tell(tmp_path: Path) -> None:
    rows = grid({"workers": [1, 2]}, lambda f, _: 1.0 + float(str(f["workers"])), runs=1)
    points = read_rows(tmp_path, rows)
    found = best_of(points, points.finished)
    assert found is not None and (found.compared, found.equal) == (0, ())


def test_nothing_is_best_where_all_failed(tmp_path: Path) -> None:
    rows = [run_row({"workers": 1}, 0, None)]
    points = read_rows(tmp_path, rows)
    assert best_of(points, points.finished) is None


def test_steps_of_a_front_within_noise_are_told(tmp_path: Path) -> None:
    wobble = [0.0, 1.0, -1.0]
    rates = {1: [10.0] * 3, 2: [20.0] * 3, 4: [20.1 + w for w in wobble], 8: [40.0] * 3}
    rows = grid({"workers": list(rates)}, lambda f, r: rates[int(str(f["workers"]))][r])
    points = read_rows(tmp_path, rows, [Price()])
    front = pareto_front(points.finished, COST)
    assert front["workers"].to_list() == [1, 2, 4, 8]
    assert steps_beyond(points, front) == [True, True, False, True]


def test_the_knee_is_furthest_above_the_line() -> None:
    assert knee([1, 2, 3, 10], [1, 8, 9, 10]) == 1
    assert knee([1, 2, 3], [1, 2, 3]) is None
    assert knee([1, 2], [1, 2]) is None
    assert knee([1, 9, 10], [1, 2, 10]) is None
