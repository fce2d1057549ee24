"""Lines with intervals in panels of equal axes."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from netcosim.report import style
from netcosim.report.streams.timeline import plain

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MOST_LINES: Final = 7
MOST_PANELS: Final = 6

_COLUMNS: Final = 3
_ROW_IN: Final = 2.45
_ROW_ALONE_IN: Final = 3.0
_LEGEND_ROW_IN: Final = 0.2
_CROWDED: Final = 4
_LETTER_IN: Final = 0.068
_GAP_IN: Final = 0.12
_MARKERS: Final = ("o", "s", "^", "D", "v", "P", "X")


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """A line: its label, places on the horizontal axis, values, halves of their intervals."""

    label: str
    x: Sequence[float]
    y: Sequence[float]
    half: Sequence[float]


@dataclass(frozen=True, slots=True, kw_only=True)
class Panel:
    """Lines below a title; their labels are among those of the legend."""

    title: str
    lines: Sequence[Line]


@dataclass(frozen=True, slots=True, kw_only=True)
class XAxis:
    """Horizontal axis: its label, where ticks may be, and their texts.

    `numeric`: places are numbers, which may be drawn on a logarithmic scale.
    """

    label: str
    places: Sequence[float]
    texts: Sequence[str]
    numeric: bool

    @property
    def ordered(self) -> bool:
        """True if a line between two places has a meaning: they are numbers, or of numbers."""
        return self.numeric or all(text[:1].isdigit() for text in self.texts)


def chosen(count: int, most: int) -> list[int]:
    """Up to `most` of so many places, evenly spread, the first and the last among them."""
    if count <= most:
        return list(range(count))
    return sorted({round(i * (count - 1) / (most - 1)) for i in range(most)})


def multiples_png(
    panels: Sequence[Panel],
    axis: XAxis,
    *,
    y_label: str,
    legend: str,
    labels: Sequence[str],
    mark: float | None = None,
    own_scales: bool = False,
) -> bytes:
    """Draw up to `MOST_PANELS` panels with up to `MOST_LINES` lines each as PNG.

    Parameters
    ----------
    legend
        What the lines differ in; without a legend if there is one line.
    labels
        Of all lines, in the order of their colours.
    mark
        A value to draw a thin line at.
    own_scales
        Each panel has a vertical scale of its own.
    """
    columns = min(_COLUMNS, len(panels))
    rows = math.ceil(len(panels) / columns)
    above = 0.1 + (_legend_rows(legend, labels) * _LEGEND_ROW_IN if len(labels) > 1 else 0)
    row_in = _ROW_IN if columns > 1 else _ROW_ALONE_IN
    height = above + rows * row_in
    figure = style.new_figure(style.WIDTH_IN, height)
    top = _top(panels)
    colours = style.model_colours(labels)
    for number, panel in enumerate(panels):
        axes = _place(figure, number, columns, above, row_in)
        style.tidy(axes, plain(_fitting(panel.title, columns)))
        draw_x_axis(axes, axis)
        highest = _top([panel]) if own_scales else top
        axes.set_ylim(0, 1.08 * max(highest, mark or 0.0) or 1.0)
        if mark is not None:
            axes.axhline(mark, color="#9aa5ae", linewidth=0.9, linestyle=":", zorder=1)
        if number % columns == 0:
            axes.set_ylabel(y_label)
        for line in panel.lines:
            marker = _MARKERS[labels.index(line.label) % len(_MARKERS)]
            _line(axes, line, colours[line.label], marker, joined=axis.ordered)
    if len(labels) > 1:
        _legend(figure, legend, labels, height)
    return style.png(figure)


def _top(panels: Sequence[Panel]) -> float:
    """Highest end of an interval in the panels."""
    return max((y + h for p in panels for line in p.lines for y, h in _tops(line)), default=1.0)


def _tops(line: Line) -> Iterator[tuple[float, float]]:
    return zip(line.y, line.half, strict=True)


def _place(figure: "Figure", number: int, columns: int, above_in: float, row_in: float) -> "Axes":
    """Axes of a panel, from the left and from above."""
    left_in, right_in, gap_in = 0.62, 0.15, 0.42
    width_in = (style.WIDTH_IN - left_in - right_in - (columns - 1) * gap_in) / columns
    row, column = divmod(number, columns)
    height_in = figure.get_figheight()
    bottom_in = height_in - above_in - (row + 1) * row_in + 0.48
    return figure.add_axes(
        (
            (left_in + column * (width_in + gap_in)) / style.WIDTH_IN,
            bottom_in / height_in,
            width_in / style.WIDTH_IN,
            (row_in - 0.78) / height_in,
        )
    )


def _line(axes: "Axes", line: Line, colour: str, marker: str, *, joined: bool) -> None:
    low = [y - h for y, h in _tops(line)]
    high = [y + h for y, h in _tops(line)]
    if joined:
        axes.fill_between(line.x, low, high, color=colour, alpha=0.18, linewidth=0, zorder=2)
    axes.vlines(line.x, low, high, color=colour, linewidth=1.1, zorder=3)
    few = len(line.x) <= 24
    axes.plot(
        line.x,
        line.y,
        color=colour,
        linewidth=1.6 if joined else 0,
        marker=marker,
        markersize=4.2 if few else 2.0,
        zorder=4,
    )


def draw_x_axis(axes: "Axes", axis: XAxis) -> None:
    """Scale a horizontal axis, and label as many of its places as have room."""
    from matplotlib.ticker import FixedFormatter, FixedLocator, NullLocator

    places = sorted(axis.places)
    logarithmic = axis.numeric and _is_crowded(places)
    if logarithmic:
        axes.set_xscale("log")
        axes.set_xlim(places[0] / 1.2, places[-1] * 1.2)
    else:
        pad = 0.04 * (places[-1] - places[0]) or 0.5
        axes.set_xlim(places[0] - pad, places[-1] + pad)
    shown = _spaced(axes, axis, logarithmic)
    texts = dict(zip(axis.places, axis.texts, strict=True))
    axes.xaxis.set_major_locator(FixedLocator(shown))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.xaxis.set_major_formatter(FixedFormatter([plain(texts[place]) for place in shown]))
    axes.set_xlabel(plain(axis.label))


def _is_crowded(places: Sequence[float]) -> bool:
    """True if most numbers would crowd at the left of a linear axis."""
    return places[0] > 0 and places[len(places) // 2] * _CROWDED <= places[-1]


def _spaced(axes: "Axes", axis: XAxis, logarithmic: bool) -> list[float]:
    """Places that are labelled, so that each text has room; the last one always."""
    figure = axes.get_figure(root=True)
    assert figure is not None
    width_in = axes.get_position().width * figure.get_figwidth()

    def at(place: float) -> float:
        return math.log(place) if logarithmic else place

    pairs = sorted(zip(axis.places, axis.texts, strict=True))
    extent = at(pairs[-1][0]) - at(pairs[0][0]) or 1.0
    kept: list[float] = []
    free = math.inf
    for place, text in reversed(pairs):
        where = (at(place) - at(pairs[0][0])) / extent * width_in
        half = len(text) * _LETTER_IN / 2
        if where + half <= free:
            kept.append(place)
            free = where - half - _GAP_IN
    return kept[::-1]


def _fitting(title: str, columns: int) -> str:
    return style.shortened(title, 110 // columns)


def _legend_rows(legend: str, labels: Sequence[str]) -> int:
    return -(-len(labels) // _legend_columns(legend, labels))


def _legend_columns(legend: str, labels: Sequence[str]) -> int:
    widest = max(len(text) for text in _legend_texts(labels)) * _LETTER_IN + 0.5
    room = style.WIDTH_IN - 0.8 - len(legend) * _LETTER_IN
    return max(1, min(len(labels), int(room / widest)))


def _legend_texts(labels: Sequence[str]) -> list[str]:
    return [style.shortened(label, 34) for label in labels]


def _legend(figure: "Figure", legend: str, labels: Sequence[str], height_in: float) -> None:
    from matplotlib.lines import Line2D

    colours = style.model_colours(labels)
    handles = [
        Line2D([], [], color=colours[label], marker=_MARKERS[i % len(_MARKERS)], markersize=4.2)
        for i, label in enumerate(labels)
    ]
    figure.text(
        0.07, 1 - 0.16 / height_in, plain(f"{legend}:"), fontsize=8, color="#444444", va="center"
    )
    figure.legend(
        handles,
        [plain(text) for text in _legend_texts(labels)],
        loc="upper left",
        bbox_to_anchor=(0.07 + (len(legend) + 1) * _LETTER_IN / style.WIDTH_IN, 1.0),
        ncols=_legend_columns(legend, labels),
        fontsize=8,
        frameon=False,
        borderpad=0.2,
        handlelength=1.8,
        columnspacing=1.2,
    )
