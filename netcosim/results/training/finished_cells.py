"""Cells of a simulation that are finished while others are not: kept so that it can be resumed."""

import hashlib
from dataclasses import dataclass
from typing import Any, Final

from pydantic import BaseModel

from netcosim import user_files
from netcosim.errors import StorageError
from netcosim.results.json_files import from_json, to_json
from netcosim.results.storage.directory import Directory
from netcosim.results.storage.parquet import parquet_bytes, read_parquet
from netcosim.results.training import operations, steps
from netcosim.results.training.operations import OperationColumns
from netcosim.results.training.steps import StepColumns
from netcosim.results.training.summary import Series
from netcosim.trace import Trace, trace_rows, trace_table

UNFINISHED: Final = "unfinished"
"""Folder within the results; it is gone once all cells are finished."""

_TABLES: Final = ("steps", "operations", "trace")


@dataclass(frozen=True, slots=True, kw_only=True)
class FinishedCell:
    """Tables of one cell."""

    steps: StepColumns
    operations: OperationColumns
    transfers: Trace


class Origin(BaseModel, frozen=True, extra="forbid"):
    """What the figures of a cell rest on.

    Attributes
    ----------
    scenario : SHA-256 of `scenario.toml`
    engine, sources : hashes of the compiled engine, and of the project's Python
    """

    scenario: str
    engine: str
    sources: str


class _Record(BaseModel, frozen=True, extra="forbid"):
    """A finished cell: its figures, and the SHA-256 of each of its tables."""

    origin: Origin
    series: Series
    tables: dict[str, str]


def keep_cell(
    folder: Directory, number: int, origin: Origin, series: Series, cell: FinishedCell
) -> None:
    """Write all of a cell, by its place in the scenario.

    Raises
    ------
    StorageError
        The file system refuses.
    """
    digests = {}
    for name, table in (
        ("steps", steps.TABLE.table(cell.steps)),
        ("operations", operations.TABLE.table(cell.operations)),
        ("trace", trace_table(cell.transfers)),
    ):
        content = parquet_bytes(table)
        folder.write(_file(number, f"{name}.parquet"), content)
        digests[name] = _digest(content)
    record = _Record(origin=origin, series=series, tables=digests)
    folder.write(_file(number, "json"), to_json(record).encode())  # last: it is finished now


def read_cell(folder: Directory, number: int) -> tuple[Origin, Series, FinishedCell] | None:
    """What was kept of a cell; None if it was not finished.

    Raises
    ------
    StorageError
        A file can't be read, or is not what was written.
    """
    if not folder.has(UNFINISHED):
        return None
    with folder.enter(UNFINISHED) as unfinished:
        if not unfinished.has(f"{number}.json"):
            return None
    name = _file(number, "json")
    text = folder.read(name, user_files.RECORD)
    record = from_json(_Record, text, str(folder.path / name))
    found = {table: _read(folder, number, table, record) for table in _TABLES}
    cell = FinishedCell(
        steps=steps.TABLE.read(found["steps"]),
        operations=operations.TABLE.read(found["operations"]),
        transfers=trace_rows(found["trace"]),
    )
    return record.origin, record.series, cell


def _read(folder: Directory, number: int, table: str, record: _Record) -> Any:
    name = _file(number, f"{table}.parquet")
    content = folder.read(name)
    if _digest(content) != record.tables.get(table):
        raise StorageError(
            f"{folder.path / name}: is not what was written: remove"
            f" {folder.path / _file(number, 'json')}, and the cell is simulated again"
        )
    return read_parquet(content)


def forget_cells(folder: Directory) -> None:
    """Remove what was kept of single cells, once the whole simulation is written."""
    if not folder.has(UNFINISHED):
        return
    with folder.enter(UNFINISHED) as unfinished:
        for name in unfinished.names():
            unfinished.remove(name)
    folder.remove_folder(UNFINISHED)


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def _file(number: int, name: str) -> str:
    return f"{UNFINISHED}/{number}.{name}"
