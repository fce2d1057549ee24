"""Table of the models' errors by prediction level: PREDICT, EXPLAIN, ORACLE."""

from rich.console import Console
from rich.text import Text

from netcosim.cli.columns import Column, print_columns
from netcosim.formatting import one_line, percent
from netcosim.results.streams.summary import CellSummary, ModelResult, Summary
from netcosim.trace import LEVELS, PREDICT

_TITLE = (
    "By level: order error, and time error on the clock of link work, in % of the burst's length"
    " and (2nd) relative to the stream's end after the first tenth"
)
_HEADINGS = (
    *("", "level", "order\nmean", "order\nmax", "time\nmean", "time\nmax"),
    *("2nd\nmean", "2nd\nmax", "order\nexact"),
)
_RANKS = (0, 0, 0, 1, 0, 2, 4, 5, 3)
"""Which columns a narrow terminal is shown without, the highest first."""


def print_levels(summary: Summary, console: Console) -> None:
    """Print the errors of each model that was scored at more than the PREDICT level."""
    rows = [row for cell in summary.cells for row in _rows(cell)]
    if not rows:
        return
    console.print(_TITLE, highlight=False, markup=False)
    columns = zip(_HEADINGS, _RANKS, zip(*rows, strict=True), strict=True)
    print_columns(
        [
            Column(
                heading=heading,
                cells=cells,
                rank=rank,
                justify="left" if place < 2 else "right",
                folds=place == 0,
            )
            for place, (heading, rank, cells) in enumerate(columns)
        ],
        console,
    )


def _rows(cell: CellSummary) -> list[list[str | Text]]:
    """Rows of a cell: its name, then each model's levels; none if PREDICT alone was scored."""
    asked = {m.model for m in cell.models if m.level != PREDICT}
    if not asked:
        return []
    found: list[list[str | Text]] = [
        [Text(one_line(cell.cell), style="bold"), *[""] * (len(_HEADINGS) - 1)]
    ]
    for row in sorted(
        (m for m in cell.models if m.model in asked),
        key=lambda m: (m.model, LEVELS.index(m.level)),
    ):
        name = f"  {one_line(row.model)}" if row.level == PREDICT else ""
        found.append([Text(name), row.level, *_figures(row)])
    return found


def _figures(result: ModelResult) -> list[str]:
    order, wire, late = result.order, result.wire, result.wire_secondary
    shown = (order.mean, order.max, wire.mean, wire.max, late.mean, late.max)
    numbers = [percent(value).removesuffix(" %") for value in shown]
    return [*numbers, f"{result.orders_equal} of {result.bursts}"]
