"""Pictures of time shares, step times and link utilisation by number of workers."""

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from netcosim.report import style
from netcosim.report.training.axes import MANY, labels_for, mark_size, time_unit, workers_axis
from netcosim.report.training.curves import LIMIT
from netcosim.results.training.bottleneck import FULL
from netcosim.results.training.summary import Point, Series

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Computing is blue, alone or not; the network alone is orange; nothing at all is grey.
PARTS: Final = (
    ("computing", "only computes", "#08519c"),
    ("receiving_computing", "computes + receives", "#3182bd"),
    ("computing_sending", "computes + sends", "#6baed6"),
    ("all_three", "all three", "#a6cbe3"),
    ("receiving", "only receives", "#e6550d"),
    ("sending", "only sends", "#fd8d3c"),
    ("receiving_sending", "receives + sends", "#fdbe85"),
    ("idle", "nothing, in a step", "#d0d5da"),
    ("waiting", "waits for others", "#8f979e"),
)

LEAST: Final = 0.005
DOWN: Final = "#0072B2"
UP: Final = "#009E73"
WORKERS: Final = "#8f979e"


def time_bars(axes: "Axes", series: Series) -> None:
    """Draw the workers' activities, as shares of their time, in stacked bars."""
    style.tidy(axes, "where a worker's time goes, %")
    points = series.points
    places = list(range(len(points)))
    bottom = [0.0] * len(points)
    for field, text, colour in PARTS:
        parts = [100 * float(getattr(p.time, field)) for p in points]
        if max(parts) < 100 * LEAST:
            continue
        axes.bar(
            places,
            parts,
            bottom=bottom,
            width=0.82 if len(points) <= MANY else 1.0,
            color=colour,
            label=text,
            hatch="///" if field == "waiting" else None,
            edgecolor="white",
            linewidth=0.3 if len(points) <= MANY else 0,
        )
        bottom = [a + b for a, b in zip(bottom, parts, strict=True)]
    axes.set_ylim(0, 100)
    axes.grid(visible=False, axis="x")
    step = -(-len(points) // labels_for(axes, points[-1].workers))
    shown = places[::-1][::step]
    axes.set_xticks(shown, [str(points[i].workers) for i in shown])
    axes.set_xlabel("workers")
    _legend_beside(axes, 1.0)


def step_curve(axes: "Axes", series: Series) -> None:
    """Draw median and 95th percentile of the step time."""
    points = series.points
    unit, factor = time_unit(max(p.step_ns.median for p in points))
    style.tidy(axes, f"time of a step, {unit}")
    workers_axis(axes, points)
    x = [p.workers for p in points]
    median = [p.step_ns.median / factor for p in points]
    p95 = [p.step_ns.p95 / factor for p in points]
    axes.fill_between(x, median, p95, color=DOWN, alpha=0.15, linewidth=0)
    axes.plot(x, p95, color=DOWN, linewidth=1, linestyle="--", label="95 % are shorter")
    axes.plot(
        x,
        median,
        color=DOWN,
        linewidth=2,
        marker="o",
        markersize=mark_size(points),
        label="median",
    )
    late = [math.nan if p.straggler_ns is None else p.straggler_ns / factor for p in points]
    if any(value > 0 for value in late):
        text = "a round's first waits for its last"
        axes.plot(x, late, color=style.QUIET, linewidth=1, linestyle=":", label=text)
    axes.set_ylim(0, 1.06 * max(p95))
    axes.legend(fontsize=7.5, frameon=False, loc="best")


def use_curve(axes: "Axes", series: Series) -> None:
    """Draw the utilisation of the links and of the workers."""
    style.tidy(axes, "used, % of the time")
    points = series.points
    workers_axis(axes, points)
    x = [p.workers for p in points]
    # Of two that are the same one shines through the other.
    lines: tuple[tuple[str, str, float, str], ...] = (
        ("down", DOWN, 3.4, "-"),
        ("up", UP, 1.5, "--"),
    )
    for direction, colour, width, dashes in lines:
        uses = [_of(p, direction) for p in points]
        if not all(uses):
            continue
        top = [100 * max(use) for use in uses]
        label = f"{'fullest ' if series.servers > 1 else ''}{direction}link"
        axes.plot(x, top, color=colour, linewidth=width, linestyle=dashes, label=label)
        if series.servers > 1:
            low = [100 * min(use) for use in uses]
            axes.fill_between(x, low, top, color=colour, alpha=0.1, linewidth=0)
    busy = [100 * p.worker_utilisation for p in points]
    axes.plot(x, busy, color=WORKERS, linewidth=1.4, label="workers compute")
    axes.axhline(100 * FULL, color=LIMIT, linewidth=0.9, linestyle=":", label="called full")
    axes.set_ylim(0, 104)
    _legend_beside(axes, 1.6)


def _legend_beside(axes: "Axes", handle: float) -> None:
    """Draw the legend at the right, from below in the order in which things are drawn."""
    handles, labels = axes.get_legend_handles_labels()
    axes.legend(
        handles[::-1],
        labels[::-1],
        loc="center left",
        bbox_to_anchor=(1.0, 0.5),
        fontsize=7.5,
        frameon=False,
        handlelength=handle,
    )


def _of(point: Point, direction: str) -> Sequence[float]:
    return [link.utilisation for link in point.link_utilisation if link.direction == direction]
