"""Collections of finished runs: ``runs.parquet``, and one table for each kind of rows.

``runs.parquet`` has a line for each run, with its scenario and its record as texts. The tables are
those of results folders with two columns more, `run` and `revision`: rows count if ``runs.parquet``
names that revision of that run. It is written last, so that a write that is killed leaves the
runs that were there before, and rows that do not count.
"""

import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from netcosim.errors import StorageError
from netcosim.results.folder import GRANTS, LOST, RUN, SCENARIO, TRACE, ResultsFolder
from netcosim.results.storage.directory import storage_errors
from netcosim.results.storage.parquet import parquet_bytes, read_parquet
from netcosim.user_files import TABLE, open_regular, read_all

RUNS: Final = "runs.parquet"
SEPARATOR: Final = "#"
"""Between a collection's path and a run's name."""

_TEXTS: Final = (SCENARIO, RUN)
_TABLES: Final = (TRACE, GRANTS, LOST)
_COLUMNS: Final = pa.schema(
    [
        pa.field("run", pa.string(), nullable=False),
        pa.field("revision", pa.int64(), nullable=False),
        *(pa.field(name, pa.string(), nullable=False) for name in _TEXTS),
        pa.field("tables", pa.string(), nullable=False),
    ],
    metadata={"format": "netcosim-runs", "version": "1"},
)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Kept:
    """A run's line: its revision, its texts by file name, the tables that it has."""

    revision: int
    texts: Mapping[str, str]
    tables: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Collection:
    """A folder with runs; it need not exist before the first is put into it."""

    path: Path

    def names(self) -> tuple[str, ...]:
        """The names of all runs, sorted.

        Raises
        ------
        StorageError
            The folder's files can't be read.
        """
        return tuple(sorted(self._runs()))

    def text(self, name: str, file: str) -> str | None:
        """Text of a run's scenario or record; None where the run is not there."""
        kept = self._runs().get(name)
        return None if kept is None else kept.texts[file]

    def tables(self, name: str) -> tuple[str, ...]:
        """The tables that a run has; none where the run is not there."""
        kept = self._runs().get(name)
        return () if kept is None else kept.tables

    @contextmanager
    def open(self, name: str) -> Iterator[ResultsFolder]:
        """Open a run as a temporary results folder, which is removed when the block ends.

        Raises
        ------
        StorageError
            There is no such run, or the collection can't be read.
        """
        runs = self._runs()
        if name not in runs:
            there = f"has {', '.join(sorted(runs))}" if runs else f"has no {RUNS}, or no run in it"
            raise StorageError(f"{self.path}{SEPARATOR}{name}: no such run: the folder {there}")
        kept = runs[name]
        with tempfile.TemporaryDirectory(prefix="netcosim-") as made:
            for file, text in kept.texts.items():
                (Path(made) / file).write_text(text, encoding="utf-8")
            for file in kept.tables:
                (Path(made) / file).write_bytes(parquet_bytes(self._rows(file, name, kept)))
            with ResultsFolder.open(Path(made)) as folder:
                yield folder

    def put(self, name: str, files: Mapping[str, bytes]) -> None:
        """Keep a run, in place of the one of this name.

        Parameters
        ----------
        name
            The run's.
        files
            The content of its scenario, its record and its tables, by file name.

        Raises
        ------
        StorageError
            The folder can't be read or written.
        """
        runs = self._runs()
        before = runs.get(name)
        kept = _Kept(
            revision=1 if before is None else before.revision + 1,
            texts={file: files[file].decode() for file in _TEXTS},
            tables=tuple(file for file in _TABLES if file in files),
        )
        with storage_errors(self.path):
            self.path.mkdir(parents=True, exist_ok=True)
        for file in _TABLES:
            self._write(file, self._with_rows(file, runs, name, kept, files.get(file)))
        self._write(RUNS, _table({**runs, name: kept}))

    def _with_rows(
        self,
        file: str,
        runs: Mapping[str, _Kept],
        name: str,
        kept: _Kept,
        content: bytes | None,
    ) -> Any:
        """The rows of all runs that count, and those of the one that will."""
        parts = [] if content is None else [_named(read_parquet(content), name, kept.revision)]
        whole = self._table_of_rows(file)
        if whole is not None:
            live = {(run, each.revision) for run, each in runs.items()}
            pairs = zip(whole["run"].to_pylist(), whole["revision"].to_pylist(), strict=True)
            parts.insert(0, whole.filter(pa.array([pair in live for pair in pairs], pa.bool_())))
        if any(not part.schema.equals(parts[0].schema, check_metadata=True) for part in parts):
            raise StorageError(f"{self.path / file}: is of another release: put all runs anew")
        return pa.concat_tables(parts).sort_by([("run", "ascending")]) if parts else None

    def _runs(self) -> dict[str, _Kept]:
        table = self._table(RUNS)
        if table is None:
            return {}
        if table.schema.metadata != _COLUMNS.metadata:
            raise StorageError(f"{self.path / RUNS}: is not a table of runs of version 1")
        return {
            row["run"]: _Kept(
                revision=row["revision"],
                texts={file: row[file] for file in _TEXTS},
                tables=tuple(row["tables"].split()),
            )
            for row in table.to_pylist()
        }

    def _rows(self, file: str, name: str, kept: _Kept) -> Any:
        """A run's rows, as the table that they were."""
        table = self._table_of_rows(file)
        if table is None:
            raise StorageError(f"{self.path / file}: is not there, but {name} has rows in it")
        mine = pc.and_(pc.equal(table["run"], name), pc.equal(table["revision"], kept.revision))
        return table.filter(mine).drop_columns(["run", "revision"])

    def _table_of_rows(self, file: str) -> Any:
        """A table with the rows of runs; None where there is none."""
        table = self._table(file)
        for name in () if table is None else ("run", "revision"):
            wanted = _COLUMNS.field(name).type
            if name not in table.schema.names or table[name].type != wanted:
                raise StorageError(
                    f'{self.path / file}: is no table of a collection: has no column "{name}" of'
                    f" type {wanted}"
                )
        return table

    def _table(self, file: str) -> Any:
        """A table; None where there is none."""
        path = self.path / file
        try:
            with storage_errors(path, "can't be read"):
                if not path.exists():
                    return None
                with open_regular(path) as opened:
                    return read_parquet(read_all(opened, TABLE))
        except ValueError as problem:
            raise StorageError(f"{path}: {problem}") from None

    def _write(self, file: str, table: Any) -> None:
        path = self.path / file
        with storage_errors(path):
            if table is None:
                path.unlink(missing_ok=True)
                return
            partial = path.with_name(f".{file}.part")
            partial.write_bytes(parquet_bytes(table))
            partial.replace(path)


@contextmanager
def open_run(where: Path) -> Iterator[ResultsFolder]:
    """A results folder, or one run of a collection as ``FOLDER#RUN``.

    Raises
    ------
    StorageError
        It is not there, or can't be read.
    """
    folder, separator, name = str(where).rpartition(SEPARATOR)
    if separator and not where.exists():
        with Collection(path=Path(folder)).open(name) as run:
            yield run
        return
    with ResultsFolder.open(where) as run:
        yield run


def _named(table: Any, name: str, revision: int) -> Any:
    """A run's rows with its name and revision before them."""
    count = table.num_rows
    table = table.add_column(0, _COLUMNS.field("run"), pa.array([name] * count, pa.string()))
    return table.add_column(1, _COLUMNS.field("revision"), pa.array([revision] * count, pa.int64()))


def _table(runs: Mapping[str, _Kept]) -> Any:
    rows = [
        {
            "run": name,
            "revision": kept.revision,
            **kept.texts,
            "tables": " ".join(kept.tables),
        }
        for name, kept in sorted(runs.items())
    ]
    return pa.Table.from_pylist(rows, schema=_COLUMNS)
