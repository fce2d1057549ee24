"""Main effects on made tables of known coefficients."""

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ray_sweeps.analysis.design import BINS, Column, Design, design_of
from ray_sweeps.analysis.effects import Effect, Effects, main_effects
from ray_sweeps.analysis.points import Points
from tests.ray_sweeps.made_sweep import Row, Varied, grid, read_rows, run_row

SYNC = {"asp": 3.0, "bsp": -4.0, "ssp": 1.0}
WORKERS = {1: -20.0, 2: -5.0, 4: 25.0}
GRAND = 50.0


def additive(factors: dict[str, Any], run: int = 0) -> float:
    del run
    return GRAND + SYNC[factors["synchronisation"]] + WORKERS[factors["workers"]]


def analysed(folder: Path, rows: list[Row], *drawn: Varied) -> tuple[Points, Design, Effects]:
    points = read_rows(folder, rows, factors=drawn)
    design = design_of(points, drawn)
    assert design is not None
    effects = main_effects(points, design)
    assert effects is not None
    return points, design, effects


def by_text(effect: Effect) -> dict[str, float]:
    return {level.text: level.effect for level in effect.levels}


def test_effects_of_a_full_design_are_the_differences_of_means(tmp_path: Path) -> None:
    rows = grid({"synchronisation": list(SYNC), "workers": list(WORKERS)}, additive)
    _, design, effects = analysed(tmp_path, rows)
    assert design.balanced and effects.grand_mean == pytest.approx(GRAND)
    assert [effect.names for effect in effects.factors] == [("workers",), ("synchronisation",)]
    workers, sync = effects.factors
    assert (workers.method, sync.method) == ("means", "means")
    assert by_text(workers) == pytest.approx({str(k): v / GRAND for k, v in WORKERS.items()})
    assert by_text(sync) == pytest.approx({k: v / GRAND for k, v in SYNC.items()})
    assert workers.spread == pytest.approx(45 / GRAND)
    assert effects.explained == pytest.approx(1.0)
    assert all(level.half_width == pytest.approx(0, abs=1e-12) for level in workers.levels)


@given(st.sets(st.integers(0, 8), max_size=4))
@settings(max_examples=25, deadline=None)
def test_effects_of_an_unbalanced_design_are_the_known_coefficients(missing: set[int]) -> None:
    # Codes straight into a design: what remains of the table decides what can be known.
    cells = [(s, w) for s in range(3) for w in range(3)]
    kept = [cell for i, cell in enumerate(cells) if i not in missing]
    sync, workers = np.array([c[0] for c in kept]), np.array([c[1] for c in kept])
    rates = GRAND + np.array(list(SYNC.values()))[sync] + np.array(list(WORKERS.values()))[workers]
    if len(set(sync.tolist())) < 3 or len(set(workers.tolist())) < 3 or not _connected(kept):
        return
    design = Design(
        points=np.arange(len(kept)),
        columns=(_column("sync", sync), _column("workers", workers)),
        runs=(0,),
        rates=rates[:, None],
        left_out=0,
    )
    effects = main_effects(None, design)  # type: ignore[arg-type]
    found = {effect.names[0]: list(by_text(effect).values()) for effect in effects.factors}
    mean = rates.mean()
    assert found["workers"] == pytest.approx([v / mean for v in WORKERS.values()])
    assert found["sync"] == pytest.approx([v / mean for v in SYNC.values()])
    assert {effect.method for effect in effects.factors} == {
        "least squares" if missing else "means"
    }


def _column(name: str, codes: Any) -> Column:
    return Column(
        names=(name,),
        texts=("a", "b", "c"),
        places=(0.0, 1.0, 2.0),
        codes=codes.astype(np.int64),
        numeric=False,
        drawn=False,
        nothing=None,
    )


def _connected(cells: list[tuple[int, int]]) -> bool:
    """Whether all levels hang together by cells: else no contrast between the parts is known."""
    seen, ends = {("s", cells[0][0])}, [("s", cells[0][0])]
    while ends:
        kind, level = ends.pop()
        for s, w in cells:
            if (kind, level) in (("s", s), ("w", w)):
                fresh = {("s", s), ("w", w)} - seen
                seen |= fresh
                ends += fresh
    return len(seen) == 6


def test_what_points_can_not_tell_apart_is_called_confounded(tmp_path: Path) -> None:
    # asp and one rate go together, bsp and the other; half of each has another number of workers.
    rows = []
    for i, (sync, rate) in enumerate([("asp", "1gbit"), ("bsp", "10gbit"), ("ssp", "10gbit")]):
        for workers in (1, 2):
            factors = {"synchronisation": sync, "rate": rate, "workers": workers}
            rows += [run_row(factors, run, 10.0 + i + workers) for run in range(2)]
    _, _, effects = analysed(tmp_path, rows)
    methods = {effect.names[0]: effect.method for effect in effects.factors}
    assert methods == {
        "workers": "least squares",
        "rate": "confounded",
        "synchronisation": "confounded",
    }
    assert effects.factors[0].names == ("workers",)  # although its spread is the smallest


def test_factors_that_vary_together_are_one(tmp_path: Path) -> None:
    rows = []
    for servers, batch in ((1, 8), (2, 16), (4, 32)):
        for sync, more in SYNC.items():
            factors = {"servers": servers, "batch": batch, "synchronisation": sync}
            rows += [run_row(factors, run, 10.0 * servers + more) for run in range(2)]
    _, design, effects = analysed(tmp_path, rows)
    assert design.balanced
    assert effects.factors[0].names == ("servers", "batch")
    assert list(by_text(effects.factors[0])) == ["1, 8", "2, 16", "4, 32"]


