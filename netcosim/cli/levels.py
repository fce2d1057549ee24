"""A table of what each level of knowledge buys: PREDICT, EXPLAIN, ORACLE."""

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from netcosim.results.failure import one_line
from netcosim.results.summary import CellSummary, ModelResult, Summary
from netcosim.results.verdict import percent

_TITLE = (
    "By level: |predicted - measured| wire end in % of the burst's length (primary), and relative"
    " to the stream's end after the first tenth (secondary)"
)
_HEADINGS = ("cell", "model", "level", "mean", "p99", "max", "2nd mean", "2nd max", "order exact")


def print_levels(summary: Summary, console: Console) -> None:
    """Print the errors of each model that was asked at more than one level."""
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0))
    for place, heading in enumerate(_HEADINGS):
        table.add_column(heading, justify="left" if place < 3 else "right", overflow="fold")
    for cell in summary.cells:
        _add(table, cell)
    if table.row_count:
        console.print(_TITLE, highlight=False, markup=False)
        console.print(table)


def _add(table: Table, cell: CellSummary) -> None:
    asked = {m.model for m in cell.models if m.level != "PREDICT"}
    rows = sorted(
        (m for m in cell.models if m.model in asked),
        key=lambda m: (m.model, ("PREDICT", "EXPLAIN", "ORACLE").index(m.level)),
    )
    for place, row in enumerate(rows):
        name = one_line(cell.cell) if place == 0 else ""
        table.add_row(Text(name), Text(one_line(row.model)), row.level, *_figures(row))


def _figures(result: ModelResult) -> list[str]:
    wire, late = result.wire, result.wire_secondary
    shown = (wire.mean, wire.p99, wire.max, late.mean, late.max)
    return [percent(v).removesuffix(" %") for v in shown] + [
        f"{result.orders_equal} of {result.bursts}"
    ]
