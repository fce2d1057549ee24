"""A comparison of two runs as text: scenario, tables of figures, a last line."""

import re
from collections.abc import Sequence
from typing import Final

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from netcosim.formatting import one_line, percent
from netcosim.results.training.findings import signed
from netcosim.scoring.differences.records import (
    CellChange,
    Change,
    Comparison,
    Counts,
    EndChange,
    Ends,
    FieldChange,
    FigureChange,
    LinkChange,
    PointChange,
    SeriesChange,
    Side,
    WorldsCell,
)

_WORLDS: Final = {"emu": "emulation", "sim": "simulation"}
_BY_CHANCE: Final = 0.05
_SHA_256: Final = re.compile("[0-9a-f]{64}")


def print_comparison(found: Comparison, console: Console) -> None:
    """Print a comparison; a star marks what is beyond its interval, or differs and has none."""
    for name, side in (("A", found.a), ("B", found.b)):
        console.print(_line(f"{name}  {_side(side)}"))
        if not (side.complete and side.trusted):
            why = "DO NOT TRUST ITS FIGURES" if not side.trusted else "incomplete"
            console.print(_line(f"   {why}: its summary.json says why", "yellow"))
    _print_fields("scenario", found.scenario, console)
    if found.training is not None:
        _print_engines(found, console)
    _print_fields("versions", found.versions, console)
    for name, cells in (("A", found.cells_only_a), ("B", found.cells_only_b)):
        if cells:
            console.print(_line(f"only in {name}: {', '.join(cells)}"))
    console.print()
    if found.training is not None:
        for series in found.training.series:
            _print_series(series, console)
    if found.emulation is not None:
        for cell in found.emulation.cells:
            _print_cell(cell, console)
        _print_links(found.emulation.links, console)
    if found.worlds is not None:
        for each in found.worlds.cells:
            _print_worlds_cell(each, console)
        console.print(_line(found.worlds.not_compared))
    console.print(_line(_last(found), "bold"))


def _side(side: Side) -> str:
    return f"{side.path}  ({_WORLDS[side.world]} {side.scenario}, seed {side.seed})"


def _print_fields(what: str, changes: Sequence[FieldChange], console: Console) -> None:
    if not changes:
        console.print(_line(f"{what}: no difference"))
        return
    console.print(_line(f"{what}:"))
    for change in changes:
        before, after = (_short(one) for one in (change.a, change.b))
        console.print(_line(f"  {change.field}: {before} -> {after}", indent=2))


def _short(value: str | None) -> str:
    """A field's value; of a SHA-256 the first digits."""
    if value is None:
        return "(not set)"
    return f"{value[:12]}..." if _SHA_256.fullmatch(value) else value


def _print_engines(found: Comparison, console: Console) -> None:
    if found.a.engine == found.b.engine:
        console.print(_line("engine: the same source"))
    else:
        console.print(_line(f"engine: {found.a.engine} -> {found.b.engine}"))


def _print_series(series: SeriesChange, console: Console) -> None:
    console.print(_line(series.cell, "bold"))
    if series.points:
        table = _table("workers", "A", "B", "change", "+-", "", left="bottleneck")
        for point in series.points:
            table.add_row(*_point(point))
        console.print(table)
        console.print(_line(f"Examples/s; {_methods(series)}."))
    for name, workers in (("A", series.workers_only_a), ("B", series.workers_only_b)):
        if workers:
            console.print(_line(f"Only in {name}: {', '.join(map(str, workers))} workers."))
    early = [p.workers for p in series.points if not (p.steady_a and p.steady_b)]
    if early:
        named = ", ".join(map(str, early))
        console.print(_line(f"With {named} workers some run had not settled by half of its time."))
    console.print(_line(f"Saturation: {_saturation(series)}."))
    console.print()


def _point(point: PointChange) -> tuple[str, ...]:
    change = point.examples_per_s
    return (
        str(point.workers),
        f"{change.a:.5g}",
        f"{change.b:.5g}",
        *_relative(change),
        _moved(point.bottleneck_a, point.bottleneck_b),
    )


def _relative(change: Change) -> tuple[str, str, str]:
    """Change, its half-width, and the mark."""
    share = "-" if change.share is None else signed(change.share)
    half = "-" if change.share_half_width is None else percent(change.share_half_width)
    return share, half, "*" if change.beyond else ""


def _methods(series: SeriesChange) -> str:
    said = {
        "paired": "intervals are of paired differences, as run i of both drew the same random"
        " numbers",
        "welch": "intervals are Welch's, of independent runs",
        "none": "a single run has no interval: any difference is marked",
    }
    used = dict.fromkeys(point.examples_per_s.method for point in series.points)
    return "; ".join(said[method] for method in used)


def _saturation(series: SeriesChange) -> str:
    named = [
        "not reached" if workers is None else f"from {workers} workers on"
        for workers in (series.saturation_a, series.saturation_b)
    ]
    return _moved(*named)


def _moved(before: str, after: str) -> str:
    return before if before == after else f"{before} -> {after}"


