"""What a cross-check of training jobs tells: table in the terminal, record, page."""

import statistics
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from jinja2 import ChoiceLoader, PackageLoader
from rich.console import Console
from rich.text import Text

from netcosim.cli.columns import Column, print_columns
from netcosim.formatting import escaped
from netcosim.report.page_parts import environment
from netcosim.results.json_files import schema_json, to_json
from netcosim.results.storage.directory import Directory
from ray_sweeps.crosscheck.training.check import Checked
from ray_sweeps.crosscheck.training.record import (
    CellCheck,
    PointCheck,
    StreamErrors,
    TrainingCrosscheck,
)
from ray_sweeps.crosscheck.wording import counted

RECORD: Final = "crosscheck.json"
PAGE: Final = "report.html"
HEADINGS: Final = (
    *("workers", "measured", "predicted", "error", "range", "linear", "port bound"),
    *("wrong\ndiscipline", "wrong\norder", "step\nmedian", "step\np95", "streams\nmean"),
    *("simulator", "simulator\nto models", "models", "models'\nstreams"),
)
_RANKS: Final = (0, 0, 0, 0, 2, 7, 8, 6, 6, 5, 9, 1, 3, 4, 3, 10)
"""Ranks of columns that a narrow terminal is shown without, the highest first."""

_TITLE: Final = (
    "Throughput, examples/s; errors are predicted over measured, less 1, in %. range: of perturbed"
    " simulations. wrong: the assumed discipline or order that is farthest off. streams: ends of"
    " the first steps' streams, in % of a step. simulator: the error of a single one, which is"
    " the prediction unless that is the mean of many runs. models: the error of the job over models"
    " of its connections, and of its streams. simulator to models: the one over the other, less 1."
)
_FILES: Final = (
    (RECORD, "the figures of this page; schemas/crosscheck.schema.json"),
    ("pictures", "the pictures of this page"),
)


def figures(point: PointCheck) -> list[str]:
    """Figures of a number of workers, as `HEADINGS` names them."""
    relative = (point.low / point.predicted - 1, point.high / point.predicted - 1)
    spread = f"{100 * relative[0]:+.2f} to {100 * relative[1]:+.2f}"
    return [
        str(point.workers),
        f"{point.measured:.5g}",
        f"{point.predicted:.5g}",
        _percent(point.error),
        f"{spread} {'in two groups' * point.bimodal}".rstrip(),
        _percent(point.linear_error),
        _percent(point.bound_error),
        _farthest(point.discipline_errors),
        _farthest(point.order_errors),
        _percent(point.step_median_error),
        _percent(point.step_p95_error),
        _mean(point.streams),
        _percent(point.error if point.simulated_error is None else point.simulated_error),
        "-" if point.models is None else _percent(point.models.abstraction),
        "-" if point.models is None else _percent(point.models.error),
        "-" if point.models is None else _mean(point.models.streams),
    ]


def headline(found: TrainingCrosscheck) -> str:
    """The result in a sentence."""
    points = [point for cell in found.cells for point in cell.points]
    worst = max(points, key=lambda point: abs(point.error))
    median = statistics.median(abs(point.error) for point in points)
    return (
        f"{counted(len(points), 'prediction')} sealed before the runs: off by"
        f" {100 * median:.2g} % in the middle, by {100 * abs(worst.error):.2g} % at most"
    )


def print_check(found: TrainingCrosscheck, console: Console) -> None:
    """Print the table of each cell."""
    console.print(Text(headline(found)))
    console.print(Text(_TITLE))
    for cell in found.cells:
        console.print(Text(escaped(facts(cell))))
        rows = [figures(point) for point in cell.points]
        columns = [
            Column(heading=heading, cells=cells, rank=rank)
            for heading, rank, cells in zip(HEADINGS, _RANKS, zip(*rows, strict=True), strict=True)
        ]
        print_columns(columns, console)


def facts(cell: CellCheck) -> str:
    """A cell in words."""
    servers = counted(cell.servers, "server")
    lost = max(point.lost_share for point in cell.points)
    busy = max(point.busy_share for point in cell.points)
    away = (
        f", by the machine's clock, away {100 * lost:.2g} % of the time at most, processes busy"
        f" {100 * busy:.2g} %"
    )
    clock = away if cell.clock == "real" else ""
    return (
        f"{cell.cell}: {cell.profile}, {cell.synchronisation}, {servers}{clock}, simulated as"
        f" {cell.discipline}, order {cell.order}; seal {cell.sealed_sha256[:12]}; {cell.run}"
    )


def write_check(
    folder: Directory, found: TrainingCrosscheck, checked: Sequence[Checked], *, page: bool
) -> Path | None:
    """Write the record, and the page with its pictures unless it is not wanted; the page's path.

    Raises
    ------
    StorageError
        The file system refuses.
    """
    folder.write(RECORD, to_json(found).encode())
    folder.write("schemas/crosscheck.schema.json", schema_json(TrainingCrosscheck).encode())
    if not page:
        return None
    # Only here: pictures take a while to load.
    from ray_sweeps.crosscheck.training.pictures import Picture, pictures_of

    drawn: list[list[Picture]] = []
    for number, each in enumerate(checked):
        drawn.append(pictures_of(each))
        for place, (_, _, image) in enumerate(drawn[-1]):
            folder.write(f"pictures/cell{number}-{place}.png", image)
    cells: list[dict[str, Any]] = [
        {"facts": facts(c.check), "rows": [figures(p) for p in c.check.points], "pictures": images}
        for c, images in zip(checked, drawn, strict=True)
    ]
    filled = environment()
    filled.loader = ChoiceLoader(
        [PackageLoader("ray_sweeps.crosscheck"), PackageLoader("netcosim.report")]
    )
    banners = [("incomplete", "Left out, or not whole", found.lines)] if found.lines else []
    text = filled.get_template("training.html.j2").render(
        data={"name": folder.path.absolute().name},
        heading=f"Training jobs, predicted and measured: {counted(len(cells), 'cell')}",
        lead=None,
        banners=banners,
        headline=headline(found),
        headings=HEADINGS,
        explanation=_TITLE,
        cells=cells,
        machine=[("simulator's source", found.engine)],
        files=_FILES,
    )
    folder.write(PAGE, text.encode())
    return folder.path / PAGE


def _mean(errors: StreamErrors | None) -> str:
    return "-" if errors is None else f"{100 * errors.mean:.3f}"


def _percent(value: float) -> str:
    return f"{100 * value:+.2f}"


def _farthest(errors: dict[str, float]) -> str:
    if not errors:
        return "-"
    name = max(errors, key=lambda each: abs(errors[each]))
    return f"{_percent(errors[name])} {name}"
