"""Report of a simulation from its results folder: pictures and HTML page."""

from typing import Final

from netcosim.report.training.data import CellTraining, TrainingData
from netcosim.report.training.gantt import lanes_png
from netcosim.report.training.page import Picture, render_training
from netcosim.report.training.pictures import comparison_png, scaling_png
from netcosim.results.folder import ResultsFolder
from netcosim.results.storage.file_names import file_name
from netcosim.results.training.findings import NO_INTERVAL, by_workload, has_intervals

FILES: Final = {
    "scenario.toml": "the scenario as resolved: run it again with --scenario",
    "summary.json": "the figures of this page; schemas/summary.schema.json explains the fields",
    "points.csv": "its main table, a row for each number of workers; schemas/points.columns.json",
    "points.parquet": "the same, with types",
    "run.json": "machine, versions; schemas/run.schema.json",
    "steps.parquet": "when each worker began and ended each step; schemas/steps.columns.json",
    "operations.parquet": "what each worker did first; schemas/operations.columns.json",
    "trace.parquet": "the transfers, one row each; schemas/trace.columns.json",
    "perfetto.json": "what each worker did first, for ui.perfetto.dev",
    "pictures": "the pictures of this page",
}

_SCALING: Final = (
    "{} A worker that computes and communicates at once hides the"
    " network; what is orange is what the network costs."
)
_LANES: Final = (
    "A transfer is drawn from its first to its last byte; operations of a place that overlap are"
    " drawn below each other."
)


def training_page(folder: ResultsFolder) -> str:
    """Write the pictures of a simulation; return its page as HTML.

    Raises
    ------
    StorageError, ScenarioError
        A file can't be read as what it should be, or can't be written.
    """
    data = TrainingData.read(folder)
    overviews = _overviews(folder, data)
    names = [cell.name for cell in data.cells]
    pictures = {
        cell.name: _pictures(folder, cell, file_name(cell.name, names)) for cell in data.cells
    }
    there = folder.names()
    files = [(name, text) for name, text in FILES.items() if name in there]
    return render_training(data, overviews, pictures, files)


def _overviews(folder: ResultsFolder, data: TrainingData) -> list[tuple[str, bytes]]:
    kept = []
    groups = {} if data.summary is None else by_workload(data.summary)
    for workload, several in groups.items():
        image = comparison_png(workload, several)
        if image is not None:
            folder.write(f"pictures/{file_name(workload, groups)}.throughput.png", image)
            kept.append((workload, image))
    return kept


def _pictures(folder: ResultsFolder, cell: CellTraining, file: str) -> list[Picture]:
    single = cell.series is not None and len(cell.series.points) == 1
    image = None if cell.series is None else scaling_png(cell.series)
    known = cell.series is not None and has_intervals([cell.series])
    what = "The whisker is a 95 % interval." if single else "Bands and bars are 95 % intervals."
    text = _SCALING.format(what if known else NO_INTERVAL)
    drawn = {
        "scaling": ("figures" if single else "scaling", text, image),
        "lanes": ("the first steps", _LANES, lanes_png(cell)),
    }
    kept: list[Picture] = []
    for kind, (title, text, image) in drawn.items():
        if image is not None:
            folder.write(f"pictures/{file}.{kind}.png", image)
            kept.append((title, text, image))
    return kept
