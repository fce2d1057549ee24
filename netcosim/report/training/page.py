"""HTML page of a simulation's report: the values that its template is filled with."""

from collections.abc import Container, Iterable, Mapping, Sequence
from typing import Any

from netcosim.formatting import percent
from netcosim.report.page_parts import banners, environment, machine
from netcosim.report.training.axes import time_unit
from netcosim.report.training.data import CellTraining, TrainingData
from netcosim.results.training.bottleneck import bottleneck
from netcosim.results.training.findings import (
    comparisons,
    deviations,
    findings,
    formulas_note,
    interval,
    one_worker,
    rate_text,
    signed,
    speed_up,
)
from netcosim.results.training.summary import Point, Series
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
    whole = {one.name for one in data.scenario.transport if one.whole_messages}
    return filled.get_template("training.html.j2").render(
        data=data,
        banners=banners(data.summary),
        cells=[_cell(number, cell, whole) for number, cell in enumerate(data.cells)],
        compared=() if data.summary is None else comparisons(data.summary),
        engine=None if data.summary is None else data.summary.engine,
        overviews=overviews,
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
        "findings": () if series is None else findings(series),
        "facts": [] if series is None else _facts(series, whole),
        "tables": [] if series is None or not series.points else _tables(series),
    }


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
        f"share of links: {series.share}",
        *(f"straggler: {text}" for text in series.stragglers),
    ]


def _tables(series: Series) -> list[dict[str, Any]]:
    """Tables of the simulation's figures and of the formulas' deviations, where there are any."""
    saturated = None if series.saturation is None else series.saturation.workers
    marked = [point.workers == saturated for point in series.points]
    tables = [_figures(series), _formulas(series)]
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


def _figures(series: Series) -> Table:
    rounds = any(point.straggler_ns is not None for point in series.points)
    unit, factor = time_unit(max(p.step_ns.median for p in series.points))
    headings = [
        "workers",
        "examples/s",
        "steps/s",
        "speed-up",
        "efficiency",
        "bottleneck",
        "fullest\nlink",
        "workers\ncompute",
        "overlap",
        f"step, {unit}\nmedian",
        "\np95",
        "\np99",
        *([f"straggling\n{unit}"] if rounds else []),
        "runs x\nsteps",
        "engine",
    ]
    text = (
        f"Speed-up: over {one_worker(series)}. Efficiency: speed-up over workers. Overlap: share of"
        " the communication during which the worker computes."
    )
    if rounds:
        text += " Straggling: how long the first worker of a round waits for the last."
    if any(point.runs == 1 for point in series.points):
        text += " A single run has no interval."
    if series.saturation is not None:
        text += " Marked: saturated from here on."
    return text, headings, [_row(series, point, factor, rounds) for point in series.points]


def _row(series: Series, point: Point, factor: float, rounds: bool) -> list[str]:
    gain = speed_up(point, series.alone)
    short = bottleneck(point).name
    fullest = max((link.utilisation for link in point.link_utilisation), default=None)
    times = [point.step_ns.median, point.step_ns.p95, point.step_ns.p99]
    straggling = [point.straggler_ns] if rounds else []
    return [
        str(point.workers),
        interval(point.examples_per_s),
        rate_text(point.steps_per_s.mean),
        f"{gain:.2f}",
        percent(gain / point.workers),
        _UNKNOWN if short == "none" else short,
        _UNKNOWN if fullest is None else percent(fullest),
        percent(point.worker_utilisation),
        _UNKNOWN if point.overlap is None else percent(point.overlap),
        *(_UNKNOWN if time is None else f"{time / factor:.4g}" for time in (*times, *straggling)),
        f"{point.runs} x {point.steps - point.warmup}",
        point.engine,
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
    return text if note is None else f"{text} {note}", ["workers", *names], rows


def _typeset(text: str) -> str:
    """Text with typographic signs in place of ASCII ones."""
    return text.replace(" +- ", " \N{PLUS-MINUS SIGN} ").replace(" x ", " \N{MULTIPLICATION SIGN} ")
