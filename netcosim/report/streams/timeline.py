"""The service timeline of one burst: when each stream was on the wire, measured and predicted."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from netcosim.formatting import short_size
from netcosim.report import style
from netcosim.report.streams.data import CellData
from netcosim.results.streams.coarsen import merge_close
from netcosim.trace import StreamRow

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MAX_LABELS: Final = 40
_PIXELS: Final = 2000
_SHOWN_CUT_NS: Final = 500_000
_LABEL_CHARACTERS: Final = 34

Bar = tuple[float, float]


def timeline_png(cell: CellData, colours: dict[str, str]) -> bytes | None:
    """Draw the timeline as PNG; None if the cell has no burst."""
    rows = _sorted(cell.shown_burst())
    if not rows:
        return None
    height = min(9.0, max(1.7, 0.24 * len(rows))) + 1.1
    figure = style.new_figure(style.WIDTH_IN, height)
    several = len({row.connection for row in rows}) > 1
    labels = [_label(row, several=several) for row in rows]
    left = 0.03 + 0.0081 * max(map(len, labels))
    axes = figure.add_axes((left, 0.48 / height, 0.985 - left, 1 - 1.0 / height))
    cut_ns = cell.cut_ns.get(rows[0].burst, 0)
    flag = f", {cut_ns / 1e6:.0f} ms of pauses cut out" if cut_ns >= _SHOWN_CUT_NS else ""
    flag += "" if all(row.valid for row in rows) else f", {cell.nothing_judged.upper()}"
    name = style.shortened(cell.name, 40)
    title = f"{name}: streams on the wire, burst {rows[0].burst}{flag}"
    style.tidy(axes, plain(title), legend_above=True)
    axes.locator_params(axis="x", nbins=10)
    axes.grid(visible=False, axis="y")
    _label_rows(axes, labels)
    _draw(axes, cell, rows, colours)
    return style.png(figure)


def _sorted(rows: Sequence[StreamRow]) -> list[StreamRow]:
    return sorted(rows, key=lambda row: (row.connection, row.stream))


def _draw(axes: "Axes", cell: CellData, rows: Sequence[StreamRow], colours: dict[str, str]) -> None:
    length_ns = max(row.wire_end_ns for row in rows)
    places = {(row.connection, row.stream): place for place, row in enumerate(rows)}
    predicted = [
        (places[row.connection, row.stream], row)
        for row in cell.predicted
        if row.model == cell.best
        and row.burst == rows[0].burst
        and (row.connection, row.stream) in places
    ]
    _stalls(axes, list(enumerate(rows)))
    _bars(axes, list(enumerate(rows)), -0.4, 0.5, style.MEASURED, length_ns)
    if predicted and cell.best is not None:
        _bars(axes, predicted, 0.14, 0.26, colours[cell.best], length_ns)
    axes.plot(
        [row.ready_ns / 1e6 for row in rows],
        range(len(rows)),
        linestyle="none",
        marker="|",
        markersize=max(2.0, min(7.0, 240 / len(rows))),
        color="#111111",
        label="handed over",
    )
    end_ns = max([length_ns, *(row.wire_end_ns for _, row in predicted)])
    axes.set_ylim(len(rows) - 0.4, -0.6)
    axes.set_xlim(-0.005 * end_ns / 1e6, 1.01 * end_ns / 1e6)
    axes.set_xlabel("time since the burst's first request, ms")
    _legend(axes, rows, cell.best if predicted else None, colours)


def _bars(
    axes: "Axes",
    placed: Sequence[tuple[int, StreamRow]],
    offset: float,
    height: float,
    colour: str,
    length_ns: int,
) -> None:
    from matplotlib.collections import PolyCollection

    boxes = [
        _box(place + offset, height, service.start_ns, service.end_ns)
        for place, row in placed
        for service in merge_close(row.services, length_ns // _PIXELS)
    ]
    # The line keeps intervals visible that are narrower than a pixel.
    axes.add_collection(PolyCollection(boxes, facecolors=colour, edgecolors=colour, linewidths=0.4))


def _stalls(axes: "Axes", placed: Sequence[tuple[int, StreamRow]]) -> None:
    from matplotlib.collections import PolyCollection

    boxes = [
        _box(place - 0.32, 0.34, stall.start_ns, stall.end_ns)
        for place, row in placed
        for stall in row.stalls
    ]
    axes.add_collection(
        PolyCollection(
            boxes, facecolors="#f4f5f6", edgecolors=style.STALL, hatch="////", linewidths=0.3
        )
    )


def _box(bottom: float, height: float, start_ns: int, end_ns: int) -> list[Bar]:
    left, right, top = start_ns / 1e6, end_ns / 1e6, bottom + height
    return [(left, bottom), (left, top), (right, top), (right, bottom)]


def _label_rows(axes: "Axes", labels: Sequence[str]) -> None:
    """A label for each row, or for every second, third ... as far as there is room."""
    places = range(0, len(labels), -(-len(labels) // MAX_LABELS))
    axes.set_yticks(places, [labels[place] for place in places])


def _label(row: StreamRow, *, several: bool) -> str:
    where = f"c{row.connection} s{row.stream}" if several else f"{row.stream}"
    name = row.tensor
    if len(name) > _LABEL_CHARACTERS - 12:
        name = ".." + name[-(_LABEL_CHARACTERS - 14) :]
    return plain(f"{where}  {name}  {short_size(row.size_bytes)}")


def _legend(
    axes: "Axes", rows: Sequence[StreamRow], model: str | None, colours: dict[str, str]
) -> None:
    """Draw the legend; `model` is the one whose prediction is drawn, if any is."""
    from matplotlib.patches import Patch

    handles = [Patch(facecolor=style.MEASURED, label="measured")]
    if model is not None:
        handles.append(Patch(facecolor=colours[model], label=plain(f"predicted by {model}")))
    if any(row.stalls for row in rows):
        handles.append(
            Patch(facecolor="#f4f5f6", edgecolor=style.STALL, hatch="////", label="no credit")
        )
    marks = axes.get_lines()
    axes.legend(
        handles=[*handles, *marks],
        loc="lower right",
        bbox_to_anchor=(1.0, 1.0),
        borderaxespad=0.1,
        ncols=4,
        fontsize=8,
        frameon=False,
    )


def plain(text: str) -> str:
    """Text escaped for matplotlib, with the characters that its own fonts have."""
    printable = "".join(c if c.isascii() and c.isprintable() else "?" for c in text)
    return printable.replace("$", r"\$")
