"""Report of a results folder, written into it: pictures and HTML page."""

import os
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from netcosim.report.jobs.write import job_page
from netcosim.report.streams.data import ReportData
from netcosim.report.streams.page import render_page
from netcosim.report.streams.panels import panels_png
from netcosim.report.streams.timeline import timeline_png
from netcosim.report.style import model_colours
from netcosim.report.training.write import training_page
from netcosim.results.folder import REPORT, ResultsFolder, World
from netcosim.results.storage.directory import storage_errors
from netcosim.results.storage.file_names import file_name
from netcosim.results.storage.ownership import Owner

FILES: Final = {
    "scenario.toml": "the scenario as resolved: run it again with --scenario",
    "summary.json": "the figures of this page; schemas/summary.schema.json explains the fields",
    "run.json": "machine, versions, network, validity; schemas/run.schema.json",
    "trace.parquet": "what was measured, one row a stream; schemas/trace.columns.json",
    "predictions.parquet": "what every model predicted, in the same columns",
    "windows.parquet": "credit over time; schemas/windows.columns.json",
    "grants.parquet": "credit as it was given, frame by frame; schemas/grants.columns.json",
    "identify.json": "which rules were identified, and the evidence for it",
    "perfetto.json": "all bursts, measured and predicted, for ui.perfetto.dev",
    "captures": "what was on the wire, for Wireshark",
    "pictures": "the pictures of this page",
}


def write_report(path: Path, owner: Owner | None = None) -> Path:
    """Draw the pictures and write the page of a results folder; return the page's path.

    Raises
    ------
    StorageError, ScenarioError
        The folder can't be read as one, or can't be written.
    """
    with ResultsFolder.open(path, owner) as folder:
        return draw_report(folder)


def draw_report(folder: ResultsFolder) -> Path:
    """Write the report of an open folder, wherever its path leads by now.

    Raises
    ------
    StorageError, ScenarioError
        As `write_report`.
    """
    with font_cache():
        page = _PAGES[folder.world()](folder)
    folder.write(REPORT, page.encode())
    return folder.path / REPORT


def _streams_page(folder: ResultsFolder) -> str:
    """Write the pictures of an emulation; return its page as HTML."""
    data = ReportData.read(folder)
    pictures: dict[str, list[tuple[str, bytes]]] = {}
    colours = model_colours(data.models)
    names = [cell.name for cell in data.cells]
    for cell in data.cells:
        drawn = {
            "timeline": ("service timeline", timeline_png(cell, colours)),
            "panels": ("ends, credit and errors", panels_png(cell, colours)),
        }
        for kind, (title, image) in drawn.items():
            if image is not None:
                folder.write(f"pictures/{file_name(cell.name, names)}.{kind}.png", image)
                pictures.setdefault(cell.name, []).append((title, image))
    there = folder.names()
    files = [(name, text) for name, text in FILES.items() if name in there]
    return render_page(data, pictures, files)


_PAGES: Final[Mapping[World, Callable[[ResultsFolder], str]]] = {
    "emu": _streams_page,
    "sim": training_page,
    "job": job_page,
}


@contextmanager
def font_cache() -> Iterator[None]:
    """Keep matplotlib's cache of fonts, written once when it is imported, off the home folder."""
    name = "MPLCONFIGDIR"
    if "matplotlib" in sys.modules or name in os.environ:
        yield
        return
    with storage_errors(Path("the folder for temporary files")):
        cache = tempfile.mkdtemp(prefix="netcosim-fonts-")
    os.environ[name] = cache
    try:
        yield
    finally:
        del os.environ[name]
        shutil.rmtree(cache, ignore_errors=True)
