"""Single runs of a simulation as a flat table, a row for each cell, number of workers and run."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Final

from netcosim.results.training.point_columns import POINT, Column, Row

_OF_SEVERAL_RUNS: Final = frozenset(
    {
        "runs",
        "examples_per_s_half_width",
        "steps_per_s_half_width",
        "measured_examples_per_s_half_width",
        "measured_steps_per_s_half_width",
        "measured_steps_per_s_sd",
        "speed_up",
        "efficiency",
        "saturated",
    }
)


@dataclass(frozen=True, slots=True, kw_only=True)
class RunRow(Row):
    """A run, as a point of a single one; `run` is its number, which its random draws rest on."""

    run: int


_COLUMNS: Final[Mapping[str, Column]] = MappingProxyType(
    {name: column for name, column in POINT.items() if name not in _OF_SEVERAL_RUNS}
)

RUN_COLUMNS: Final[Mapping[str, str]] = MappingProxyType(
    {
        "run": "its number, from 0; runs of one number draw the same",
        **{
            name: column.description.removesuffix(", mean over runs")
            for name, column in _COLUMNS.items()
        },
    }
)
"""Descriptions of the columns."""


def runs_schema() -> Any:
    """The table's schema, a `pyarrow.Schema`."""
    import pyarrow as pa  # only here: the program starts without it

    fields = [pa.field("run", pa.int64(), nullable=False)]
    fields += [
        pa.field(name, pa.type_for_alias(column.kind), nullable=column.null)
        for name, column in _COLUMNS.items()
    ]
    return pa.schema(fields)


def run_values(row: RunRow) -> dict[str, Any]:
    """Values of a run by column; numbers as they were computed, not rounded."""
    return {"run": row.run, **{name: column.value(row) for name, column in _COLUMNS.items()}}


def runs_table(rows: Sequence[RunRow]) -> Any:
    """Make the table of single runs, a `pyarrow.Table` with the columns of `RUN_COLUMNS`."""
    import pyarrow as pa

    return pa.Table.from_pylist([run_values(row) for row in rows], schema=runs_schema())
