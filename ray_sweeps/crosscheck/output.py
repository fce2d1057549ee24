"""The folder that a cross-check leaves: record, table of streams, pictures, page."""

from collections.abc import Sequence
from pathlib import Path
from typing import Final

from netcosim.results.json_files import schema_json, to_json
from netcosim.results.storage.directory import Directory
from netcosim.results.storage.parquet import parquet_bytes
from ray_sweeps.crosscheck.record import Crosscheck
from ray_sweeps.crosscheck.streams_table import described, streams_table
from ray_sweeps.crosscheck.summary import GROUPS
from ray_sweeps.crosscheck.unit import CellCheck

RECORD: Final = "crosscheck.json"
STREAMS: Final = "streams.parquet"
PAGE: Final = "report.html"


def write_figures(folder: Directory, found: Crosscheck, checks: Sequence[CellCheck]) -> None:
    """Write ``crosscheck.json``, ``streams.parquet`` and what describes them.

    Raises
    ------
    StorageError
        The file system refuses.
    """
    rows = [s for c in sorted(checks, key=lambda c: (c.run, c.cell)) for s in c.streams]
    folder.write(STREAMS, parquet_bytes(streams_table(rows)))
    folder.write(RECORD, to_json(found).encode())
    folder.write("schemas/crosscheck.schema.json", schema_json(Crosscheck).encode())
    folder.write("schemas/streams.columns.json", described().encode())


def write_page(folder: Directory, found: Crosscheck, checks: Sequence[CellCheck]) -> Path:
    """Draw the pictures and write the page; return its path.

    Raises
    ------
    StorageError
        The file system refuses.
    """
    # Only here: pictures take a while to load.
    from ray_sweeps.crosscheck.page import render_crosscheck

    drawn = _pictures(checks)
    for name, _, _, image in drawn:
        folder.write(f"pictures/{name}.png", image)
    pictures = [(title, text, image) for _, title, text, image in drawn]
    page = render_crosscheck(found, folder.path.absolute().name, pictures)
    folder.write(PAGE, page.encode())
    return folder.path / PAGE


def _pictures(checks: Sequence[CellCheck]) -> list[tuple[str, str, str, bytes]]:
    """File name, title, a sentence on how to read it, and PNG of each picture."""
    from ray_sweeps.crosscheck.pictures import burst_png, ends_png, errors_png, typical_cells

    ordered = sorted(checks, key=lambda c: (c.run, c.cell))
    streams = [s for c in ordered for s in c.streams if s.compared]
    if not streams:
        return []
    found = [
        (
            "ends",
            "Simulated against measured ends",
            "A dot is a stream of a compared burst; on the line the two agree.",
            ends_png(streams),
        ),
        (
            "errors",
            "Distributions of errors",
            "Streams of compared bursts by what they have in common; errors below 0.001 % are drawn"
            " there.",
            errors_png(streams, list(GROUPS.items())),
        ),
    ]
    for number, (title, check) in enumerate(typical_cells(ordered)):
        image = burst_png(check)
        if image is not None:
            text = "Dark: measured on the wire, on the clock of link work; coloured: simulated."
            found.append((f"burst{number}", title, text, image))
    return found
