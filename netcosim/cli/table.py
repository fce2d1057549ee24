"""Summary tables that are printed at the end of a run."""

from collections.abc import Sequence
from pathlib import Path

from rich.console import Console
from rich.text import Text

from netcosim.cli.columns import Column, print_columns
from netcosim.formatting import escaped, one_line, percent
from netcosim.results.streams.summary import CellSummary, ModelResult, NotRun, Summary
from netcosim.results.training.bottleneck import bottleneck
from netcosim.results.training.findings import (
    best_first,
    change_text,
    comparisons,
    deviations,
    formulas_note,
    interval,
    observed,
    rate_text,
    recommended,
    remark,
    signed,
    speed_up,
)
from netcosim.results.training.summary import Recommendation, Series, TrainingSummary
from netcosim.scoring.first_bursts import counted, counted_times, first_differs
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
        _print_errors(summary.cells, summary.not_run, models, console)
    for cell in summary.cells:
        console.print(Text.assemble((one_line(cell.cell), "bold"), ": ", one_line(cell.verdict)))
    for other in summary.not_run:
        console.print(
            Text.assemble((one_line(other.cell), "bold"), ": not run: ", one_line(other.reason))
        )


def print_training(summary: TrainingSummary, console: Console) -> None:
    """Print recommendation, throughput and bottleneck by number of workers, formulas, findings.

    A run that can't be trusted, or is incomplete, says so first and says why.
    """
    _print_warnings(summary, console)
    if not any(series.points for series in summary.series):
        console.print("No run was finished: there is nothing to show.")
    for series in summary.series:
        console.print(Text(one_line(series.cell), "bold"))
        for sentence in recommended(series):
            console.print(_line(sentence))
        if series.recommendation is not None:
            _print_changes(series.recommendation, console)
        if series.points:
            _print_scaling(series, console)
            _print_formulas(series, console)
        for sentence in observed(series):
            console.print(_line(sentence))
        console.print()
    for sentence in comparisons(summary):
        console.print(_line(sentence, "bold"))


def print_path(title: str, path: Path) -> None:
    """Print where something was written, on one line however long it is."""
    line = escaped(f"{title}: {path}")
    Console(highlight=False).print(line, markup=False, soft_wrap=True)


def _print_changes(found: Recommendation, console: Console) -> None:
    """Print what one step more of each thing changes, the best first."""
    changes = best_first(found.changes)
    if not changes:
        return
    names = ["as recommended", *(one_line(change_text(one)) for one in changes)]
    rates = [found.examples_per_s, *(one.examples_per_s for one in changes)]
    gains = ["", *(signed(one.gain) for one in changes)]
    remarks = ["", *map(remark, changes)]
    shown = [
        Column(heading="one step more", cells=names, justify="left", folds=True),
        Column(heading="examples/s", cells=[interval(rate) for rate in rates]),
        Column(heading="change", cells=gains),
    ]
    if any(remarks):
        shown.append(Column(heading="", cells=remarks, justify="left", folds=True))
    print_columns(shown, console)


def _print_scaling(series: Series, console: Console) -> None:
    """Print a row for each number of workers; in a narrow terminal without some columns."""
    full = None if series.saturation is None else series.saturation.workers
    knee = [point.workers == full for point in series.points]
    gains = [speed_up(point, series.alone) for point in series.points]
    pairs = list(zip(series.points, gains, strict=True))
    shorts = [bottleneck(point) for point in series.points]
    print_columns(
        [
            Column(
                heading="workers",
                cells=[
                    f"{'*' if k else ''}{p.workers}"
                    for p, k in zip(series.points, knee, strict=True)
                ],
            ),
            Column(heading="examples/s", cells=[interval(p.examples_per_s) for p in series.points]),
            Column(
                heading="steps/s",
                cells=[rate_text(p.steps_per_s.mean) for p in series.points],
                rank=4,
            ),
            *_as_measured(series),
            *_ignored(series),
            Column(heading="speed-up", cells=[f"{gain:.2f}" for gain in gains], rank=2),
            Column(
                heading="efficiency",
                cells=[f"{100 * gain / p.workers:.0f} %" for p, gain in pairs],
                rank=3,
            ),
            Column(
                heading="bottleneck",
                cells=[
                    "-" if s.name == "none" else f"{s.name} {100 * s.share:.0f} %" for s in shorts
                ],
                rank=1,
                justify="left",
            ),
        ],
        console,
        styles=["bold" if marked else "" for marked in knee],
    )


