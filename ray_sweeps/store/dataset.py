"""The dataset of a sweep: Parquet files, each complete when it appears, a row a run.

Files are only ever added. Whoever reads ``runs/*.parquet`` while the sweep runs sees all rows that
were on the disk by then.
"""

import re
import time
from pathlib import Path
from typing import Any, Final

import numpy as np

from netcosim.errors import ScenarioError, StorageError
from netcosim.results.storage.directory import Directory
from netcosim.results.storage.parquet import read_parquet
from ray_sweeps.evaluation import ENGINE_HASH, FACTOR, KEY, RUN, Rows
from ray_sweeps.key_set import RUN_BYTES, KeySet, keys_of, runs_of
from ray_sweeps.store.folder import RUNS

FLUSH_S: Final = 2.0
"""Rows are on the disk so long after they were made, at the latest; in a sweep of hours `_PART_OF`
of its time, as every file that is added costs its readers."""

_PART_OF: Final = 0.005

_MOST_WAITING: Final = 20_000
_GO_ON: Final = "; move it away, and --resume makes its runs again"
_PART: Final = re.compile(r"part-([0-9]{6,})\.parquet", re.ASCII)


class Dataset:
    """The rows of a sweep in a folder."""

    def __init__(self, folder: Directory, schema: Any) -> None:
        self._folder = folder
        self._schema = schema
        self._waiting: list[Any] = []
        self._begun_s = self._flushed_s = time.monotonic()
        self._next = 1 + max((number for number, _ in self._parts()), default=0)

    def _parts(self) -> list[tuple[int, str]]:
        """Numbers and names of the files, in the order in which they were written."""
        if not self._folder.has(RUNS):
            return []
        with self._folder.enter(RUNS) as runs:
            names = runs.names()
        found = [(int(match[1]), name) for name in names if (match := _PART.fullmatch(name))]
        return sorted(found)

    def tables(self) -> Any:
        """Yield the path and the table of each file."""
        for _, name in self._parts():
            where = self._folder.path / RUNS / name
            try:
                table = read_parquet(self._folder.read(f"{RUNS}/{name}"))
            except (ValueError, StorageError) as problem:
                said = str(problem).removeprefix(f"{where}: ")
                raise StorageError(f"{where}: {said}{_GO_ON}") from None
            yield where, table

    def taken(self, engine_hash: str) -> KeySet:
        """Find the keys of the runs that are in the files.

        Raises
        ------
        StorageError
            A file can't be read, or is not of a sweep.
        ScenarioError
            A row was made by another engine, or for other factors.
        """
        taken = KeySet(RUN_BYTES)
        for path, table in self.tables():
            self._check(path, table, engine_hash)
            if table.num_rows:
                keys = keys_of(table.column(KEY).to_pylist())
                taken.add(runs_of(keys, table.column(RUN).to_numpy().astype(np.int64)))
        return taken

    def _check(self, path: Path, table: Any, engine_hash: str) -> None:
        where = str(self._folder.path)
        if not table.schema.equals(self._schema):
            differing = sorted(set(table.schema) ^ set(self._schema), key=lambda field: field.name)
            names = list(dict.fromkeys(field.name for field in differing))
            if not all(name.startswith(FACTOR) for name in names):
                raise StorageError(
                    f"{path}: is not of a sweep by this release: differs in the column(s)"
                    f" {', '.join(names)}{_GO_ON}"
                )
            said = ", ".join(name.removeprefix(FACTOR) for name in names) or "their order"
            allowed = f"has runs of a sweep with other factors ({said}): take a new folder"
            raise ScenarioError.at("--resume", where, allowed)
        engines = table.column(ENGINE_HASH).unique().to_pylist()
        if any(found != engine_hash for found in engines):
            allowed = (
                "has runs of another release of the simulator, whose figures are not mixed with"
                " those of this one: take a new folder"
            )
            raise ScenarioError.at("--resume", where, allowed)

    def add(self, rows: Rows) -> None:
        """Take rows; they are on the disk some `FLUSH_S` later, if more come."""
        self._waiting.append(rows.table)
        now_s = time.monotonic()
        late = now_s - self._flushed_s >= max(FLUSH_S, _PART_OF * (now_s - self._begun_s))
        if late or sum(table.num_rows for table in self._waiting) >= _MOST_WAITING:
            self.flush()

    def flush(self) -> None:
        """Put all rows that were taken on the disk, in one file.

        Raises
        ------
        StorageError
            The disk is full or can't be written; the rows are kept for another try.
        """
        self._flushed_s = time.monotonic()
        if not any(table.num_rows for table in self._waiting):
            return
        import pyarrow as pa
        import pyarrow.parquet as pq

        table = pa.concat_tables(self._waiting)
        name = f"{RUNS}/part-{self._next:06d}.parquet"
        with self._folder.writing(name, durable=True) as file:
            pq.write_table(table, file, compression="zstd")
        self._next += 1
        self._waiting.clear()
