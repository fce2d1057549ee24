"""Cells of a simulation that are finished while others are not: kept so that it can be resumed."""

from dataclasses import dataclass
from typing import Any, Final

from netcosim.results.storage.directory import Directory
from netcosim.results.storage.parquet import parquet_bytes, read_parquet
from netcosim.results.training import operations, steps
from netcosim.results.training.operations import OperationColumns
from netcosim.results.training.steps import StepColumns
from netcosim.trace import Trace, trace_rows, trace_table

UNFINISHED: Final = "unfinished"
"""Folder within the results; it is gone once all cells are finished."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FinishedCell:
    """Tables of one cell; its figures are in the summary."""

    steps: StepColumns
    operations: OperationColumns
    transfers: Trace


def keep_cell(folder: Directory, number: int, cell: FinishedCell) -> None:
    """Write the tables of a cell, by its place in the scenario.

    Raises
    ------
    StorageError
        The file system refuses.
    """
    for name, table in (
        ("steps", steps.TABLE.table(cell.steps)),
        ("operations", operations.TABLE.table(cell.operations)),
        ("trace", trace_table(cell.transfers)),
    ):
        folder.write(_file(number, name), parquet_bytes(table))


def read_cell(folder: Directory, number: int) -> FinishedCell | None:
    """The tables of a cell; None if it was not finished.

    Raises
    ------
    StorageError
        A file can't be read.
    ValueError
        One that is there is not such a table.
    """
    if not folder.has(UNFINISHED):
        return None
    names = {name: _file(number, name) for name in ("steps", "operations", "trace")}
    with folder.enter(UNFINISHED) as unfinished:
        there = set(unfinished.names())
    if not {name.rpartition("/")[2] for name in names.values()} <= there:
        return None

    def table(name: str) -> Any:
        return read_parquet(folder.read(names[name]))

    return FinishedCell(
        steps=steps.TABLE.read(table("steps")),
        operations=operations.TABLE.read(table("operations")),
        transfers=trace_rows(table("trace")),
    )


def forget_cells(folder: Directory) -> None:
    """Remove the tables of single cells, once those of the whole simulation are written."""
    if not folder.has(UNFINISHED):
        return
    with folder.enter(UNFINISHED) as unfinished:
        for name in unfinished.names():
            unfinished.remove(name)
    folder.remove_folder(UNFINISHED)


def _file(number: int, name: str) -> str:
    return f"{UNFINISHED}/{number}.{name}.parquet"
