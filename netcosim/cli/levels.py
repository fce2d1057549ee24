"""Table of the models' errors by prediction level: PREDICT, EXPLAIN, ORACLE."""

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

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


def print_levels(summary: Summary, console: Console) -> None:
    """Print the errors of each model that was scored at more than the PREDICT level."""
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0))
    for place, heading in enumerate(_HEADINGS):
        table.add_column(heading, justify="left" if place < 2 else "right", no_wrap=place > 0)
    for cell in summary.cells:
        _add(table, cell)
    if table.row_count:
        console.print(_TITLE, highlight=False, markup=False)
        console.print(table)


def _add(table: Table, cell: CellSummary) -> None:
    asked = {m.model for m in cell.models if m.level != PREDICT}
    if asked:
        table.add_row(Text(one_line(cell.cell), style="bold"))
    rows = sorted(
        (m for m in cell.models if m.model in asked),
        key=lambda m: (m.model, LEVELS.index(m.level)),
    )
    for row in rows:
        name = f"  {one_line(row.model)}" if row.level == PREDICT else ""
        table.add_row(Text(name), row.level, *_figures(row))


def _figures(result: ModelResult) -> list[str]:
    order, wire, late = result.order, result.wire, result.wire_secondary
    shown = (order.mean, order.max, wire.mean, wire.max, late.mean, late.max)
    numbers = [percent(value).removesuffix(" %") for value in shown]
    return [*numbers, f"{result.orders_equal} of {result.bursts}"]
