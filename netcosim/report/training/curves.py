"""Throughput curves by number of workers: simulated, by formulas, and upper bounds."""

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from netcosim.report import style
from netcosim.report.streams.timeline import plain
from netcosim.report.training.axes import height_of, label_right, mark_size, workers_axis
from netcosim.results.training.summary import Series

if TYPE_CHECKING:
    from matplotlib.axes import Axes

SIMULATED: Final = "#0072B2"
LIMIT: Final = "#D55E00"
_FORMULAS: Final = ("#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#8c6d31", "#5e3c99", "#44546a")


def throughput(axes: "Axes", series: Series) -> None:
    """Draw the throughput of one series beside formulas, ideal scaling and the link's limit."""
    style.tidy(axes, "throughput, examples/s")
    points = series.points
    logarithmic = workers_axis(axes, points)
    _scale(axes, max(p.examples_per_s.mean for p in points), _lowest(series), logarithmic)
    labels = [*_formulas(axes, series), *_bounds(axes, series)]
    _curve(axes, series, SIMULATED)
    labels.append((points[-1].examples_per_s.mean, "simulated", SIMULATED))
    if series.saturation is not None:
        _mark_saturation(axes, series)
    bottom, top = axes.get_ylim()
    label_right(
        axes,
        [
            (height_of(axes, min(max(value, bottom), top)), plain(text), colour)
            for value, text, colour in labels
        ],
    )


def overlaid(axes: "Axes", workload: str, several: Sequence[Series]) -> None:
    """Draw several series of a workload, each with points, in one picture, to be compared."""
    style.tidy(axes, plain(f"{workload}: throughput, examples/s"))
    colours = style.model_colours([series.transport for series in several])
    points = [p for series in several for p in series.points]
    logarithmic = workers_axis(axes, points)
    lowest = min(p.examples_per_s.mean for p in points)
    _scale(axes, max(p.examples_per_s.mean for p in points), lowest, logarithmic)
    labels = []
    for series in several:
        colour = colours[series.transport]
        _curve(axes, series, colour)
        if series.saturation is not None:
            _ring(axes, series, colour)
        height = height_of(axes, series.points[-1].examples_per_s.mean)
        labels.append((height, plain(style.shortened(series.transport)), colour))
    label_right(axes, labels)


def _lowest(series: Series) -> float:
    return min(p.examples_per_s.mean for p in series.points)


def _scale(axes: "Axes", most: float, least: float, logarithmic: bool) -> None:
    if logarithmic and least > 0:
        from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

        axes.set_yscale("log")
        axes.set_ylim(least / 1.5, most * 2.2)
        axes.yaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0), numticks=20))
        axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
        axes.yaxis.set_minor_formatter(NullFormatter())
    else:
        axes.set_ylim(0, 1.25 * most if most > 0 else 1)


def _curve(axes: "Axes", series: Series, colour: str) -> None:
    """Draw the means, and a band of their intervals."""
    x = [p.workers for p in series.points]
    y = [p.examples_per_s.mean for p in series.points]
    half = [p.examples_per_s.half_width or 0.0 for p in series.points]
    low = [max(a - b, 1e-12) for a, b in zip(y, half, strict=True)]
    high = [a + b for a, b in zip(y, half, strict=True)]
    axes.fill_between(x, low, high, color=colour, alpha=0.22, linewidth=0, zorder=3)
    axes.plot(
        x, y, color=colour, linewidth=2, marker="o", markersize=mark_size(series.points), zorder=4
    )
    axes.vlines(x, low, high, color=colour, linewidth=1.2, zorder=4)


def _formulas(axes: "Axes", series: Series) -> list[tuple[float, str, str]]:
    names = sorted({name for p in series.points for name in p.baselines})
    labels = []
    for name, colour in colours_of(names).items():
        pairs = [
            (p.workers, value * series.batch)
            for p in series.points
            for value in [p.baselines.get(name)]
            if value is not None
        ]
        if pairs:
            x, y = zip(*pairs, strict=True)
            axes.plot(x, y, color=colour, linewidth=0.9, linestyle=(0, (4, 1.5)), zorder=2)
            labels.append((float(y[-1]), name, colour))
    return labels


def colours_of(formulas: Sequence[str]) -> dict[str, str]:
    """A colour for each formula."""
    return {name: _FORMULAS[i % len(_FORMULAS)] for i, name in enumerate(formulas)}


def _bounds(axes: "Axes", series: Series) -> list[tuple[float, str, str]]:
    """Draw ideal scaling, and the fullest link's limit where the picture reaches it."""
    x = _many(series.points[0].workers, series.points[-1].workers)
    y = [series.alone.mean * series.batch * count for count in x]
    axes.plot(x, y, color="#9aa5ae", linewidth=1, linestyle=":", zorder=1)
    labels = [(y[-1], "ideal scaling", "#7a858f")]
    if series.limits_steps_per_s:
        name, rate = min(series.limits_steps_per_s.items(), key=lambda item: item[1])
        limit = rate * series.batch
        top = axes.get_ylim()[1]
        if limit < 1.6 * top:
            axes.set_ylim(top=max(top, 1.08 * limit))
            axes.axhline(limit, color=LIMIT, linewidth=1.1, zorder=1)
            labels.append((limit, limit_text(name), LIMIT))
    return labels


def limit_text(place: str) -> str:
    """Label of a link's limit, from a place such as ``server 0 down``."""
    owner, _, direction = place.rpartition(" ")
    return f"limit: {owner}'s {direction}link" if owner else f"limit: {place}"


def _many(first: int, last: int) -> list[float]:
    ratio = last / first
    return [first * ratio ** (i / 64) for i in range(65)]


def _ring(axes: "Axes", series: Series, colour: str) -> tuple[float, float]:
    assert series.saturation is not None
    workers = series.saturation.workers
    y = next((p.examples_per_s.mean for p in series.points if p.workers == workers), math.nan)
    axes.plot(
        [workers],
        [y],
        marker="o",
        markersize=10,
        markerfacecolor="none",
        markeredgecolor=colour,
        markeredgewidth=1.4,
        zorder=5,
    )
    return workers, y


def _mark_saturation(axes: "Axes", series: Series) -> None:
    workers, _ = _ring(axes, series, "#222222")
    axes.axvline(workers, color="#c3cad0", linewidth=0.8, zorder=0)
    at = axes.transAxes.inverted().transform(axes.transData.transform((workers, 1.0)))[0]
    left = at > 0.65
    axes.annotate(
        f"saturated from {workers:.0f} on",
        (float(at), 0.0),
        xycoords="axes fraction",
        textcoords="offset points",
        xytext=(-5 if left else 5, 6),
        ha="right" if left else "left",
        fontsize=8,
        color="#222222",
        zorder=6,
    )
