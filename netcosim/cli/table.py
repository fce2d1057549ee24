"""Summary tables that are printed at the end of a run."""

from collections.abc import Sequence
from pathlib import Path

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from netcosim.formatting import escaped, one_line, percent
from netcosim.results.streams.summary import CellSummary, ModelResult, NotRun, Summary
from netcosim.results.training.bottleneck import bottleneck
from netcosim.results.training.findings import (
    comparisons,
    deviations,
    findings,
    formulas_note,
    interval,
    rate_text,
    signed,
    speed_up,
)
from netcosim.results.training.summary import Series, TrainingSummary
from netcosim.scoring.first_bursts import counted, first_differs
from netcosim.trace import PREDICT
from netcosim.units import format_size

_TITLE = (
    "Order errors (level PREDICT): where in its connection's bytes a stream ends, predicted against"
    " measured, in %; the mean above the largest; * is nearest. time: of that model, in % of the"
    " burst's length, without recorded pauses. Decisive bursts exclude every other model"
)


def print_summary(summary: Summary, console: Console) -> None:
    """Print the errors of each model in each cell, and the verdicts.

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


def print_training(summary: TrainingSummary, console: Console) -> None:
    """Print throughput and bottleneck by number of workers, formulas' deviations, and findings.

    A run that can't be trusted, or is incomplete, says so first and says why.
    """
    _print_warnings(summary, console)
    if not any(series.points for series in summary.series):
        console.print("No run was finished: there is nothing to show.")
    for series in summary.series:
        console.print(Text(one_line(series.cell), "bold"))
        if series.points:
            console.print(_scaling(series))
            _print_formulas(series, console)
        for sentence in findings(series):
            console.print(_line(sentence))
        console.print()
    for sentence in comparisons(summary):
        console.print(_line(sentence, "bold"))


def print_path(title: str, path: Path) -> None:
    """Print where something was written, on one line however long it is."""
    line = escaped(f"{title}: {path}")
    Console(highlight=False).print(line, markup=False, soft_wrap=True)


def _scaling(series: Series) -> Table:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0))
    for heading in ("workers", "examples/s", "steps/s", "speed-up", "efficiency"):
        table.add_column(heading, justify="right")
    table.add_column("bottleneck", overflow="fold")
    for point in series.points:
        full = series.saturation is not None and point.workers == series.saturation.workers
        gain = speed_up(point, series.alone)
        short = bottleneck(point)
        table.add_row(
            f"{'*' if full else ''}{point.workers}",
            interval(point.examples_per_s),
            rate_text(point.steps_per_s.mean),
            f"{gain:.2f}",
            f"{100 * gain / point.workers:.0f} %",
            "-" if short.name == "none" else f"{short.name} {100 * short.share:.0f} %",
            style="bold" if full else "",
        )
    return table


def _print_formulas(series: Series, console: Console) -> None:
    """Print the deviation of each formula, where there is one that has an answer."""
    found = [(point, deviations(point)) for point in series.points]
    names = sorted({name for _, off in found for name in off})
    if not names:
        return
    console.print(_line("Steps per second by formulas, against the simulation's:"))
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 2, 0, 0))
    table.add_column("workers", justify="right")
    for name in names:
        table.add_column(Text(one_line(name).replace("_", "\n")), justify="right")
    for point, off in found:
        shown = (signed(off[name]) if name in off else "-" for name in names)
        table.add_row(str(point.workers), *shown)
    console.print(table)
    note = formulas_note(series)
    if note is not None:
        console.print(_line(note))


def _print_warnings(summary: Summary | TrainingSummary, console: Console) -> None:
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
    table.add_column("time", justify="right")
    table.add_column("decisive\nbursts,\ngrade", justify="right")
    for cell in cells:
        table.add_row(
            Text(f"{one_line(cell.workload)}\n{one_line(cell.transport)}{_unstudied(cell)}"),
            _flow_control(cell),
            *(_figures(cell, model) for model in models),
            _time(cell),
            f"{cell.answer.agreeing} of {cell.answer.bursts}\n{cell.grade or '-'}",
        )
    for other in not_run:
        table.add_row(
            Text(f"{one_line(other.workload)}\n{one_line(other.transport)}"),
            "-",
            *("-" for _ in models),
            "-",
            "not run",
        )
    return table


def _unstudied(cell: CellSummary) -> str:
    return "\nnot studied" if cell.not_studied else ""


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
    named = next((m for m in _judged(cell) if m.model == cell.best), result)
    order = counted(result, later=first_differs(named))
    text = f"{mark}{_number(order.mean)}\n{_number(order.max)}"
    return Text(text, style="bold green" if best else "")


def _time(cell: CellSummary) -> str:
    """Mean and largest time error of the nearest model; nothing where only the order counts."""
    result = next((m for m in _judged(cell) if m.model == cell.best), None)
    if result is None or cell.grade == "C":
        return "-"
    return f"{_number(result.wire.mean)}\n{_number(result.wire.max)}"


def _judged(cell: CellSummary) -> list[ModelResult]:
    return [m for m in cell.models if m.level == PREDICT]


def _number(fraction: float) -> str:
    return percent(fraction).removesuffix(" %")


def _line(text: str, style: str = "") -> Text:
    return Text(one_line(text), style=style)
