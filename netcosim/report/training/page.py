"""HTML page of a simulation's report: the values that its template is filled with."""

from collections.abc import Container, Iterable, Mapping, Sequence
from typing import Any

from netcosim.formatting import percent
from netcosim.report.heading import heading, lead
from netcosim.report.page_parts import banners, environment, machine
from netcosim.report.training.axes import time_unit
from netcosim.report.training.data import CellTraining, TrainingData
from netcosim.results.training.bottleneck import bottleneck
from netcosim.results.training.findings import (
    NO_INTERVAL,
    best_first,
    change_text,
    comparisons,
    deviations,
    formulas_note,
    has_intervals,
    interval,
    observed,
    one_worker,
    rate_text,
    recommended,
    remark,
    signed,
    speed_up,
)
from netcosim.results.training.summary import AsMeasured, Point, Recommendation, Series
from netcosim.units import format_rate, format_size

Picture = tuple[str, str, bytes]
"""Title, a sentence on how to read it, PNG."""

_UNKNOWN = "-"


def render_training(
    data: TrainingData,
    overviews: Sequence[tuple[str, bytes]],
    pictures: Mapping[str, Sequence[Picture]],
    files: Iterable[tuple[str, str]],
) -> str:
    """The whole page as HTML; `overviews` holds (workload, PNG) of those with several cells."""
    filled = environment()
    filled.filters["typeset"] = _typeset
    several = [cell.series for cell in data.cells if cell.series is not None]
    known = has_intervals(several)
    whole = {one.name for one in data.scenario.transport if one.whole_messages}
    return filled.get_template("training.html.j2").render(
        data=data,
        heading=heading(data.scenario),
        lead=lead(data.scenario),
        banners=banners(data.summary),
        cells=[_cell(number, cell, whole) for number, cell in enumerate(data.cells)],
        compared=() if data.summary is None else comparisons(data.summary),
        engine=None if data.summary is None else data.summary.engine,
        overviews=overviews,
        intervals="Bands and whiskers are 95 % intervals." if known else NO_INTERVAL,
        saturated=any(series.saturation for series in several),
        pictures=pictures,
        machine=machine(data.run),
        files=list(files),
    )


def _cell(number: int, cell: CellTraining, whole: Container[str]) -> dict[str, Any]:
    """Template values of a cell; `whole` are the transports whose senders finish messages first."""
    series = cell.series
    return {
        "name": cell.name,
        "anchor": f"cell-{number}",
        "recommended": () if series is None else recommended(series),
        "changes": [] if series is None else _changes(series.recommendation),
        "findings": () if series is None else observed(series),
        "facts": [] if series is None else _facts(series, whole),
        "tables": [] if series is None or not series.points else _tables(series),
    }


def _changes(found: Recommendation | None) -> list[tuple[str, str, str, str]]:
    """Rows of what one step more of each thing changes, the best first: text, rate, gain, remark.

    The first row is what they are compared with.
    """
    if found is None or not found.changes:
        return []
    workers = "1 worker" if found.workers == 1 else f"{found.workers} workers"
    return [
        (f"{workers}, as simulated", interval(found.examples_per_s), "", ""),
        *(
            (
                change_text(one),
                interval(one.examples_per_s),
                signed(one.gain),
                remark(one),
            )
            for one in best_first(found.changes)
        ),
    ]


def _facts(series: Series, whole: Container[str]) -> list[str]:
    """The settings in a few words each."""
    servers = "1 server" if series.servers == 1 else f"{series.servers} servers"
    window = series.window_bytes
    control = "off" if window is None else f"on, window {format_size(window)}"
    finishing = ", finishing messages first" if series.transport in whole else ""
    lead = "" if series.lead is None else f", at most {series.lead} steps ahead"
    return [
        f"profile {series.profile}, {series.batch} examples a step",
        f"{servers}, {format_rate(series.rate_bps)} each way",
        f"{series.synchronisation}{lead if series.lead else ''}",
        f"connections: {series.discipline}{finishing}, flow control {control}",
        f"order {series.order}, placement {series.placement}",
        *([] if series.schedule is None else [f"schedule {series.schedule}"]),
        f"share of links: {series.share}",
        *(f"straggler: {text}" for text in series.stragglers),
    ]


def _tables(series: Series) -> list[dict[str, Any]]:
    """Tables of the simulation's figures and of the formulas' deviations, where there are any."""
    saturated = None if series.saturation is None else series.saturation.workers
    marked = [point.workers == saturated for point in series.points]
    tables = [_throughput(series), _times(series), _formulas(series)]
    return [
        {
            "headings": headings,
            "rows": list(zip(marked, rows, strict=True)),
            "text": text,
        }
        for text, headings, rows in tables
        if len(headings) > 1
    ]


