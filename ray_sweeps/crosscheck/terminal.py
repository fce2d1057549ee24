"""Tables of a cross-check in the terminal."""

from collections.abc import Sequence
from pathlib import Path
from typing import Final

from rich.console import Console
from rich.text import Text

from netcosim.cli.columns import Column, print_columns
from netcosim.formatting import one_line, percent
from ray_sweeps.crosscheck.record import Cell, Crosscheck, ErrorsOf
from ray_sweeps.crosscheck.summary import GROUPS
from ray_sweeps.crosscheck.wording import beside_text, counted, headline, signed_percent

_TITLE = (
    "Errors of simulated ends: time, in % of the burst's length on the clock of link work; order,"
    " in % of the connection's bytes; end, of the burst's last end; + is late. exact: bursts in"
    " exactly the predicted order"
)
HEADINGS: Final = (
    *("cells", "bursts", "exact", "streams", "time\nmean", "median", "p95", "p99", "max", "+-"),
    *("order\nmean", "order\nmax", "end\nmean", "+-"),
)
_RANKS: Final = (4, 2, 3, 5, 0, 6, 1, 7, 1, 2, 0, 8, 2, 3)
"""Ranks of columns that a narrow terminal is shown without, the highest first."""

_CELLS_TITLE = (
    "By cell: the simulator, and beside it the emulator's own model of the same discipline as it is"
    " stored; time and order, mean in %"
)


def print_crosscheck(found: Crosscheck, console: Console, *, cells: bool) -> None:
    """Print errors by group, what was not compared, and on request all cells."""
    console.print(_line(headline(found)))
    if found.beside is not None:
        console.print(_line(beside_text(found.beside)))
    if found.errors is not None:
        console.print(_line(_TITLE))
        _print_groups(found, console)
    if cells and found.cells:
        console.print(_line(_CELLS_TITLE))
        _print_cells(found.cells, console)
    if found.not_compared:
        console.print(_line("Not compared:"))
    for each in found.not_compared:
        apart = ""
        if each.simulated is not None:
            time, order = each.simulated.time.mean, each.simulated.order.mean
            apart = (
                " Simulated all the same, and counted nowhere:"
                f" time {percent(time)}, order {percent(order)} on average."
            )
        many = f"{counted(each.bursts, 'burst')} of {counted(each.cells, 'cell')}"
        console.print(_line(f"  {many}: {each.text}.{apart}"))
        console.print(_line(f"    such as {each.example}"))


def figures(errors: ErrorsOf) -> list[str]:
    """Figures of a row, under the headings of the table."""
    time = errors.time
    return [
        str(errors.cells),
        str(errors.bursts),
        str(errors.orders_equal),
        str(time.count),
        *(percent(value) for value in (time.mean, time.median, time.p95, time.p99, time.max)),
        signed_percent(errors.bias),
        percent(errors.order.mean),
        percent(errors.order.max),
        percent(errors.end.mean),
        signed_percent(errors.end_bias),
    ]


def _print_groups(found: Crosscheck, console: Console) -> None:
    rows: list[list[str | Text]] = []
    if found.errors is not None:
        rows.append([Text("all", style="bold"), *figures(found.errors)])
    for by in GROUPS:
        rows.append([Text(by, style="bold"), *[""] * len(HEADINGS)])
        rows += [
            [Text(f"  {one_line(group.value)}"), *figures(group.errors)]
            for group in found.groups
            if group.by == by
        ]
    _print_rows(("", *HEADINGS), (0, *_RANKS), rows, console)


def _print_cells(cells: Sequence[Cell], console: Console) -> None:
    rows: list[list[str | Text]] = []
    for cell in cells:
        errors, stored = cell.errors, cell.stored
        name = f"{Path(cell.run).name}: {cell.cell}"
        mine = ["-"] * 4
        if errors is not None:
            mine = [
                *(percent(errors.time.mean), signed_percent(errors.bias)),
                *(percent(errors.order.mean), percent(errors.end.mean)),
            ]
        theirs = ["-", "-", "not stored"]
        if stored is not None:
            theirs = [percent(stored.time), percent(stored.order), stored.model]
        compared = sum(burst.compared for burst in cell.bursts)
        rows.append([Text(one_line(name)), f"{compared} of {len(cell.bursts)}", *mine, *theirs])
    headings = ("", "bursts", "time", "+-", "order", "end", "stored\ntime", "order", "model")
    _print_rows(headings, (0, 3, 0, 2, 0, 1, 0, 0, 4), rows, console)


def _print_rows(
    headings: Sequence[str],
    ranks: Sequence[int],
    rows: Sequence[Sequence[str | Text]],
    console: Console,
) -> None:
    print_columns(
        [
            Column(
                heading=heading,
                cells=cells,
                rank=rank,
                justify="left" if place == 0 else "right",
                folds=place == 0,
            )
            for place, (heading, rank, cells) in enumerate(
                zip(headings, ranks, zip(*rows, strict=True), strict=True)
            )
        ],
        console,
    )


def _line(text: str) -> Text:
    return Text(one_line(text) if not text.startswith(" ") else text)