def _as_measured(series: Series) -> list[Column]:
    """Column of the rates that a short measurement would give, where the scenario has one."""
    found = [point.as_measured for point in series.points]
    if not any(found):
        return []
    cells = ["-" if one is None else interval(one.examples_per_s) for one in found]
    return [Column(heading="as measured", cells=cells, rank=1)]


def _ignored(series: Series) -> list[Column]:
    """Column of the steps whose gradients came too late, where servers join them and some did."""
    found = [point.joined for point in series.points]
    if not any(joined is not None and joined.ignored > 0 for joined in found):
        return []
    cells = ["-" if joined is None else f"{100 * joined.ignored:.0f} %" for joined in found]
    return [Column(heading="ignored", cells=cells, rank=2)]


def _print_formulas(series: Series, console: Console) -> None:
    """Print the deviation of each formula, where there is one that has an answer."""
    found = [(point, deviations(point)) for point in series.points]
    names = sorted({name for _, off in found for name in off})
    if not names:
        return
    console.print(_line("Steps per second by formulas, against the simulation's:"))
    workers = Column(heading="workers", cells=[str(point.workers) for point, _ in found])
    formulas = [
        Column(
            heading=one_line(name).replace("_", "\n"),
            cells=[signed(off[name]) if name in off else "-" for _, off in found],
            rank=1,
        )
        for name in names
    ]
    print_columns([workers, *formulas], console, gap=2)
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


def _print_errors(
    cells: Sequence[CellSummary], not_run: Sequence[NotRun], models: Sequence[str], console: Console
) -> None:
    """Print the errors of all models; in a narrow terminal without those that are nearest nowhere.

    Cells that were not run have rows without figures.
    """
    none = ["-" for _ in not_run]
    nearest = {cell.best for cell in cells}
    named = [f"{one_line(c.workload)}\n{one_line(c.transport)}{_unstudied(c)}" for c in cells]
    named += [f"{one_line(other.workload)}\n{one_line(other.transport)}" for other in not_run]
    errors = [
        Column(
            heading=one_line(model).replace("_", "\n"),
            cells=[*(_figures(cell, model) for cell in cells), *none],
            rank=1 if model in nearest else 4,
        )
        for model in models
    ]
    print_columns(
        [
            Column(heading="workload\ntransport", cells=named, justify="left", folds=True),
            Column(
                heading="flow\ncontrol",
                cells=[*(_flow_control(cell) for cell in cells), *none],
                rank=3,
                justify="left",
            ),
            *errors,
            Column(heading="time", cells=[*map(_time, cells), *none], rank=2),
            Column(
                heading="decisive\nbursts,\ngrade",
                cells=[*map(_decisive, cells), *("not run" for _ in not_run)],
            ),
        ],
        console,
    )


def _decisive(cell: CellSummary) -> str:
    """Decisive bursts among the judged ones, and the grade; or why there are none."""
    if not cell.judged_bursts:
        return "none\njudged" if cell.shown_bursts else "none\nvalid"
    return f"{cell.answer.agreeing} of {cell.answer.bursts}\n{cell.grade or '-'}"


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
    """Mean and largest time error of the nearest model, where bursts are judged and times count."""
    result = next((m for m in _judged(cell) if m.model == cell.best), None)
    if result is None or cell.grade == "C" or not cell.judged_bursts:
        return "-"
    mean, largest = counted_times(result, later=first_differs(result))
    return f"{_number(mean)}\n{_number(largest)}"


def _judged(cell: CellSummary) -> list[ModelResult]:
    return [m for m in cell.models if m.level == PREDICT]


def _number(fraction: float) -> str:
    return percent(fraction).removesuffix(" %")


def _line(text: str, style: str = "") -> Text:
    return Text(one_line(text), style=style)
