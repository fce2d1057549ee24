"""Outcomes of a sweep written into its folder: tables, summary, pictures, page."""

import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final

import polars as pl

from netcosim.report.write import font_cache
from netcosim.results.folder import REPORT
from netcosim.results.json_files import dump_json, schema_json, to_json
from netcosim.results.storage.directory import Directory
from netcosim.results.storage.file_names import file_name
from netcosim.results.storage.ownership import calling_user
from netcosim.results.storage.parquet import parquet_bytes
from ray_sweeps.analysis.dataset import read_dataset
from ray_sweeps.analysis.outcomes import Outcomes, outcomes_of
from ray_sweeps.analysis.points import describe
from ray_sweeps.analysis.summary import SweepSummary
from ray_sweeps.analysis.sweep_protocol import SweepDescription
from ray_sweeps.report.curves import Picture, throughput_curves
from ray_sweeps.report.effect_panels import effects_picture
from ray_sweeps.report.fronts import front_picture
from ray_sweeps.report.heat import heat_maps
from ray_sweeps.report.impacts import impact_pictures
from ray_sweeps.report.page import render_sweep

FORMAT: Final = "netcosim-sweep-points"

SUMMARY: Final = "summary.json"
POINTS: Final = "points.parquet"
POINTS_CSV: Final = "points.csv"

FILES: Final = {
    "sweep.toml": "the sweep as it was given: run it again with it",
    SUMMARY: "the figures of this page; schemas/summary.schema.json explains the fields",
    POINTS_CSV: "all points, a row each; schemas/points.columns.json explains the columns",
    POINTS: "the same, with types",
    "runs": "the dataset, a row for each run, as Parquet parts",
    "pictures": "the pictures of this page",
}

_ARROW: Final[dict[Any, str]] = {
    pl.String: "string",
    pl.Int64: "int64",
    pl.Int32: "int64",
    pl.Float64: "double",
    pl.Boolean: "bool",
}


def write_outcomes(folder: Path, sweep: SweepDescription, *, drawn: bool = True) -> SweepSummary:
    """Analyse the runs of a sweep, and write what comes out into its folder.

    That is `points.parquet`, `points.csv`, `summary.json`, their schemas, pictures and
    `report.html`; each appears at once and complete, or stays as it was. Unless it is to be drawn,
    there are no pictures and no page.

    Parameters
    ----------
    folder
        With the dataset in `runs`.
    sweep
        Its name, description, prices, and the values of its factors in their order.

    Raises
    ------
    StorageError
        The dataset can't be read, or the folder can't be written.
    """
    outcomes = outcomes_of(read_dataset(folder), sweep)
    with Directory.open(folder, calling_user(os.environ, os.geteuid())) as results:
        table = outcomes.points.table
        results.write(POINTS, parquet_bytes(_arrow(table)))
        with results.writing(POINTS_CSV) as file:
            table.write_csv(file)
        results.write(SUMMARY, to_json(outcomes.summary).encode())
        results.write("schemas/summary.schema.json", schema_json(SweepSummary).encode())
        results.write("schemas/points.columns.json", _columns(table).encode())
        if not drawn:
            return outcomes.summary
        with font_cache():
            pictures = list(_pictures(outcomes))
        _write_pictures(results, pictures)
        there = results.names()
        files = [(name, text) for name, text in FILES.items() if name in there]
        page = render_sweep(outcomes, pictures, files)
        results.write(REPORT, page.encode(errors="replace"))
    return outcomes.summary


def _pictures(outcomes: Outcomes) -> Iterator[Picture]:
    """Sections of the page that have content, in its order."""
    drawn = [
        throughput_curves(outcomes),
        effects_picture(outcomes),
        front_picture(outcomes),
        *impact_pictures(outcomes),
        heat_maps(outcomes),
    ]
    yield from (picture for picture in drawn if picture is not None)


def _write_pictures(results: Directory, pictures: Sequence[Picture]) -> None:
    """Write the pictures; remove those of an earlier analysis that are not drawn any more."""
    names = [picture.name for picture in pictures]
    drawn = {f"{file_name(each.name, names)}.png": each.png for each in pictures}
    with results.make("pictures") as folder:
        for name, image in drawn.items():
            folder.write(name, image)
        for name in folder.names():
            if name.endswith(".png") and name not in drawn:
                folder.remove(name)


def _arrow(table: pl.DataFrame) -> Any:
    """The points as an Arrow table with plain types."""
    import pyarrow as pa

    schema = pa.schema(
        [
            pa.field(name, pa.type_for_alias(_ARROW[kind]), nullable=table[name].has_nulls())
            for name, kind in table.schema.items()
        ],
        metadata={"format": FORMAT, "version": "1"},
    )
    return table.to_arrow().cast(pa.schema([f.with_nullable(True) for f in schema])).cast(schema)


def _columns(table: pl.DataFrame) -> str:
    """The table's columns as JSON."""
    columns = [
        {
            "name": name,
            "type": _ARROW[kind],
            "null": table[name].has_nulls(),
            "description": describe(name),
        }
        for name, kind in table.schema.items()
    ]
    return dump_json({"format": FORMAT, "version": 1, "columns": columns})
