"""Pictures of a sweep: chosen from what varies, few lines, text that can be read."""

import itertools
from pathlib import Path
from typing import Any

import pytest
from matplotlib.figure import Figure

from netcosim.report import style
from ray_sweeps.analysis.dataset import read_dataset
from ray_sweeps.analysis.outcomes import Outcomes, outcomes_of
from ray_sweeps.report.curves import throughput_curves
from ray_sweeps.report.effect_panels import effects_picture
from ray_sweeps.report.fronts import front_picture
from ray_sweeps.report.heat import heat_maps
from ray_sweeps.report.impacts import impact_pictures
from ray_sweeps.report.small_multiples import chosen
from tests.ray_sweeps.made_sweep import Group, Price, Row, Sweep, Varied, grid, run_row, write_sweep

LUCK = [1.0, 1.05, 0.96]


def outcomes(folder: Path, rows: list[Row]) -> Outcomes:
    prices = (Price(), Price(name="a name of a price list that is rather long", worker=2.0))
    return outcomes_of(read_dataset(write_sweep(folder, rows)), Sweep(prices=prices))


def speed(factors: dict[str, Any], run: int) -> float:
    each = sum(len(str(value)) + 3 * (str(value)[-1] > "4") for value in factors.values())
    slow = 1.0 if factors.get("straggler", "none") == "none" else 0.6
    return LUCK[run] * slow * factors["workers"] ** 0.8 * each


MANY = {
    "workers": list(range(1, 41)),
    "order": [f"an-order-with-a-rather-long-name-{i}" for i in range(12)],
    "rate": ["1gbit", "2500mbit", "10gbit", "25gbit", "40gbit", "50gbit", "100gbit", "200gbit"],
}
USUAL = {
    "straggler": ["none", "one-slow", "heavy-tailed", "jittery+one-slow-link"],
    "synchronisation": ["asp", "bsp", "ssp"],
    "rate": ["1gbit", "10gbit"],
    "workers": [1, 2, 4, 8, 16, 32],
}


def drawn_rows() -> list[Row]:
    rows = []
    for i in range(60):
        slow, rate = 1 + 3 * ((i * 37) % 60) / 60, 10 ** (8 + 2 * ((i * 23) % 60) / 60)
        for name in ("none", "slow-cpu"):
            factors = {
                "straggler": name,
                "slowdown": slow if name != "none" else None,
                "link_bps": rate,
                "synchronisation": ("asp", "bsp")[i % 2],
            }
            kept = 1 / slow if name != "none" else 1.0
            rows += [run_row(factors, run, LUCK[run] * kept * rate**0.3) for run in range(3)]
    return rows


DESIGNS = {
    "many": lambda: grid(MANY, speed, runs=1),
    "usual": lambda: grid(USUAL, speed),
    "drawn": drawn_rows,
}


@pytest.mark.oracle
@pytest.mark.parametrize("design", DESIGNS)
def test_text_is_apart_and_within_the_picture(tmp_path, figures, design):
    found = outcomes(tmp_path, DESIGNS[design]())
    throughput_curves(found), heat_maps(found), front_picture(found), effects_picture(found)
    impact_pictures(found)
    assert len(figures) >= 3
    for figure in figures:
        assert figure.get_figwidth() == style.WIDTH_IN
        boxes = boxes_of(figure)
        for text, box, _ in boxes:
            inside = box.x0 >= 0 and box.y0 >= 0
            assert inside and box.x1 <= figure.bbox.x1 and box.y1 <= figure.bbox.y1, text
        level = [(text, box) for text, box, turned in boxes if not turned]
        for (one, a), (other, b) in itertools.combinations(level, 2):
            overlap = a.x0 < b.x1 and b.x0 < a.x1 and a.y0 < b.y1 and b.y0 < a.y1
            assert not overlap, (one, other)


