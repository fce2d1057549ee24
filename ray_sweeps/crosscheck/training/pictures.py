"""Pictures of a training job's cross-check: throughput curves, the first steps in both worlds."""

from dataclasses import replace
from itertools import cycle
from typing import Final

import numpy as np

from netcosim.report import style
from netcosim.report.streams.timeline import plain
from netcosim.report.training.data import SHOWN_WORKERS, CellTraining
from netcosim.report.training.gantt import lanes_png
from netcosim.results.training import operations
from netcosim.results.training.operations import OperationColumns
from ray_sweeps.crosscheck.training.check import Checked
from ray_sweeps.crosscheck.training.record import CellCheck, PointCheck

MEASURED: Final = "#0072B2"
PREDICTED: Final = "#D55E00"
_BASELINE: Final = "#8a8a8a"
_DISCIPLINES: Final = "#009E73"
_ORDERS: Final = "#CC79A7"
_LINES: Final = ("-", "--", ":", "-.")
_SHOWN_STEPS: Final = 2
_MOST_ABOVE: Final = 2.0
"""Top of the axis at most, as a factor of the largest throughput: curves above are cut off."""

_HALF_LINE: Final = 0.2
"""Of the line that stands for a curve of one point, in workers."""
_STEPS_TEXT: Final = (
    "The same steps in both worlds, on the same axis; transfers from hand-over to delivery."
    " Simulated is a single simulation, also where the prediction is the mean of many runs."
)

Picture = tuple[str, str, bytes]
"""Title, a sentence on how to read it, PNG."""


def pictures_of(checked: Checked) -> list[Picture]:
    """All pictures of a cell."""
    check = checked.check
    found = [
        (
            f"{check.cell}: throughput",
            "Points are measured; the line was predicted from one worker and sealed before, its"
            " bars are the range of perturbed simulations; crosses: the job over models of its"
            " connections, sealed as well. Thin lines: what other assumptions"
            " would have predicted.",
            throughput_png(check),
        )
    ]
    counts = [count for count in checked.measured if count > 1] or list(checked.measured)
    for count in counts[:1]:
        worlds = {
            "measured": _shown(checked.measured[count]),
            "simulated": _shown(_from_hand_over(checked.simulated[count])),
        }
        until_ns = max(int(ops.end_ns.max(initial=0)) for ops in worlds.values())
        for world, ops in worlds.items():
            cell = CellTraining(
                name=f"{check.cell}, {world}", series=None, workers=count, operations=ops
            )
            image = lanes_png(cell, until_ns)
            if image is not None:
                found.append((f"{check.cell}: first steps, {world}", _STEPS_TEXT, image))
    return found


def throughput_png(check: CellCheck) -> bytes:
    """Draw predicted and measured throughput by number of workers, with baselines."""
    points = check.points
    counts = [point.workers for point in points]
    figure = style.new_figure(style.WIDTH_IN, 3.6)
    axes = figure.add_axes((0.07, 0.13, 0.60, 0.77))
    style.tidy(axes, plain(f"{check.cell}: throughput, examples/s"))
    others = _other_curves(points)
    for label, values, colour, line in others:
        drawn = _drawn(counts, values)
        axes.plot(*drawn, color=colour, linestyle=line, linewidth=1, label=plain(label))
    predicted = np.array([point.predicted for point in points])
    below = np.maximum(predicted - [point.low for point in points], 0)
    above = np.maximum([point.high for point in points] - predicted, 0)
    axes.errorbar(
        counts, predicted, yerr=(below, above), color=PREDICTED, capsize=3, label="predicted"
    )
    axes.plot(
        counts,
        [point.measured for point in points],
        color=MEASURED,
        marker="o",
        linestyle="none",
        label="measured",
        zorder=5,
    )
    modelled = [point for point in points if point.models is not None]
    if modelled:
        axes.plot(
            [point.workers for point in modelled],
            [point.models.examples_per_s for point in modelled if point.models is not None],
            color=PREDICTED,
            marker="x",
            linestyle="none",
            label="predicted over models\nof connections",
            zorder=6,
        )
    largest = max(max(point.measured, point.predicted) for point in points)
    highest = max(max(values) for _, values, _, _ in others)
    axes.set_ylim(0, min(1.05 * max(highest, 1.2 * largest), _MOST_ABOVE * largest))
    axes.set_xticks(counts)
    if len(counts) == 1:
        axes.set_xlim(counts[0] - 1, counts[0] + 1)
    axes.set_xlabel("workers")
    axes.legend(loc="center left", bbox_to_anchor=(1.01, 0.5), frameon=False, fontsize=8)
    return style.png(figure)


def _drawn(counts: list[int], values: list[float]) -> tuple[list[float], list[float]]:
    """Ends of the lines of a curve; of a single point there is a short one, to be seen at all."""
    if len(counts) > 1:
        return [float(count) for count in counts], values
    return [counts[0] - _HALF_LINE, counts[0] + _HALF_LINE], [values[0], values[0]]


def _other_curves(points: tuple[PointCheck, ...]) -> list[tuple[str, list[float], str, str]]:
    def values(error_of: str, name: str = "") -> list[float]:
        found = []
        for point in points:
            error = getattr(point, error_of)
            found.append(point.measured * (1 + (error[name] if name else error)))
        return found

    curves = [
        ("as many times one worker", values("linear_error"), _BASELINE, "--"),
        ("busiest port full", values("bound_error"), _BASELINE, ":"),
    ]
    for error_of, text, colour in (
        ("discipline_errors", "had it been", _DISCIPLINES),
        ("order_errors", "had the order been", _ORDERS),
    ):
        curves += [
            (f"{text} {name}", values(error_of, name), colour, line)
            for name, line in zip(getattr(points[0], error_of), cycle(_LINES), strict=False)
        ]
    return curves


def _shown(ops: OperationColumns) -> OperationColumns:
    return operations.TABLE.where(ops, (ops.worker < SHOWN_WORKERS) & (ops.step < _SHOWN_STEPS))


def _from_hand_over(ops: OperationColumns) -> OperationColumns:
    """Simulated transfers from when they were handed over, as measured ones are."""
    start_ns = np.where(ops.kind.are("transfer"), ops.ready_ns, ops.start_ns)
    return replace(ops, start_ns=start_ns)
