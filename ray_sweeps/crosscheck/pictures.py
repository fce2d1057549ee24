"""Pictures of a cross-check: predicted against measured ends, distributions, one burst."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Final

import numpy as np

from netcosim.formatting import percent
from netcosim.report import style
from netcosim.report.streams.data import CellData
from netcosim.report.streams.timeline import plain, timeline_png
from ray_sweeps.crosscheck.unit import CellCheck, StreamCheck

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis

_SMALLEST: Final = 1e-3
"""Errors in per cent; smaller ones are drawn here, for a logarithm has no zero."""

_MOST_POINTS: Final = 20_000
_MOST_BOXES: Final = 24

Value = Callable[[StreamCheck], str]


def ends_png(streams: Sequence[StreamCheck]) -> bytes:
    """Predicted against measured ends, absolute and over the burst's length, by discipline."""
    figure = style.new_figure(style.WIDTH_IN, 4.4)
    absolute = figure.add_axes((0.1, 0.2, 0.385, 0.71))
    shares = figure.add_axes((0.575, 0.2, 0.4, 0.71))
    names = sorted({_rule(s) for s in streams})
    colours = style.model_colours(names)
    kept = streams[:: -(-len(streams) // _MOST_POINTS)]
    for name in names:
        mine = [s for s in kept if _rule(s) == name]
        _dots(absolute, [(s.measured_ns / 1e9, s.predicted_ns / 1e9) for s in mine], colours[name])
        over = [(s.measured_ns / s.length_ns, s.predicted_ns / s.length_ns) for s in mine]
        _dots(shares, over, colours[name])
    style.tidy(absolute, "ends of streams, s")
    style.tidy(shares, "ends of streams, share of the burst's length")
    least = min(min(s.measured_ns, s.predicted_ns) for s in kept) / 1e9
    most = max(max(s.measured_ns, s.predicted_ns) for s in kept) / 1e9
    absolute.plot([least, most], [least, most], color="#9aa5ae", linewidth=0.8, zorder=1)
    for axis, scale in ((absolute.xaxis, "x"), (absolute.yaxis, "y")):
        absolute.set(**{f"{scale}scale": "log"})
        _plain_labels(axis, narrow=most < 100 * least)
    shares.plot([0, 1], [0, 1], color="#9aa5ae", linewidth=0.8, zorder=1)
    for axes in (absolute, shares):
        axes.set_xlabel("measured")
        axes.set_ylabel("simulated", labelpad=1)
    _legend(figure.add_axes((0.05, 0.0, 0.9, 0.09)), colours)
    return style.png(figure)


def errors_png(streams: Sequence[StreamCheck], groups: Sequence[tuple[str, Value]]) -> bytes:
    """Boxes of time errors on a logarithmic axis, for each value of each group."""
    rows: list[tuple[str, list[float] | None]] = []
    for by, value_of in groups:
        found: dict[str, list[float]] = {}
        for stream in sorted(streams, key=lambda s: s.rate_bps):
            found.setdefault(value_of(stream), []).append(abs(stream.time_error))
        names = list(found) if by == "rate" else sorted(found)
        rows.append((by, None))
        rows += [(name, found[name]) for name in names[:_MOST_BOXES]]
        if len(names) > _MOST_BOXES:
            rows.append((f"and {len(names) - _MOST_BOXES} more", None))
    height = 0.21 * len(rows) + 0.9
    figure = style.new_figure(style.WIDTH_IN, height)
    axes = figure.add_axes((0.27, 0.5 / height, 0.7, 1 - 0.85 / height))
    style.tidy(axes, "time errors of streams, % of the burst's length")
    _boxes(axes, rows)
    return style.png(figure)


def burst_png(check: CellCheck) -> bytes | None:
    """Timeline of a cell's typical burst, measured and simulated; None if it has none."""
    measured, simulated = check.typical
    if not measured:
        return None
    rule = simulated[0].model
    cell = _Shown(name=check.cell, summary=None, measured=measured, predicted=simulated, windows=())
    return timeline_png(cell, style.model_colours([rule]))


class _Shown(CellData):
    """Rows of one burst whose simulation is drawn beside it."""

    @property
    def best(self) -> str | None:
        """The simulated discipline."""
        return self.predicted[0].model


def _rule(stream: StreamCheck) -> str:
    return stream.discipline.partition(" ")[0]


def _dots(axes: "Axes", points: Sequence[tuple[float, float]], colour: str) -> None:
    measured, predicted = np.array(points).T
    axes.plot(
        measured,
        predicted,
        linestyle="none",
        marker="o",
        markersize=2.6,
        markeredgewidth=0,
        alpha=0.45,
        color=colour,
        zorder=2,
    )


def _boxes(axes: "Axes", rows: Sequence[tuple[str, list[float] | None]]) -> None:
    drawn = [(place, errors) for place, (_, errors) in enumerate(rows) if errors is not None]
    boxes = axes.boxplot(
        [np.maximum(100 * np.array(errors), _SMALLEST) for _, errors in drawn],
        positions=[place for place, _ in drawn],
        orientation="horizontal",
        whis=(5, 95),
        widths=0.55,
        patch_artist=True,
        manage_ticks=False,
        flierprops={"marker": ".", "markersize": 2, "markeredgecolor": style.QUIET},
        medianprops={"color": "black", "linewidth": 1.0},
    )
    for box in boxes["boxes"]:
        box.set(facecolor="#0072B2", alpha=0.6, linewidth=0.6)
    means = [100 * float(np.mean(errors)) for _, errors in drawn]
    axes.plot(
        np.maximum(means, _SMALLEST),
        [place for place, _ in drawn],
        linestyle="none",
        marker="D",
        markersize=3.5,
        color="#D55E00",
        zorder=5,
    )
    axes.set_xscale("log")
    _plain_labels(axes.xaxis)
    axes.set_ylim(len(rows) - 0.4, -0.6)
    axes.set_yticks(
        range(len(rows)), [plain(style.shortened(name, 34)) for name, _ in rows], fontsize=7.5
    )
    for label, (_, errors) in zip(axes.get_yticklabels(), rows, strict=True):
        if errors is None:
            label.set_fontweight("bold")
    axes.set_xlabel("box: middle half; line: median; diamond: mean; whiskers: 5 to 95 %")


def _plain_labels(axis: "Axis", *, narrow: bool = False) -> None:
    """Labels of a logarithmic axis as plain numbers; also between powers of ten if it is narrow."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator

    axis.set_minor_locator(NullLocator())
    if narrow:
        axis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))


def _legend(axes: "Axes", colours: dict[str, str]) -> None:
    from matplotlib.patches import Patch

    axes.axis("off")
    axes.legend(
        handles=[Patch(facecolor=colour, label=plain(name)) for name, colour in colours.items()],
        loc="center",
        ncols=min(6, len(colours)),
        fontsize=8,
        frameon=False,
    )


def typical_cells(checks: Sequence[CellCheck]) -> list[tuple[str, CellCheck]]:
    """The cells with the median and with the largest mean time error, each with what it is."""
    ranked = sorted(
        (_mean_error(c), c.run, c.cell, i) for i, c in enumerate(checks) if c.typical[0]
    )
    if not ranked:
        return []
    picked = {"median": ranked[len(ranked) // 2], "largest": ranked[-1]}
    if picked["median"] == picked["largest"]:
        picked = {"median": ranked[-1]}
    return [
        (
            f"One burst of the cell with the {which} mean time error, {percent(error)}:"
            f" {checks[i].run}",
            checks[i],
        )
        for which, (error, _, _, i) in picked.items()
    ]


def _mean_error(check: CellCheck) -> float:
    return float(np.mean([abs(s.time_error) for s in check.streams if s.compared]))
