"""Pareto fronts: throughput against cost, by each price list."""

from typing import TYPE_CHECKING, Final

from netcosim.report import style
from netcosim.report.streams.timeline import plain
from ray_sweeps.analysis.conditions import with_texts
from ray_sweeps.analysis.dataset import MAIN
from ray_sweeps.analysis.findings import chosen_text, configuration_text
from ray_sweeps.analysis.outcomes import Outcomes
from ray_sweeps.analysis.points import COST
from ray_sweeps.analysis.summary import Front
from ray_sweeps.report.curves import Picture

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_MOST_PRICES: Final = 6
_ROW_IN: Final = 3.1
_MOST_DOTS: Final = 20_000
_FRONT: Final = "#0072B2"
_KNEE: Final = "#D55E00"


def front_picture(outcomes: Outcomes) -> Picture | None:
    """Draw the points by cost and throughput with their fronts; None without costs to choose."""
    with_choice = [f for f in outcomes.summary.fronts if len(f.points) > 1]
    fronts = with_choice[:_MOST_PRICES]
    if not fronts:
        return None
    columns = min(2, len(fronts))
    rows = -(-len(fronts) // columns)
    height = rows * _ROW_IN
    figure = style.new_figure(style.WIDTH_IN, height)
    for number, front in enumerate(fronts):
        row, column = divmod(number, columns)
        width_in = style.WIDTH_IN / columns
        axes = figure.add_axes(
            (
                (column * width_in + 0.62) / style.WIDTH_IN,
                (height - (row + 1) * _ROW_IN + 0.48) / height,
                (width_in - 0.62 - 0.15) / style.WIDTH_IN,
                (_ROW_IN - 0.8) / height,
            )
        )
        _draw(axes, outcomes, front)
    rest = len(with_choice) - len(fronts)
    return Picture(
        name="pareto",
        title="Throughput against cost",
        text="Grey: all points. Blue: the Pareto front, whose points no other beats in both; hollow"
        " where a point is faster than the one before it only within noise. Ring: its knee."
        + (f" {rest} more fronts are in summary.json." if rest else ""),
        png=style.png(figure),
    )


def _draw(axes: "Axes", outcomes: Outcomes, front: Front) -> None:
    where = configuration_text(front.condition)
    title = f"{where}; prices: {front.prices}" if where else f"prices: {front.prices}"
    style.tidy(axes, plain(style.shortened(title, 50)))
    points = with_texts(outcomes.points.finished, front.condition)
    points = points.select(COST + front.prices, MAIN).drop_nulls()
    if points.height > _MOST_DOTS:
        points = points.unique(maintain_order=True).gather_every(-(-points.height // _MOST_DOTS))
    axes.plot(
        points[COST + front.prices].to_numpy(),
        points[MAIN].to_numpy(),
        linestyle="none",
        marker=".",
        markersize=4,
        color="#b8bfc6",
        zorder=2,
    )
    x = [point.cost for point in front.points]
    y = [point.configuration.examples_per_s for point in front.points]
    half = [point.configuration.half_width or 0.0 for point in front.points]
    axes.step(x, y, where="post", color=_FRONT, linewidth=1.2, zorder=3)
    axes.errorbar(x, y, yerr=half, linestyle="none", ecolor=_FRONT, elinewidth=1.0, zorder=3)
    for place, point in enumerate(front.points):
        axes.plot(
            x[place],
            y[place],
            marker="o",
            markersize=4.5,
            color=_FRONT,
            markerfacecolor=_FRONT if point.beyond else "white",
            zorder=4,
        )
    axes.set_ylim(0, 1.12 * max(a + b for a, b in zip(y, half, strict=True)) or 1.0)
    axes.set_xlim(left=0)
    axes.set_xlabel(plain(f"cost, {front.unit}" if front.unit else "cost"))
    axes.set_ylabel("examples/s")
    if front.knee is not None:
        _mark_knee(axes, front, x[front.knee], y[front.knee])


def _mark_knee(axes: "Axes", front: Front, x: float, y: float) -> None:
    assert front.knee is not None
    axes.plot(
        x,
        y,
        marker="o",
        markersize=10,
        markerfacecolor="none",
        markeredgecolor=_KNEE,
        markeredgewidth=1.4,
        zorder=5,
    )
    text = chosen_text(front.points[front.knee].configuration, front.condition)
    # At the bottom right there are no points of a front.
    axes.annotate(
        plain("knee: " + style.shortened(text, 40)),
        (0.98, 0.03),
        xycoords="axes fraction",
        ha="right",
        va="bottom",
        fontsize=7.5,
        color=_KNEE,
        zorder=6,
        bbox={"facecolor": "white", "edgecolor": "none", "alpha": 0.8, "pad": 1.5},
    )
