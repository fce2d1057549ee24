"""Picture of a cell in three panels: predicted against measured ends, order errors, credit.

The second panel names the models whose colours the first one uses.
"""

from itertools import groupby
from typing import TYPE_CHECKING, Final

import numpy as np

from netcosim.report import style
from netcosim.report.streams.data import CellData
from netcosim.report.streams.timeline import plain
from netcosim.results.streams.windows import NEVER_BINDS_BYTES, WindowRow

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_SMALLEST: Final = 1e-3
"""Errors in per cent; smaller ones are drawn here, for a logarithm has no zero."""

Series = list[WindowRow]


def panels_png(cell: CellData, colours: dict[str, str]) -> bytes | None:
    """Draw the panels as PNG; None if the cell has no burst."""
    if not cell.measured:
        return None
    figure = style.new_figure(style.WIDTH_IN, 5.2)
    ends = figure.add_axes((0.085, 0.5, 0.345, 0.44))
    errors = figure.add_axes((0.57, 0.5, 0.41, 0.44))
    credit = figure.add_axes((0.085, 0.085, 0.895, 0.27))
    _draw_ends(ends, cell, colours)
    _draw_windows(credit, cell)
    _draw_errors(errors, cell, colours)
    return style.png(figure)


def _draw_ends(axes: "Axes", cell: CellData, colours: dict[str, str]) -> None:
    style.tidy(axes, "ends of streams, ms")
    largest = 0.0
    for model in reversed(cell.models):
        points = [
            (theirs.wire_end_ns / 1e6, ours.wire_end_ns / 1e6)
            for predictions, truth in cell.pairs(model)
            for ours, theirs in zip(predictions, truth, strict=True)
        ]
        if points:
            measured, predicted = np.array(points).T
            largest = max(largest, measured.max(), predicted.max())
            axes.plot(
                measured,
                predicted,
                linestyle="none",
                marker="o",
                markersize=4 if model == cell.best else 3,
                markeredgewidth=0,
                alpha=0.75,
                color=colours[model],
                zorder=3 if model == cell.best else 2,
            )
    if largest == 0.0:
        style.note(axes, _without_pairs(cell))
        return
    axes.plot([0, largest], [0, largest], color="#9aa5ae", linewidth=0.8, zorder=1)
    axes.set_xlabel("measured")
    axes.set_ylabel("predicted", labelpad=1)


def _without_pairs(cell: CellData) -> str:
    """Why no prediction can be held against a measured burst."""
    if any(row.valid for row in cell.measured):
        return "nothing is predicted of the judged bursts"
    words = {"not valid": "no burst is valid", "not judged": "no burst is judged"}
    return words[cell.nothing_judged]


def _draw_windows(axes: "Axes", cell: CellData) -> None:
    burst = cell.shown_burst()[0].burst
    style.tidy(axes, f"credit of streams on the wire, burst {burst}")
    series = _series(cell, burst)
    if not series:
        style.note(axes, "no windows were recorded")
        return
    bound = [s for s in series if min(r.credit_bytes for r in s) < NEVER_BINDS_BYTES]
    streams = [s for s in bound if s[0].stream != 0]
    if not streams:
        style.note(axes, "no stream had a window to run out of")
        return
    largest = max(r.credit_bytes for s in streams for r in s)
    shown = [s for s in bound if s[0].stream != 0 or max(r.credit_bytes for r in s) < 8 * largest]
    unit, factor = ("MiB", 2**20) if largest >= 2**20 else ("KiB", 2**10)
    for whole in (False, True):
        lines = [
            [(row.time_ns / 1e6, row.credit_bytes / factor) for row in one]
            for one in shown
            if (one[0].stream == 0) == whole
        ]
        if lines:
            _lines(axes, lines, whole=whole)
    axes.autoscale_view()
    axes.set_xlabel("time, ms")
    axes.set_ylabel(unit, labelpad=1)
    if len(shown) > len(streams):
        axes.legend(fontsize=7.5, framealpha=0.8, edgecolor="none", loc="best")


def _lines(axes: "Axes", lines: list[list[tuple[float, float]]], *, whole: bool) -> None:
    from matplotlib.collections import LineCollection

    axes.add_collection(
        LineCollection(
            lines,
            linewidths=1.4 if whole else max(0.4, min(0.9, 12 / len(lines))),
            colors="#D55E00" if whole else "#0072B2",
            alpha=1.0 if whole else 0.8,
            label="connection" if whole else "streams",
        )
    )


def _series(cell: CellData, burst: int) -> list[Series]:
    rows = sorted(
        (row for row in cell.windows if row.burst == burst), key=lambda r: (r.connection, r.stream)
    )
    return [list(group) for _, group in groupby(rows, key=lambda r: (r.connection, r.stream))]


def _plain_log_scale(axes: "Axes") -> None:
    """Powers of ten as plain numbers: a third of the time that matplotlib's own labels take."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator

    axes.set_xscale("log")
    axes.xaxis.set_minor_locator(NullLocator())
    axes.xaxis.set_major_locator(LogLocator(numticks=8))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))


def _draw_errors(axes: "Axes", cell: CellData, colours: dict[str, str]) -> None:
    style.tidy(axes, "order errors, % of the connection's bytes")
    models = [model for model in cell.models if cell.errors(model)]
    if not models:
        style.note(axes, _without_pairs(cell))
        return
    samples = [np.maximum(100 * np.concatenate(cell.errors(model)), _SMALLEST) for model in models]
    boxes = axes.boxplot(
        samples,
        orientation="horizontal",
        whis=(5, 95),
        widths=0.55,
        patch_artist=True,
        flierprops={"marker": ".", "markersize": 3, "markeredgecolor": style.QUIET},
        medianprops={"color": "black", "linewidth": 1.0},
    )
    for box, model in zip(boxes["boxes"], models, strict=True):
        box.set(facecolor=colours[model], alpha=0.75, linewidth=0.6)
    _plain_log_scale(axes)
    axes.set_ylim(len(models) + 0.6, 0.4)
    axes.set_yticks(
        range(1, len(models) + 1), [plain(m).replace("_", "\n", 1) for m in models], fontsize=7.5
    )
    axes.set_xlabel("box: middle half; whiskers: 5 to 95 %")
