"""Heat maps: mean throughput by two factors."""

from itertools import combinations
from typing import TYPE_CHECKING, Final

import numpy as np

from netcosim.report import style
from netcosim.report.streams.timeline import plain
from ray_sweeps.analysis.design import Column, Design
from ray_sweeps.analysis.levels import number_text
from ray_sweeps.analysis.outcomes import Outcomes
from ray_sweeps.report.curves import LEAST, Picture, by_spread, named
from ray_sweeps.report.small_multiples import chosen

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_MOST_LEVELS: Final = 14
_WITH_NUMBERS: Final = 9
_CELL_IN: Final = 0.3
_LONGEST: Final = 16


def heat_maps(outcomes: Outcomes) -> Picture | None:
    """Draw up to two heat maps of the factors with the largest effects; None with one factor."""
    design = outcomes.design
    if design is None or outcomes.effects is None:
        return None
    effects = outcomes.effects.factors
    clear = {e.names for e in effects if e.method != "confounded" and e.spread >= LEAST}
    ranked = [c for c in by_spread(design, outcomes.effects) if c.names in clear]
    pairs = list(combinations(ranked[:3], 2))[:2]
    if not pairs:
        return None
    # The one with more levels lies: its labels are short, or have room where it is wide.
    turned = [tuple(sorted(pair, key=lambda c: -c.count)) for pair in pairs]
    rows = max(len(chosen(pair[1].count, _MOST_LEVELS)) for pair in turned)
    below = 0.5 + max(_turned_in(_texts(pair[0])) for pair in turned)
    height = 0.37 + below + _CELL_IN * max(rows, 4)
    figure = style.new_figure(style.WIDTH_IN, height)
    for place, (across, up) in enumerate(turned):
        left = (1.15 + place * style.WIDTH_IN / 2) / style.WIDTH_IN
        width = (style.WIDTH_IN / 2 - 1.15 - 0.15) / style.WIDTH_IN
        axes = figure.add_axes((left, below / height, width, (height - below - 0.37) / height))
        _draw(axes, design, across, up)
    return Picture(
        name="heat-maps",
        title="Two factors at a time",
        text="Mean examples/s over the points of each pair of values, whatever their other factors"
        " are; darker is faster. An empty field: no point." + _of_bins(ranked) + _left_out(ranked),
        png=style.png(figure),
    )


def _of_bins(ranked: list[Column]) -> str:
    drawn = [named(c) for c in ranked[:3] if c.drawn]
    return f" Bins of {', '.join(drawn)} stand at their medians." if drawn else ""


def _left_out(ranked: list[Column]) -> str:
    many = [c for c in ranked[:3] if c.count > _MOST_LEVELS]
    return "".join(f" Of {c.count} values of {named(c)} {_MOST_LEVELS} are drawn." for c in many)


def _draw(axes: "Axes", design: Design, across: Column, up: Column) -> None:
    size = up.count * across.count
    cells = up.codes * across.count + across.codes
    counts = np.bincount(cells, minlength=size)
    sums = np.bincount(cells, weights=design.rates.mean(axis=1), minlength=size)
    means = np.where(counts > 0, sums / np.maximum(counts, 1), np.nan)
    values = means.reshape(up.count, across.count)
    columns, rows = chosen(across.count, _MOST_LEVELS), chosen(up.count, _MOST_LEVELS)
    shown = values[np.ix_(rows, columns)]
    style.tidy(axes, "examples/s")
    axes.grid(visible=False)
    axes.imshow(np.ma.masked_invalid(shown), aspect="auto", origin="lower", cmap="Blues", vmin=0.0)
    texts = _texts(across)
    long = _turned_in(texts) > 0
    axes.set_xticks(
        range(len(columns)),
        texts,
        rotation=30 if long else 0,
        ha="right" if long else "center",
        rotation_mode="anchor" if long else None,
        fontsize=7.5,
    )
    axes.set_yticks(range(len(rows)), [_label(up, i) for i in rows], fontsize=7.5)
    axes.set_xlabel(plain(style.shortened(named(across), 50)))
    axes.set_title(plain(style.shortened(named(up), 50)), fontsize=8, loc="left", color="#444444")
    if len(columns) <= _WITH_NUMBERS:
        _numbers(axes, shown)


def _texts(column: Column) -> list[str]:
    return [_label(column, i) for i in chosen(column.count, _MOST_LEVELS)]


def _turned_in(texts: list[str]) -> float:
    """Height that texts below a heat map need as they must be turned; 0 if they have room."""
    if sum(len(text) + 1.2 for text in texts) * 0.065 <= style.WIDTH_IN / 2 - 1.3:
        return 0.0
    return 0.031 * max(map(len, texts))


def _numbers(axes: "Axes", shown: np.ndarray[tuple[int, int], np.dtype[np.float64]]) -> None:
    most = np.nanmax(shown)
    for (row, column), value in np.ndenumerate(shown):
        if np.isfinite(value):
            colour = "white" if value > 0.6 * most else "#222222"
            text = number_text(float(value), 3)
            axes.text(column, row, text, ha="center", va="center", fontsize=7.5, color=colour)


def _label(column: Column, level: int) -> str:
    """A level in a few characters: of a bin of drawn numbers its median."""
    return plain(style.shortened(column.short_text(level), _LONGEST))