Table = tuple[str, list[str], list[list[str]]]


def _throughput(series: Series) -> Table:
    measured = next((p.as_measured for p in series.points if p.as_measured is not None), None)
    headings = ["workers", "examples/s", "steps/s"]
    headings += ["as measured,\nexamples/s"] if measured is not None else []
    headings += ["speed-up", "efficiency", "bottleneck"]
    headings += ["runs x\nsteps", "engine"]
    text = f"Speed-up: over {one_worker(series)}. Efficiency: speed-up over workers."
    if measured is not None:
        text += (
            f" As measured: steps {measured.first} to {measured.last} of each worker behind the"
            " common start, the sum of the workers' own rates."
        )
    if any(point.runs == 1 for point in series.points):
        text += " A single run has no interval."
    if series.saturation is not None:
        text += " Marked: saturated from here on."
    return text, headings, [_throughput_row(series, p, measured) for p in series.points]


def _throughput_row(series: Series, point: Point, measured: AsMeasured | None) -> list[str]:
    gain = speed_up(point, series.alone)
    short = bottleneck(point).name
    return [
        str(point.workers),
        interval(point.examples_per_s),
        rate_text(point.steps_per_s.mean),
        *([] if measured is None else [_as_measured(point)]),
        f"{gain:.2f}",
        percent(gain / point.workers),
        _UNKNOWN if short == "none" else short,
        f"{point.runs} x {point.steps - point.warmup}",
        point.engine,
    ]


def _as_measured(point: Point) -> str:
    found = point.as_measured
    return _UNKNOWN if found is None else interval(found.examples_per_s)


def _times(series: Series) -> Table:
    rounds = any(point.straggler_ns is not None for point in series.points)
    joined = any(point.joined is not None for point in series.points)
    unit, factor = time_unit(max(p.step_ns.median for p in series.points))
    headings = [
        "workers",
        f"step, {unit}\nmedian",
        "\np95",
        "\np99",
        *([f"straggling\n{unit}"] if rounds else []),
        "fullest\nlink",
        "workers\ncompute",
        "overlap",
        *(["gradients\nignored", "counted\nin part"] if joined else []),
    ]
    text = "Overlap: share of the communication during which the worker computes."
    if rounds:
        text += " Straggling: how long the first worker of a round waits for the last."
    if joined:
        text += (
            " Ignored, counted in part: steps whose gradients came too late for all updates, and"
            " for some of them."
        )
    rows = [
        [*_times_row(point, factor, rounds), *(_joined(point) if joined else [])]
        for point in series.points
    ]
    return text, headings, rows


def _joined(point: Point) -> list[str]:
    found = point.joined
    return [_UNKNOWN] * 2 if found is None else [percent(found.ignored), percent(found.partly)]


def _times_row(point: Point, factor: float, rounds: bool) -> list[str]:
    fullest = max((link.utilisation for link in point.link_utilisation), default=None)
    times = [point.step_ns.median, point.step_ns.p95, point.step_ns.p99]
    straggling = [point.straggler_ns] if rounds else []
    return [
        str(point.workers),
        *(_UNKNOWN if time is None else f"{time / factor:.4g}" for time in (*times, *straggling)),
        _UNKNOWN if fullest is None else percent(fullest),
        percent(point.worker_utilisation),
        _UNKNOWN if point.overlap is None else percent(point.overlap),
    ]


def _formulas(series: Series) -> Table:
    found = [(str(point.workers), deviations(point)) for point in series.points]
    names = sorted({name for _, off in found for name in off})
    rows = [
        [workers, *(signed(off[name]) if name in off else _UNKNOWN for name in names)]
        for workers, off in found
    ]
    text = "Formulas: their throughput against the simulation's."
    note = formulas_note(series)
    headings = ["workers", *(name.replace("_", "\n") for name in names)]
    return text if note is None else f"{text} {note}", headings, rows


def _typeset(text: str) -> str:
    """Text with typographic signs in place of ASCII ones."""
    for plain, sign in (
        ("+-", "\N{PLUS-MINUS SIGN}"),
        ("x", "\N{MULTIPLICATION SIGN}"),
        ("->", "\N{RIGHTWARDS ARROW}"),
    ):
        text = text.replace(f" {plain} ", f" {sign} ")
    return text