def _print_cell(cell: CellChange, console: Console) -> None:
    console.print(_line(cell.cell, "bold"))
    grades = _moved(cell.grade_a or "-", cell.grade_b or "-")
    judged = _moved(str(cell.bursts_a), str(cell.bursts_b))
    mark = " *" if cell.other_rule else ""
    console.print(_line(f"{_moved(cell.answer_a, cell.answer_b)}{mark}"))
    console.print(_line(f"{judged} judged bursts, grade {grades}"))
    if cell.figures:
        table = _table("figure", "A", "B", "change", "+-", "")
        table.columns[0].justify = "left"
        for figure in cell.figures:
            table.add_row(*_figure(figure))
        console.print(table)
    _print_ends(cell.ends, console)
    console.print()


def _figure(figure: FigureChange) -> tuple[str, ...]:
    named = figure.figure if figure.model is None else f"{figure.figure}, {figure.model}"
    change = figure.change
    return (
        named,
        _value(change.a, figure.unit),
        _value(change.b, figure.unit),
        *(_points(change) if figure.unit == "share" else _relative(change)),
    )


def _points(change: Change) -> tuple[str, str, str]:
    """The same of a share, in percentage points."""
    half = "-" if change.half_width is None else percent(change.half_width)
    share = signed(change.difference)
    mark = "*" if change.beyond else ""
    return share.replace(" %", " points"), half.replace(" %", " points"), mark


def _value(value: float, unit: str) -> str:
    if unit == "share":
        return percent(value)
    return f"{value / 1e6:.5g} {'ms' if unit == 'ns' else 'Mbit/s'}"


def _print_ends(ends: Ends, console: Console) -> None:
    counted = len(ends.streams)
    if counted:
        console.print(
            _line(
                f"{counted} streams in both; the ends of {_ends(ends.found)}"
                f"{_largest(ends.streams)}."
            )
        )
    for name, count in (("A", ends.only_a), ("B", ends.only_b)):
        if count:
            console.print(_line(f"{count} streams are only in {name}."))


def _ends(found: Counts) -> str:
    """Sentence with the number of ends that differ."""
    counted = found.compared - found.without_interval
    parts = []
    if counted:
        chance = f"{_BY_CHANCE * counted:.3g} would be by chance"
        parts.append(f"{found.beyond} are beyond their intervals ({chance})")
    if found.without_interval:
        parts.append(f"{found.unequal} differ, without an interval")
    return ", of ".join(parts)


def _largest(streams: Sequence[EndChange]) -> str:
    stream = max(streams, key=lambda stream: abs(stream.end_ns.difference))
    change = stream.end_ns
    if not change.difference:
        return ""
    half = "" if change.half_width is None else f" +- {change.half_width / 1e6:.3g}"
    return (
        f"; the largest difference is of {stream.tensor} ({stream.source} to {stream.destination}):"
        f" {_value(change.a, 'ns')} -> {_value(change.b, 'ns')}"
        f" ({change.difference / 1e6:+.3g}{half} ms)"
    )


def _print_links(links: Sequence[LinkChange], console: Console) -> None:
    if not links:
        return
    console.print(_line("Measured before the run:"))
    table = _table("path", "A", "B", "change")
    table.columns[0].justify = "left"
    for link in links:
        share = "-" if not link.a_bps else signed(link.b_bps / link.a_bps - 1)
        table.add_row(
            one_line(f"{link.path} {link.direction}"),
            _value(link.a_bps, "bps"),
            _value(link.b_bps, "bps"),
            share,
        )
    console.print(table)


def _print_worlds_cell(cell: WorldsCell, console: Console) -> None:
    console.print(_line(cell.cell, "bold"))
    console.print(
        _line(
            f"Order error {percent(cell.order_mean)} on average, at most {percent(cell.order_max)};"
            f" exactly the same order in {cell.orders_equal} of {cell.bursts} bursts."
        )
    )
    console.print(
        _line(
            f"Time error {percent(cell.time_mean)} of the burst on average, at most"
            f" {percent(cell.time_max)}."
        )
    )
    change = cell.length_ns
    share, half, mark = _relative(change)
    console.print(
        _line(
            f"Burst length {_value(change.a, 'ns')} -> {_value(change.b, 'ns')}:"
            f" {share} +- {half}{' *' if mark else ''}."
        )
    )
    _print_ends(cell.ends, console)
    console.print()


def _last(found: Comparison) -> str:
    if not found.compared:
        return "No figure is in both."
    counted = found.compared - found.without_interval
    said = []
    if counted:
        said.append(
            f"{found.beyond} of {counted} figures are beyond their 95 % intervals (*); chance alone"
            " takes one in twenty beyond."
        )
    if found.without_interval and not found.unequal:
        said.append(f"0 of {found.without_interval} figures that have no interval differ.")
    elif found.without_interval:
        said.append(
            f"{found.unequal} of {found.without_interval} figures differ (*) and have no interval,"
            " as A or B has a single value: whether chance explains them is not known."
        )
    return " ".join(said)


def _table(*headings: str, left: str | None = None) -> Table:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0))
    for heading in headings:
        table.add_column(heading, justify="right")
    if left is not None:
        table.add_column(left, overflow="fold")
    return table


def _line(text: str, style: str = "", *, indent: int = 0) -> Text:
    return Text(" " * indent + one_line(text), style=style)
