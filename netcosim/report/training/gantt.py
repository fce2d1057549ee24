"""Gantt chart of the first steps of a few workers, by link and processor."""

from collections.abc import Container, Sequence
from typing import TYPE_CHECKING, Final

import numpy as np
from numpy.typing import NDArray

from netcosim.report import style
from netcosim.report.streams.timeline import plain
from netcosim.report.training.axes import time_unit
from netcosim.report.training.data import CellTraining
from netcosim.results.storage.column_table import Ints
from netcosim.results.training.operations import OperationColumns
from netcosim.results.training.perfetto import lanes

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_STEPS: Final = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00")
_LANES: Final[tuple[tuple[str, str], ...]] = (
    ("down", "downlink"),
    ("worker", "computing"),
    ("send", "sending"),
    ("up", "uplink"),
    ("ps", "server"),
)
_MOST_ROWS: Final = 4
_PIXELS: Final = 2000
_EDGED: Final = 250

Bools = NDArray[np.bool_]


def lanes_png(cell: CellTraining, until_ns: int | None = None) -> bytes | None:
    """Draw the chart as PNG, up to the last end or another time; None without operations."""
    ops = cell.operations
    if not len(ops):
        return None
    last_ns = int(ops.end_ns.max()) if until_ns is None else until_ns
    workers = np.unique(ops.worker).tolist()
    shown = sum(worker < cell.workers for worker in workers)
    used = {place.split()[-1] for place in ops.place.values if place}
    lanes_of = [_lanes_of(worker, cell.workers, used) for worker in workers]
    height = 1.17 + 0.26 * sum(map(len, lanes_of)) + 0.1 * len(workers)
    figure = style.new_figure(style.WIDTH_IN, height)
    axes = figure.add_axes((0.15, 0.48 / height, 0.835, 1 - 1.05 / height))
    name = style.shortened(cell.name, 60)
    title = f"{name}: the first steps of {_who(shown, cell.workers)}"
    style.tidy(axes, plain(title), legend_above=True)
    unit, factor = time_unit(float(last_ns))
    axes.locator_params(axis="x", nbins=10)
    axes.grid(visible=False, axis="y")
    _draw(axes, ops, workers, lanes_of, factor)
    axes.set_xlim(0, last_ns / factor)
    axes.set_xlabel(f"time since the run began, {unit}")
    return style.png(figure)


def _who(shown: int, all_of_them: int) -> str:
    if shown == all_of_them:
        return "the worker" if shown == 1 else f"all {shown} workers"
    return f"the first {shown} of {all_of_them} workers"


def _lanes_of(worker: int, workers: int, used: Container[str]) -> tuple[tuple[str, str], ...]:
    """Endings of places with their names; behind all workers is what is done once for all.

    Work for messages that are sent has a lane only where there is any.
    """
    if worker >= workers:
        return (("ps", "updates for all"),)
    return tuple(lane for lane in _LANES if lane[0] != "send" or lane[0] in used)


def _draw(
    axes: "Axes",
    ops: OperationColumns,
    workers: list[int],
    lanes_of: Sequence[Sequence[tuple[str, str]]],
    factor: float,
) -> None:
    from matplotlib.patches import Patch

    ends = np.array([place.split()[-1] if place else "" for place in ops.place.values])
    lane_of = ends[ops.place.codes]
    ticks: list[float] = []
    names: list[str] = []
    at = -1.0
    for worker, its_lanes in zip(workers, lanes_of, strict=True):
        at += 0.4 if ticks else 0.0
        for ending, text in its_lanes:
            at += 1.0
            first = ending == _LANES[0][0]
            names.append(f"worker {worker}   {text}" if first else text)
            ticks.append(at)
            axes.axhspan(at - 0.44, at + 0.44, color="#f3f5f7", linewidth=0, zorder=0)
            _boxes(axes, ops, (ops.worker == worker) & (lane_of == ending), at, factor)
    axes.set_yticks(ticks, names, fontsize=8)
    axes.set_ylim(ticks[-1] + 0.6, -0.6)
    steps = np.unique(ops.step).tolist()
    axes.legend(
        handles=[Patch(color=_colour(step), label=f"step {step}") for step in steps[:6]],
        loc="lower right",
        bbox_to_anchor=(1.0, 1.0),
        borderaxespad=0.1,
        ncols=6,
        fontsize=8,
        frameon=False,
    )


def _boxes(axes: "Axes", ops: OperationColumns, which: Bools, at: float, factor: float) -> None:
    """Draw one lane of one worker; operations that overlap are on rows of their own."""
    from matplotlib.collections import PolyCollection

    start, end, step = ops.start_ns[which], ops.end_ns[which], ops.step[which]
    if not len(start):
        return
    row = np.minimum(lanes(start, end), _MOST_ROWS - 1)
    rows = int(row.max()) + 1
    start, end, step, row = _merged(start, end, step, row, int(ops.end_ns.max()) // _PIXELS)
    top = at - 0.42 + 0.84 * row / rows
    bottom = top + 0.84 / rows * 0.94
    left, right = start / factor, end / factor
    corners = np.stack(
        [
            np.stack([left, bottom], axis=1),
            np.stack([left, top], axis=1),
            np.stack([right, top], axis=1),
            np.stack([right, bottom], axis=1),
        ],
        axis=1,
    )
    colours = np.array([_colour(number) for number in step.tolist()])
    # A white edge tells wide neighbours apart; one of its own keeps a narrow one visible.
    wide = (end - start) * _EDGED > int(ops.end_ns.max())
    for chosen, edge in ((wide, "white"), (~wide, "face")):
        axes.add_collection(
            PolyCollection(
                list(corners[chosen]),
                facecolors=colours[chosen].tolist(),
                edgecolors=edge,
                linewidths=0.4,
                zorder=2,
            )
        )


def _merged(
    start: Ints, end: Ints, step: Ints, row: Ints, within_ns: int
) -> tuple[Ints, Ints, Ints, Ints]:
    """Join successive operations of a row and step that are too short to be seen apart."""
    order = np.lexsort((start, step, row))
    start, end, step, row = start[order], end[order], step[order], row[order]
    short = (end - start) <= within_ns
    joined = (
        (np.diff(row) == 0)
        & (np.diff(step) == 0)
        & (start[1:] - end[:-1] <= within_ns)
        & short[1:]
        & short[:-1]
    )
    first = np.flatnonzero(np.concatenate([[True], ~joined]))
    return start[first], np.maximum.reduceat(end, first), step[first], row[first]


def _colour(step: int) -> str:
    return _STEPS[step % len(_STEPS)]