def test_a_factor_varied_under_a_condition_is_compared_where_it_is_varied(tmp_path: Path) -> None:
    gap = {1: -2.0, 5: 0.5, 20: 1.5}
    rows = []
    for sync in SYNC:
        for bound in gap if sync == "ssp" else (None,):
            for workers in WORKERS:
                factors = {"synchronisation": sync, "gap": bound, "workers": workers}
                rate = additive(factors) + gap.get(bound or 0, 0.0)
                rows += [run_row(factors, run, rate) for run in range(2)]
    _, design, effects = analysed(tmp_path, rows)
    assert not design.balanced
    found = {effect.names[0]: effect for effect in effects.factors}
    assert found["gap"].method == found["workers"].method == "least squares"
    mean = effects.grand_mean
    assert by_text(found["gap"]) == pytest.approx({str(k): v / mean for k, v in gap.items()})
    assert by_text(found["workers"]) == pytest.approx(
        {str(k): v / mean for k, v in WORKERS.items()}
    )


def test_intervals_of_effects_hold_the_truth_as_often_as_they_say() -> None:
    rng = np.random.default_rng(11)
    held = []
    cells = np.array([(a, b) for a in range(2) for b in range(3)])
    truth = np.array([-6.0, 6.0])
    for _ in range(800):
        rates = 50 + truth[cells[:, 0]][:, None] + rng.normal(0, 5, (6, 4))
        two = _column("one", cells[:, 0])
        two = Column(**{**_fields(two), "texts": ("a", "b"), "places": (0.0, 1.0)})
        design = Design(
            points=np.arange(6),
            columns=(two, _column("other", cells[:, 1])),
            runs=(0, 1, 2, 3),
            rates=rates,
            left_out=0,
        )
        effects = main_effects(None, design)  # type: ignore[arg-type]
        level = next(e for e in effects.factors if e.names == ("one",)).levels[1]
        assert level.half_width is not None
        held.append(abs(level.effect * effects.grand_mean - 6.0) <= level.half_width * rates.mean())
    assert abs(float(np.mean(held)) - 0.95) < 4 * math.sqrt(0.95 * 0.05 / 800)


def _fields(column: Column) -> dict[str, Any]:
    return {name: getattr(column, name) for name in column.__dataclass_fields__}


def test_drawn_numbers_have_a_curve_of_bins_and_a_rank_correlation(tmp_path: Path) -> None:
    rng = np.random.default_rng(3)
    rows = []
    for i, slow in enumerate(rng.uniform(1, 4, 60)):
        factors = {"slowdown": float(slow), "synchronisation": ["asp", "bsp"][i % 2]}
        rows += [run_row(factors, run, 100 / float(slow)) for run in range(2)]
    _, _, effects = analysed(tmp_path, rows)
    drawn = effects.factors[0]
    assert drawn.names == ("slowdown",) and drawn.drawn and drawn.method == "least squares"
    assert drawn.rank_correlation == pytest.approx(-1.0)
    assert len(drawn.levels) == BINS and {level.points for level in drawn.levels} == {10}
    shown = [level.effect for level in drawn.levels]
    assert shown == sorted(shown, reverse=True)
    assert effects.factors[1].rank_correlation is None


def test_few_numbers_are_levels_and_many_of_a_list_too(tmp_path: Path) -> None:
    rows = grid({"workers": list(range(1, 17))}, lambda f, _: float(str(f["workers"])))
    _, design, _ = analysed(tmp_path, rows)
    assert design.columns[0].count == 16 and not design.columns[0].drawn
    drawn = Varied("workers", "training.workers", None)
    _, design, _ = analysed(tmp_path, rows, drawn)
    assert design.columns[0].count == BINS and design.columns[0].drawn


def test_points_that_lack_a_run_are_left_out_and_counted(tmp_path: Path) -> None:
    rows = grid({"synchronisation": list(SYNC), "workers": list(WORKERS)}, additive)
    rows[4] = run_row({"synchronisation": "asp", "workers": 2}, 1, None)
    _, design, effects = analysed(tmp_path, rows)
    assert (effects.points, effects.left_out) == (8, 1)
    assert design.runs == (0, 1, 2) and not effects.balanced
    workers = effects.factors[0]
    assert by_text(workers) == pytest.approx(
        {str(k): v / effects.grand_mean for k, v in WORKERS.items()}
    )


def test_there_are_no_effects_of_one_point_or_of_nothing(tmp_path: Path) -> None:
    points = read_rows(tmp_path / "a", grid({"workers": [4]}, additive_1))
    design = design_of(points)
    assert design is not None and main_effects(points, design) is None
    rows = [run_row({"workers": n}, 0, None) for n in (1, 2)]
    assert design_of(read_rows(tmp_path / "b", rows)) is None


def additive_1(factors: dict[str, Any], run: int) -> float:
    return 1.0 + run + factors["workers"]


def test_quantities_that_were_drawn_as_text_are_in_bins_of_their_size(tmp_path: Path) -> None:
    rows = []
    for i in range(48):
        rate = f"{100 + 50 * ((i * 29) % 48)}mbit"
        factors = {"rate": rate, "synchronisation": ["asp", "bsp"][i % 2]}
        rows += [run_row(factors, run, float(rate.removesuffix("mbit"))) for run in range(2)]
    _, _, effects = analysed(tmp_path, rows)
    rate_effect = effects.factors[0]
    assert rate_effect.names == ("rate",) and rate_effect.drawn
    assert rate_effect.levels[0].text == "100 Mbit/s to 500 Mbit/s"
    assert rate_effect.levels[0].place_text == "275 Mbit/s"
    assert rate_effect.rank_correlation == pytest.approx(1.0)
