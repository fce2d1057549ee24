"""`points.csv` and `points.parquet`: a simulation as a flat table, a row per cell and workers."""

import csv
import io
from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType
from typing import Any, Final

from netcosim.results.json_files import as_stored, dump_json
from netcosim.results.training.point_columns import NUMBER, POINT, Column, Row
from netcosim.results.training.summary import TrainingSummary

FORMAT: Final = "netcosim-points"

POINT_COLUMNS: Final[Mapping[str, str]] = MappingProxyType(
    {name: column.description for name, column in POINT.items()}
)
"""Descriptions of columns; beside these, one per formula, ``formula_NAME_steps_per_s``."""


def points_table(summary: TrainingSummary) -> Any:
    """Make the main table of a simulation, a row for each cell and number of workers.

    Rows are in the summary's order: cell by cell, workers rising. Columns are those of
    `POINT_COLUMNS` and then, sorted by name, one for each formula: ``formula_NAME_steps_per_s``,
    null where it has no answer. Shares and utilisations are fractions. Numbers are rounded as in
    `summary.json`, so the table of a summary that was read from a folder is the same.

    Returns
    -------
    pyarrow.Table
        Without nulls where a column's description names none.
    """
    import pyarrow as pa  # only here: the program starts without it

    stored = TrainingSummary.model_validate(as_stored(summary.model_dump(mode="json")))
    rows = [
        Row(
            scenario=stored.scenario,
            seed=stored.seed,
            engine=stored.engine,
            settings=series,
            point=point,
            series=series,
        )
        for series in stored.series
        for point in series.points
    ]
    columns = dict(_columns(rows))
    values = {name: as_stored([c.value(row) for row in rows]) for name, c in columns.items()}
    schema = pa.schema(
        [
            pa.field(name, pa.type_for_alias(column.kind), nullable=column.null)
            for name, column in columns.items()
        ],
        metadata={"format": FORMAT, "version": "1"},
    )
    arrays = [pa.array(values[field.name], type=field.type) for field in schema]
    return pa.Table.from_arrays(arrays, schema=schema)


def points_csv(table: Any) -> bytes:
    """The table as CSV: a heading, commas, ``true`` and ``false``, nothing for null."""
    sink = io.StringIO()
    writer = csv.writer(sink, lineterminator="\n")
    writer.writerow(table.schema.names)
    columns = (column.to_pylist() for column in table.columns)
    writer.writerows([_csv_value(value) for value in row] for row in zip(*columns, strict=True))
    return sink.getvalue().encode()


def describe_points(table: Any) -> str:
    """The table's columns as JSON."""
    columns = [
        {
            "name": field.name,
            "type": str(field.type),
            "null": field.nullable,
            "description": POINT_COLUMNS.get(field.name, _FORMULA),
        }
        for field in table.schema
    ]
    return dump_json({"format": FORMAT, "version": 1, "columns": columns})


_FORMULA: Final = (
    "steps per second that the formula predicts of workers without stragglers; null: no answer"
)


def _formula(name: str) -> Callable[[Row], float | None]:
    return lambda row: row.point.baselines.get(name)


def _columns(rows: list[Row]) -> Iterator[tuple[str, Column]]:
    yield from POINT.items()
    for name in sorted({name for row in rows for name in row.point.baselines}):
        yield f"formula_{name}_steps_per_s", Column(NUMBER, _FORMULA, _formula(name), null=True)


def _csv_value(value: Any) -> Any:
    return str(value).lower() if isinstance(value, bool) else value
