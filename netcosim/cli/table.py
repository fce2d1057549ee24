"""The one table at the end of a run."""

from collections.abc import Sequence

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from netcosim.results.failure import one_line
from netcosim.results.summary import CellSummary, ModelResult, NotRun, Summary
from netcosim.results.verdict import percent
from netcosim.units import format_size

LEVEL = "PREDICT"

_TITLE = (
    "Errors of the predicted ends of streams in % of the burst's length (level PREDICT),"
    " the mean above the largest; * is the best model"
)


def print_summary(summary: Summary, console: Console) -> None:
    """Print how far each model was off in each cell, and what follows.

    A run that can't be trusted, or is incomplete, says so first and says why.
    """
    _print_warnings(summary, console)
    if not summary.cells:
        console.print("No burst was finished: there is nothing to compare.")
    models = sorted({m.model for cell in summary.cells for m in _judged(cell)})
    if models:
        console.print(_line(_TITLE))
        console.print(_table(summary.cells, summary.not_run, models))
    for cell in summary.cells:
        console.print(Text.assemble((one_line(cell.cell), "bold"), ": ", one_line(cell.verdict)))
    for other in summary.not_run:
        console.print(
            Text.assemble((one_line(other.cell), "bold"), ": not run: ", one_line(other.reason))
        )


def _print_warnings(summary: Summary, console: Console) -> None:
    if not summary.trusted:
        console.print(_line("DO NOT TRUST THESE FIGURES", "bold white on red"))
    if not summary.complete:
        console.print(_line("This run is incomplete", "bold black on yellow"))
    for reason in summary.reasons:
        console.print(_line(f"- {reason}", "red" if not summary.trusted else "yellow"))


def _table(cells: Sequence[CellSummary], not_run: Sequence[NotRun], models: Sequence[str]) -> Table:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0))
    table.add_column("workload\ntransport", overflow="fold")
    table.add_column("flow\ncontrol")
    for model in models:
        table.add_column(Text(one_line(model).replace("_", "\n")), justify="right", min_width=6)
    table.add_column("valid\nbursts", justify="right")
    for cell in cells:
        table.add_row(
            Text(f"{one_line(cell.workload)}\n{one_line(cell.transport)}"),
            _flow_control(cell),
            *(_figures(cell, model) for model in models),
            f"{cell.valid_bursts}\nof {cell.valid_bursts + cell.invalid_bursts}",
        )
    for other in not_run:
        table.add_row(
            Text(f"{one_line(other.workload)}\n{one_line(other.transport)}"),
            "-",
            *("-" for _ in models),
            "not run",
        )
    return table


def _flow_control(cell: CellSummary) -> str:
    window = "" if cell.window_bytes is None else f"\n{format_size(cell.window_bytes)}"
    return ("on" if cell.flow_control else "off") + window


def _figures(cell: CellSummary, model: str) -> Text:
    """Mean and largest error; the best model's stand out, also without colours."""
    result = next((m for m in _judged(cell) if m.model == model), None)
    if result is None:
        return Text("-")
    best = model == cell.best
    mark = "*" if best else ""
    text = f"{mark}{_number(result.wire.mean)}\n{_number(result.wire.max)}"
    return Text(text, style="bold green" if best else "")


def _judged(cell: CellSummary) -> list[ModelResult]:
    return [m for m in cell.models if m.level == LEVEL]


def _number(fraction: float) -> str:
    return percent(fraction).removesuffix(" %")


def _line(text: str, style: str = "") -> Text:
    return Text(one_line(text), style=style)
