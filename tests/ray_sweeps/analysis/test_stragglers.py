"""Impact of stragglers on made points of known ratios."""

from pathlib import Path
from typing import Any

import polars as pl
import pytest

from ray_sweeps.analysis.stragglers import Impact, binned, straggler_impact, summed_up
from tests.ray_sweeps.made_sweep import Row, grid, read_rows, run_row

KEPT = {"none": 1.0, "one-slow": 0.5, "jittery": 0.9}
LUCK = [1.0, 1.4, 0.7]


def rate(factors: dict[str, Any], run: int) -> float:
    """Runs differ by 40 %, but with and without stragglers alike: ratios are exact."""
    each = KEPT[factors["straggler"]] * (0.8 if factors["synchronisation"] == "bsp" else 1.0)
    if factors["straggler"] == "none":
        each = 1.0
    return each * factors["workers"] * LUCK[run]


LEVELS = {"straggler": list(KEPT), "synchronisation": ["asp", "bsp"], "workers": [1, 4]}


def impact_of(folder: Path, rows: list[Row], *more: str) -> Impact | None:
    return straggler_impact(read_rows(folder, rows), more)


def by_place(impact: Impact, intensity: str) -> pl.DataFrame:
    binned_ratios = Impact(ratios=binned(impact, intensity), factors=(), without=0, unmatched=0)
    return summed_up(binned_ratios, ["place"])


def test_the_impact_is_the_ratio_run_by_run(tmp_path: Path) -> None:
    impact = impact_of(tmp_path, grid(LEVELS, rate))
    assert (impact.factors, impact.without, impact.unmatched) == (("straggler",), 4, 0)
    found = summed_up(impact, ["factor_straggler", "synchronisation"])
    kept = {
        (row["factor_straggler"], row["synchronisation"]): row["ratio"]
        for row in found.iter_rows(named=True)
    }
    assert kept == pytest.approx(
        {
            ("jittery", "asp"): 0.9,
            ("jittery", "bsp"): 0.72,
            ("one-slow", "asp"): 0.5,
            ("one-slow", "bsp"): 0.4,
        }
    )
    assert set(found["points"]) == {2} and set(found["runs"]) == {3}
    assert found["half_width"].max() == pytest.approx(0, abs=1e-12)


def test_intensities_varied_only_with_stragglers_are_theirs(tmp_path: Path) -> None:
    rows = []
    for sync in ("asp", "bsp"):
        for slow in (None, 2.0, 4.0):
            name = "none" if slow is None else "slow"
            factors = {"synchronisation": sync, "straggler": name, "slowdown": slow}
            rows += [run_row(factors, r, LUCK[r] / (slow or 1.0)) for r in range(3)]
    impact = impact_of(tmp_path, rows)
    assert impact.factors == ("straggler", "slowdown") and impact.numeric() == ("slowdown",)
    found = by_place(impact, "slowdown")
    assert found.select("place", "ratio").rows() == [
        (2.0, pytest.approx(0.5)),
        (4.0, pytest.approx(0.25)),
    ]


def test_a_factor_with_a_name_of_its_own_can_be_of_stragglers(tmp_path: Path) -> None:
    # The factor is there without stragglers, too, so only its path tells.
    rows = []
    for name, slow in (("none", 1.0), ("slow", 2.0), ("slow", 4.0)):
        factors = {"straggler": name, "intensity": slow}
        rows += [run_row(factors, r, LUCK[r] / slow) for r in range(2)]
    unknown = impact_of(tmp_path, rows)
    assert unknown is None
    known = impact_of(tmp_path, rows, "intensity")
    assert known is not None and known.unmatched == 0
    assert sorted(set(known.ratios["ratio"].round(9).to_list())) == [0.25, 0.5]


def test_points_without_a_partner_are_counted(tmp_path: Path) -> None:
    gone = {"factor_straggler": "none", "factor_workers": 4}
    rows = [row for row in grid(LEVELS, rate) if not gone.items() <= row.items()]
    impact = impact_of(tmp_path, rows)
    assert impact is not None and (impact.without, impact.unmatched) == (2, 4)


def test_a_run_that_lacks_points_is_left_out_of_their_mean(tmp_path: Path) -> None:
    rows = grid(LEVELS, rate)
    asked = {"factor_straggler": "one-slow", "factor_workers": 4, "run": 1}
    gone = next(i for i, row in enumerate(rows) if asked.items() <= row.items())
    rows[gone] = run_row({n: rows[gone][f"factor_{n}"] for n in LEVELS}, 1, None)
    impact = impact_of(tmp_path, rows)
    assert impact is not None
    found = summed_up(impact, ["factor_straggler", "synchronisation"])
    assert found.filter(runs=2).height == 1 and found["points"].unique().to_list() == [2]


def test_there_is_none_without_stragglers_or_with_nothing_else(tmp_path: Path) -> None:
    assert impact_of(tmp_path / "a", grid({**LEVELS, "straggler": ["none"]}, rate)) is None
    assert impact_of(tmp_path / "b", grid({**LEVELS, "straggler": ["jittery"]}, rate)) is None


def test_intensities_that_ensembles_draw_are_read_from_their_texts(tmp_path: Path) -> None:
    rows = []
    for draw, slow in ((None, None), (0, 1.5), (1, 2.0), (2, 4.0)):
        name = "none" if slow is None else "slow-cpu"
        factors = {"straggler": name, "straggler_draw": draw}
        text = "" if slow is None else f"a share 0.25 of the workers: slow factor {slow}"
        rows += [run_row(factors, r, LUCK[r] / (slow or 1), stragglers=text) for r in range(3)]
    factors = {"straggler": "jittery", "straggler_draw": None}
    text = "all workers: jitter model lognormal, spread 0.2"
    rows += [run_row(factors, r, LUCK[r] * 0.9, stragglers=text) for r in range(3)]
    impact = impact_of(tmp_path, rows)
    assert impact is not None and impact.unmatched == 0
    assert impact.factors == ("straggler", "straggler_draw")
    assert impact.numeric() == ("slow factor",)
    found = by_place(impact, "slow factor")
    assert dict(found.select("place", "ratio").rows()) == pytest.approx(
        {1.5: 1 / 1.5, 2.0: 0.5, 4.0: 0.25}
    )
