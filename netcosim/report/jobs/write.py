"""Report of a training job from its results folder: pictures and HTML page."""

from collections.abc import Mapping
from typing import Any, Final

from netcosim.report.heading import heading, lead
from netcosim.report.jobs.pictures import throughput_png
from netcosim.report.page_parts import banners, environment, machine
from netcosim.report.training.data import SHOWN_WORKERS, CellTraining
from netcosim.report.training.gantt import lanes_png
from netcosim.results.folder import ResultsFolder
from netcosim.results.storage.file_names import file_name
from netcosim.results.training import operations
from netcosim.results.training.job_summary import JobSeries
from netcosim.results.training.operations import OperationColumns
from netcosim.units import format_rate

FILES: Final = {
    "scenario.toml": "the scenario as resolved: run it again with --scenario",
    "jobs": "the job of each cell, with all that chance decided: what both worlds read",
    "summary.json": "the figures of this page; schemas/summary.schema.json explains the fields",
    "run.json": "machine, versions, clock; schemas/run.schema.json",
    "steps.parquet": "when each worker began and ended each step; schemas/steps.columns.json",
    "operations.parquet": "every operation of the first steps; schemas/operations.columns.json",
    "perfetto.json": "the same for ui.perfetto.dev",
    "captures": "packets of the first steps at the servers, for Wireshark",
    "pictures": "the pictures of this page",
}
_LANES: Final = (
    "A transfer is drawn from its hand-over to the transport to its delivery to the application;"
    " operations of a place that overlap are drawn below each other."
)
_SCALING: Final = "Ideal scaling: as many times the first number of workers as there are workers."

Picture = tuple[str, str, bytes]


def job_page(folder: ResultsFolder) -> str:
    """Write the pictures of a training job; return its page as HTML.

    Raises
    ------
    StorageError, ScenarioError
        A file can't be read as what it should be, or can't be written.
    """
    summary, scenario = folder.read_job_summary(), folder.read_scenario()
    series = () if summary is None else summary.series
    ops = folder.read_operations()
    names = [one.cell for one in series]
    pictures = {one.cell: _pictures(folder, one, ops, file_name(one.cell, names)) for one in series}
    there = folder.names()
    return (
        environment()
        .get_template("job.html.j2")
        .render(
            data={"name": folder.path.absolute().name},
            heading=heading(scenario),
            lead=lead(scenario),
            banners=banners(summary),
            series=series,
            facts={one.cell: _facts(one) for one in series},
            is_real=scenario.clock == "real",
            pictures=pictures,
            machine=machine(folder.read_run()),
            files=[(name, text) for name, text in FILES.items() if name in there],
        )
    )


def _facts(series: JobSeries) -> Mapping[str, Any]:
    return {
        "profile": series.profile,
        "examples of a step": series.batch,
        "servers": series.servers,
        "rate of a server's port": format_rate(series.rate_bps),
        "synchronisation": series.synchronisation,
        "job": series.job_sha256[:16],
    }


def _pictures(
    folder: ResultsFolder, series: JobSeries, ops: OperationColumns, file: str
) -> list[Picture]:
    drawn = [("throughput", _SCALING, throughput_png(series))]
    counts = [point.workers for point in series.points]
    for workers in (*counts, *(ended.workers for ended in series.unfinished)):
        shown = ops.cell.are(series.cell) & (ops.workers == workers)
        cell = CellTraining(
            name=f"{series.cell}, {workers}",
            series=None,
            workers=workers,
            operations=operations.TABLE.where(ops, shown & (ops.worker < SHOWN_WORKERS)),
        )
        drawn.append((f"lanes-{workers}", _LANES, lanes_png(cell)))
    kept: list[Picture] = []
    for kind, text, image in drawn:
        if image is not None:
            folder.write(f"pictures/{file}.{kind}.png", image)
            kept.append((kind, text, image))
    return kept