def boxes_of(figure: Figure) -> list[tuple[str, Any, bool]]:
    """Visible texts with their boxes, and whether they are turned."""
    renderer = figure.canvas.get_renderer()  # type: ignore[attr-defined]
    found = []
    for axes in figure.axes:
        texts = [axes.title, axes._left_title, axes.xaxis.label, axes.yaxis.label, *axes.texts]  # type: ignore[attr-defined]
        for axis in (axes.xaxis, axes.yaxis):
            low, high = sorted(axis.get_view_interval())
            texts += [
                tick.label1
                for tick in axis.get_major_ticks()
                if tick.label1.get_visible() and low <= tick.get_loc() <= high
            ]
        found += texts
    for legend in figure.legends:
        found += legend.get_texts()
    found += figure.texts
    return [
        (text.get_text(), text.get_window_extent(renderer), text.get_rotation() not in (0.0, 90.0))
        for text in found
        if text.get_text().strip()
    ]


def test_no_more_lines_than_can_be_told_apart_and_what_is_left_out_is_said(tmp_path, figures):
    picture = throughput_curves(outcomes(tmp_path, DESIGNS["many"]()))
    assert picture is not None and len(figures[0].axes) == 6
    assert all(len(axes.lines) <= 7 for axes in figures[0].axes)
    assert "Of 12 values of order 7 are drawn." in picture.text or "6 are drawn" in picture.text
    assert "Of 8 values of rate " in picture.text


def test_lines_are_the_factor_that_matters_most_beside_workers(tmp_path, figures):
    def rate(factors: dict[str, Any], run: int) -> float:
        strong = {"asp": 1.0, "bsp": 3.0}[factors["synchronisation"]]
        weak = {"1gbit": 1.0, "10gbit": 1.1}[factors["rate"]]
        return LUCK[run] * factors["workers"] * strong * weak

    levels = {"rate": ["1gbit", "10gbit"], "synchronisation": ["asp", "bsp"], "workers": [1, 2, 4]}
    picture = throughput_curves(outcomes(tmp_path, grid(levels, rate)))
    assert picture is not None and picture.title == "Throughput by workers"
    (figure,) = figures
    assert [text.get_text() for text in figure.legends[0].get_texts()] == ["asp", "bsp"]
    assert [axes.get_title(loc="left") for axes in figure.axes] == ["rate 1gbit", "rate 10gbit"]
    asp = figure.axes[0].lines[0]
    assert list(asp.get_xdata()) == [1, 2, 4]
    assert list(asp.get_ydata()) == pytest.approx([n * sum(LUCK) / 3 for n in (1, 2, 4)])


def test_panels_are_what_is_given(tmp_path, figures):
    def rate(factors: dict[str, Any], run: int) -> float:
        strong = {"1gbit": 1.0, "10gbit": 3.0}[factors["rate"]]
        weak = {"asp": 1.0, "bsp": 1.1}[factors["synchronisation"]]
        return LUCK[run] * factors["workers"] * strong * weak

    levels = {"rate": ["1gbit", "10gbit"], "synchronisation": ["asp", "bsp"], "workers": [1, 2]}
    dataset = read_dataset(write_sweep(tmp_path, grid(levels, rate)))
    assert throughput_curves(outcomes_of(dataset, Sweep(given=("rate",)))) is not None
    (figure,) = figures
    assert [axes.get_title(loc="left") for axes in figure.axes] == ["rate 1gbit", "rate 10gbit"]
    assert [text.get_text() for text in figure.legends[0].get_texts()] == ["asp", "bsp"]
    heights = [axes.get_ylim()[1] for axes in figure.axes]
    assert heights[1] == pytest.approx(3 * heights[0])


def test_few_values_of_several_factors_that_are_given_are_panels(tmp_path, figures):
    levels = {**USUAL, "rate": ["1gbit", "10gbit"], "straggler": ["none", "one-slow", "jittery"]}

    def rate(factors: dict[str, Any], run: int) -> float:
        return (
            speed(factors, run) * {"asp": 1.0, "ssp": 0.9, "bsp": 0.5}[factors["synchronisation"]]
        )

    dataset = read_dataset(write_sweep(tmp_path, grid(levels, rate)))
    picture = throughput_curves(outcomes_of(dataset, Sweep(given=("straggler", "rate"))))
    assert picture is not None and "as at the fastest point" not in picture.text
    titles = {axes.get_title(loc="left") for axes in figures[0].axes}
    both = {f"{s}, {r}" for s in levels["straggler"] for r in levels["rate"]}
    assert titles in (
        {f"straggler, rate {text}" for text in both},
        {f"rate, straggler {r}, {s}" for s in levels["straggler"] for r in levels["rate"]},
    )
    (labels,) = ([t.get_text() for t in legend.get_texts()] for legend in figures[0].legends)
    assert sorted(labels) == ["asp", "bsp", "ssp"]


def test_other_factors_are_as_at_the_fastest_point(tmp_path, figures):
    picture = throughput_curves(outcomes(tmp_path, grid(USUAL, speed)))
    assert "as at the fastest point." in picture.text


def test_impact_has_a_line_for_each_synchronisation(tmp_path, figures):
    rows = []
    for sync, power in (("asp", 0.25), ("bsp", 1.0), ("ssp", 0.5)):
        for slow in (None, 1.5, 2.0, 4.0):
            for share in (None,) if slow is None else (0.125, 0.5):
                name = "none" if slow is None else "slow-cpu"
                factors = {
                    "straggler": name,
                    "synchronisation": sync,
                    "slowdown": slow,
                    "share": share,
                }
                kept = 1.0 if slow is None or share is None else slow**-power * (1 - share / 4)
                rows += [run_row(factors, run, LUCK[run] * kept) for run in range(3)]
    first, second = impact_pictures(outcomes(tmp_path, rows))
    assert first.title == "What stragglers do, by slowdown"
    assert second.title == "What stragglers do, by share"
    by_slowdown = figures[0]
    assert [a.get_title(loc="left") for a in by_slowdown.axes] == ["share 0.125", "share 0.5"]
    lines = [line for line in by_slowdown.axes[0].lines if len(line.get_xdata()) == 3]
    assert len(lines) == 3
    bsp = next(
        line for line in lines if line.get_ydata()[2] == min(x.get_ydata()[2] for x in lines)
    )
    assert list(bsp.get_ydata()) == pytest.approx([s**-1 * (1 - 0.125 / 4) for s in (1.5, 2, 4)])


def test_intensities_of_one_ensemble_among_several(tmp_path, figures):
    """Panels are numbers of the same ensemble; a further picture compares the ensembles."""
    slow = [("slow-cpu", slowdown, share) for slowdown in (1.5, 2.0) for share in (0.25, 0.5)]
    rows = []
    for name, slowdown, share in [("none", None, None), ("noisy", None, None), *slow]:
        for workers in (2, 4):
            factors = {"straggler": name, "slow": slowdown, "share": share, "workers": workers}
            kept = 1.0 if name == "none" else 0.9 / (slowdown or 1) * (1 - (share or 0))
            rows += [run_row(factors, run, LUCK[run] * workers * kept) for run in range(3)]
    varied = (
        Varied("slow", "straggler.0.options.factor", (1.5, 2.0)),
        Varied("share", "straggler.0.share", (0.25, 0.5)),
    )
    dataset = read_dataset(write_sweep(tmp_path, rows))
    found = impact_pictures(outcomes_of(dataset, Sweep(groups=(Group(varied),))))
    assert [picture.name for picture in found] == [
        "stragglers-slow",
        "stragglers-share",
        "stragglers-workers",
    ]
    panels = [[axes.get_title(loc="left") for axes in figure.axes] for figure in figures]
    assert panels == [
        ["share 0.25", "share 0.5"],
        ["slow 1.5", "slow 2"],
        ["straggler noisy", "straggler slow-cpu"],
    ]


def test_pictures_need_something_to_show(tmp_path):
    one = outcomes(tmp_path, [run_row({"workers": 4}, r, LUCK[r]) for r in range(3)])
    assert throughput_curves(one) is None and heat_maps(one) is None
    assert effects_picture(one) is None and impact_pictures(one) == []
    assert front_picture(one) is None


def test_values_left_out_are_evenly_spread():
    assert chosen(3, 7) == [0, 1, 2]
    assert chosen(12, 7) == [0, 2, 4, 6, 7, 9, 11]
    assert chosen(1000, 6)[0] == 0 and chosen(1000, 6)[-1] == 999
