"""The results folder of a run: its files, and their writing and reading.

Every file appears at once and complete. A run that was killed leaves at most files whose names
begin with a dot and end with ``.part``, inside the folder.
"""

import functools
import gzip
import hashlib
import shutil
from collections.abc import Callable, Iterable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final, Literal, Self, TypeVar

from pydantic import BaseModel

from netcosim import user_files
from netcosim.errors import StorageError
from netcosim.results.columns import (
    grant_columns,
    lost_columns,
    operation_columns,
    step_columns,
    trace_columns,
    window_columns,
)
from netcosim.results.json_files import format_of, from_json, schema_json, to_json
from netcosim.results.run_record import RunRecord
from netcosim.results.storage.claimed_folder import ClaimedFolder
from netcosim.results.storage.directory import storage_errors
from netcosim.results.storage.file_names import file_name
from netcosim.results.storage.ownership import Owner
from netcosim.results.storage.parquet import parquet_bytes, read_parquet
from netcosim.results.streams import grants, lost, windows
from netcosim.results.streams.grants import GrantRow
from netcosim.results.streams.lost import LostRow
from netcosim.results.streams.perfetto import perfetto_json
from netcosim.results.streams.summary import Summary
from netcosim.results.streams.windows import WindowRow
from netcosim.results.training import operations, steps
from netcosim.results.training.job_summary import JOB_FORMAT, JobSummary
from netcosim.results.training.operations import OperationColumns
from netcosim.results.training.perfetto import operations_json
from netcosim.results.training.points_table import describe_points, points_csv, points_table
from netcosim.results.training.steps import StepColumns
from netcosim.results.training.summary import TRAINING_FORMAT, TrainingSummary
from netcosim.scenario import Scenario, dump_scenario, parse_scenario
from netcosim.trace import StreamRow, Trace, trace_rows, trace_table
from netcosim.work_clock import on_work_clock

SCENARIO: Final = "scenario.toml"
TRACE: Final = "trace.parquet"
PREDICTIONS: Final = "predictions.parquet"
WINDOWS: Final = "windows.parquet"
GRANTS: Final = "grants.parquet"
LOST: Final = "lost.parquet"
OPERATIONS: Final = "operations.parquet"
STEPS: Final = "steps.parquet"
POINTS: Final = "points.parquet"
POINTS_CSV: Final = "points.csv"
SUMMARY: Final = "summary.json"
RUN: Final = "run.json"
PERFETTO: Final = "perfetto.json"
REPORT: Final = "report.html"
SEAL: Final = "seal.json"

World = Literal["emu", "sim", "job"]
"""Whose files a folder has: emulated bursts, a simulation, a training job over real flows."""

_OTHERS: Final = {
    "sweep.toml": "is the folder of a sweep, not of a run: python -m ray_sweeps.run --resume FOLDER"
    " writes its report, python -m ray_sweeps.compare A B compares two",
    "crosscheck.json": "is the folder of a cross-check, not of a run: python -m"
    " ray_sweeps.crosscheck makes a new one of the runs' folders",
}
"""Folders that are no run's, by a file that only they have; what else reads them."""

NOT_ENDED: Final = "has not ended: it is under way, or was killed"
"""Reason of a summary that was written on the way; it stays if the run can't go on."""

Row = TypeVar("Row")
Kept = TypeVar("Kept")
Record = TypeVar("Record", bound=BaseModel)

_ROOMS_BYTES: Final = (16_000_000, 1_000_000)
"""Space that a run holds back for its end: for all that is still to be written, and, where that is
not enough, for saying so."""

_GZIP_LEVEL: Final = 1
_STEPS_SCHEMA: Final = "steps.columns.json"
_POINTS_SCHEMA: Final = "schemas/points.columns.json"
_COPY_BYTES: Final = 1 << 20


def default_path(scenario_name: str, started: datetime, parent: Path = Path("results")) -> Path:
    """``results/<scenario>-<UTC stamp>``; a number is appended if that is taken."""
    stamp = started.astimezone(UTC).strftime("%Y%m%dT%H%M%SZ")
    first = path = parent / f"{scenario_name}-{stamp}"
    count = 2
    while path.exists() or path.is_symlink():
        path = first.with_name(f"{first.name}-{count}")
        count += 1
    return path


class ResultsFolder(ClaimedFolder):
    """One run's folder. Close it, or use a ``with`` statement."""

    @classmethod
    def create(
        cls,
        path: Path,
        scenario: Scenario,
        owner: Owner | None = None,
        *,
        world: World = "emu",
        needed_bytes: int = 0,
    ) -> Self:
        """Make the folder and write the scenario as resolved, the schemas, the columns.

        `world` says whose files will be in it; `needed_bytes` how much they may come to.

        Raises
        ------
        StorageError
            It can't be written, is a link, exists and is not empty, or its disk has too little
            space; it is left as it was.
        """
        results = cls.claim(path, owner, "schemas", needed_bytes=needed_bytes)
        try:
            results.write(SCENARIO, dump_scenario(scenario).encode())
            for name, text in _schemas(world).items():
                results.write(f"schemas/{name}", text.encode())
        except BaseException:
            results.withdraw()
            raise
        return results

    @classmethod
    def open(cls, path: Path, owner: Owner | None = None) -> Self:
        """Open the folder of an earlier run, or of this one in another process.

        Raises
        ------
        StorageError
            It can't be read, or is not a run's results folder: a sweep's or a cross-check's.
        """
        results = super().open(path, owner)
        names = results.names()
        other = next((said for name, said in _OTHERS.items() if name in names), None)
        if other is not None or SCENARIO not in names:
            results.close()
            said = other or f"is not a results folder: it has no {SCENARIO}"
            raise StorageError(f"{path}: {said}")
        return results

    def hold_room(self) -> None:
        """Hold back space for the run's end, on a disk that may fill up before."""
        for size_bytes in reversed(_ROOMS_BYTES):
            self.hold_back(size_bytes)

    def write_end(self, reason: str) -> None:
        """Write into the summary why the run ended; what else it says stays.

        For a run whose last results can't be written: those that the folder has are kept.

        Raises
        ------
        StorageError
            It can't be read or written.
        """
        self.give_back()
        kinds: dict[World, type[Any]] = {
            "emu": Summary,
            "sim": TrainingSummary,
            "job": JobSummary,
        }
        before = self._record(SUMMARY, kinds[self.world()])
        if before is not None:
            others = tuple(each for each in before.reasons if each != NOT_ENDED)
            ended = {"complete": False, "trusted": False, "reasons": (reason, *others)}
            self.write_summary(before.model_copy(update=ended))

    def write_trace(self, rows: Iterable[StreamRow]) -> None:
        """Write `trace.parquet`: the measured streams."""
        self.write(TRACE, trace_file(rows))

    def write_predictions(self, rows: Iterable[StreamRow]) -> str:
        """Write `predictions.parquet`; return its SHA-256 in hexadecimal."""
        content = trace_file(rows)
        self.write(PREDICTIONS, content)
        return hashlib.sha256(content).hexdigest()

    def write_windows(self, rows: Iterable[WindowRow]) -> None:
        """Write `windows.parquet`: credit over time."""
        self.write(WINDOWS, parquet_bytes(windows.TABLE.table(rows)))

    def write_grants(self, rows: Iterable[GrantRow]) -> None:
        """Write `grants.parquet`: credit as it was given, PINGs."""
        self.write(GRANTS, grants_file(rows))

    def write_lost(self, rows: Iterable[LostRow]) -> None:
        """Write `lost.parquet`: time that links lost."""
        self.write(LOST, lost_file(rows))

    def write_operations(self, parts: Iterable[OperationColumns]) -> None:
        """Write `operations.parquet`: operations of workers, simulated or over real flows."""
        whole = operations.TABLE.joined(parts)
        self.write(OPERATIONS, parquet_bytes(operations.TABLE.table(whole)))

    def write_steps(self, parts: Iterable[StepColumns]) -> None:
        """Write `steps.parquet`: when workers began and ended steps, simulated or measured."""
        self.write(STEPS, parquet_bytes(steps.TABLE.table(steps.TABLE.joined(parts))))

    def write_points(self, summary: TrainingSummary) -> None:
        """Write `points.parquet` and `points.csv`: a simulation's figures, a row for each point."""
        table = points_table(summary)
        self.write(_POINTS_SCHEMA, describe_points(table).encode())
        self.write(POINTS, parquet_bytes(table))
        self.write(POINTS_CSV, points_csv(table))

    def job_name(self, cell: str) -> str:
        """Path of a cell's job, below this folder."""
        name, plain = (f"{file_name(cell, among)}.json" for among in (self._cells, ()))
        if name != plain and self.has("jobs"):
            with self.enter("jobs") as jobs:
                # Earlier releases did not tell names apart that differ in case alone.
                name = plain if jobs.has(plain) else name
        return f"jobs/{name}"

    @functools.cached_property
    def _cells(self) -> tuple[str, ...]:
        """Names of all cells, as the scenario in the folder has them."""
        scenario = self.read_scenario()
        return tuple(f"{w.name}/{t.name}" for w in scenario.workload for t in scenario.transport)

    def write_job(self, cell: str, data: bytes) -> None:
        """Write the file of a cell's job, as `netcosim.training.job_file` has it."""
        self.write(self.job_name(cell), data)

    def write_seal(self, data: bytes) -> None:
        """Write the sealed prediction of what is run."""
        self.write(SEAL, data)

    def write_summary(self, summary: Summary | TrainingSummary | JobSummary) -> None:
        """Write `summary.json`, byte-equal for equal content."""
        self.write(SUMMARY, to_json(summary).encode())

    def write_run(self, record: RunRecord) -> None:
        """Write `run.json`."""
        self.write(RUN, to_json(record).encode())

    def write_perfetto(self) -> None:
        """Write `perfetto.json` from the files that are there."""
        if self.world() != "emu":
            self.write(PERFETTO, operations_json(self.read_operations()).encode())
            return
        summary = self.read_summary()
        best = {} if summary is None else {c.cell: c.best for c in summary.cells}
        clocks = lost.work_clocks(self.read_lost())
        text = perfetto_json(
            on_work_clock(self.read_trace(), clocks),
            self.read_predictions(),
            tuple(lost.moments_on_work_clock(self.read_windows(), clocks)),
            best,
        )
        self.write(PERFETTO, text.encode())

    def run_name(self, cell: str, run: str) -> str:
        """A cell's run in a word: ``mixed8/h2-on.r1``, or with a space if a cell is called so."""
        name = f"{cell}.{run}" if run else cell
        taken = {other.casefold() for other in self._cells} if run else set()
        return f"{cell} {run}" if name.casefold() in taken else name

    def add_capture(self, cell: str, connection: int, source: Path, run: str = "") -> str:
        """Pack a capture file into the folder; return its name there.

        `run` says which run of the cell it is of, where there are several.

        Raises
        ------
        StorageError
            `source` can't be read, or the file system refuses.
        """
        shown = self.run_name(cell, run)
        beside = [self.run_name(other, run) for other in self._cells] + [*self._cells]
        name = f"captures/{file_name(shown, beside)}.c{connection}.pcap.gz"
        with storage_errors(source, "can't be read"):
            capture = source.open("rb")
        with (
            capture,
            self.writing(name) as file,
            # No time and no name inside: equal captures make equal files.
            gzip.GzipFile("", "wb", _GZIP_LEVEL, file, mtime=0) as packed,
        ):
            shutil.copyfileobj(capture, packed, _COPY_BYTES)
        return name

    def hash_of(self, name: str) -> str:
        """SHA-256 of a file, in hexadecimal."""
        return hashlib.sha256(self.read(name)).hexdigest()

    def read_scenario(self) -> Scenario:
        """The scenario as resolved."""
        text = self.read(SCENARIO, user_files.SCENARIO).decode(errors="replace")
        return parse_scenario(text, str(self.path / SCENARIO))

    def read_trace(self) -> Trace:
        """Measured streams; empty if the run did not get that far."""
        return self._rows(TRACE, trace_rows)

    def read_predictions(self) -> Trace:
        """Predicted streams; empty if the run did not get that far."""
        return self._rows(PREDICTIONS, trace_rows)

    def read_windows(self) -> tuple[WindowRow, ...]:
        """Credit over time; empty if the run did not get that far."""
        return self._rows(WINDOWS, windows.TABLE.rows)

    def read_grants(self) -> tuple[GrantRow, ...]:
        """Credit as it was given, PINGs; empty if the run did not get that far."""
        return self._rows(GRANTS, grants.TABLE.rows)

    def read_lost(self) -> tuple[LostRow, ...]:
        """Time that links lost; empty in folders of older releases."""
        return self._rows(LOST, lost.TABLE.rows)

    def read_operations(self) -> OperationColumns:
        """Operations of workers; empty if the run did not get that far."""
        return self._whole(OPERATIONS, operations.TABLE.read, operations.TABLE.empty)

    def read_steps(self) -> StepColumns:
        """The steps of workers; empty if the run did not get that far."""
        return self._whole(STEPS, steps.TABLE.read, steps.TABLE.empty)

    def _rows(self, name: str, rows_of: Callable[[Any], tuple[Row, ...]]) -> tuple[Row, ...]:
        return self._whole(name, rows_of, tuple)

    def _whole(self, name: str, read: Callable[[Any], Kept], empty: Callable[[], Kept]) -> Kept:
        if not self.has(name):
            return empty()
        try:
            return read(read_parquet(self.read(name)))
        except ValueError as problem:
            raise StorageError(f"{self.path / name}: {_first_line(problem)}") from None

    def read_summary(self) -> Summary | None:
        """An emulation's summary; None if the run did not get that far.

        Raises
        ------
        StorageError
            It can't be read as one; one of a simulation can't.
        """
        return self._record(SUMMARY, Summary)

    def read_training_summary(self) -> TrainingSummary | None:
        """A simulation's summary; None if the run did not get that far.

        Raises
        ------
        StorageError
            It can't be read as one; one of an emulation can't.
        """
        return self._record(SUMMARY, TrainingSummary)

    def read_job_summary(self) -> JobSummary | None:
        """A training job's summary; None if the run did not get that far.

        Raises
        ------
        StorageError
            It can't be read as one.
        """
        return self._record(SUMMARY, JobSummary)

    def read_job(self, cell: str) -> bytes:
        """The file of a cell's job."""
        return self.read(self.job_name(cell))

    def world(self) -> World:
        """Origin of the results: by the summary, without one by the schemas."""
        said = self._format() if self.has(SUMMARY) else None
        if said == JOB_FORMAT:
            return "job"
        if said is not None:
            simulated = said == TRAINING_FORMAT
        elif self.has("schemas"):
            with self.enter("schemas") as schemas:
                simulated = schemas.has(_STEPS_SCHEMA)
        else:
            simulated = self.has(STEPS)
        return "sim" if simulated else "emu"

    def _format(self) -> str | None:
        data = self.read(SUMMARY, user_files.RECORD)
        try:
            return format_of(data)
        except ValueError:
            raise StorageError(f"{self.path / SUMMARY}: is damaged: not JSON") from None

    def read_run(self) -> RunRecord | None:
        """The run record; None if the run did not get that far."""
        return self._record(RUN, RunRecord)

    def _record(self, name: str, kind: type[Record]) -> Record | None:
        if not self.has(name):
            return None
        return from_json(kind, self.read(name, user_files.RECORD), str(self.path / name))


def _schemas(world: str) -> dict[str, str]:
    """The files in `schemas` of an emulation's or simulation's folder, and their content."""
    common = {
        "run.schema.json": schema_json(RunRecord),
        "trace.columns.json": trace_columns(),
    }
    if world == "job":
        return {
            "run.schema.json": schema_json(RunRecord),
            "summary.schema.json": schema_json(JobSummary),
            "operations.columns.json": operation_columns(),
            _STEPS_SCHEMA: step_columns(),
        }
    if world == "sim":
        return common | {
            "summary.schema.json": schema_json(TrainingSummary),
            "operations.columns.json": operation_columns(),
            _STEPS_SCHEMA: step_columns(),
        }
    return common | {
        "summary.schema.json": schema_json(Summary),
        "windows.columns.json": window_columns(),
        "grants.columns.json": grant_columns(),
        "lost.columns.json": lost_columns(),
    }


def trace_file(rows: Iterable[StreamRow]) -> bytes:
    """The content of `trace.parquet` or `predictions.parquet`, the same for the same rows."""
    return parquet_bytes(trace_table(rows))


def grants_file(rows: Iterable[GrantRow]) -> bytes:
    """The content of `grants.parquet`, the same for the same rows."""
    return parquet_bytes(grants.TABLE.table(rows))


def lost_file(rows: Iterable[LostRow]) -> bytes:
    """The content of `lost.parquet`, the same for the same rows."""
    return parquet_bytes(lost.TABLE.table(rows))


def _first_line(problem: ValueError) -> str:
    return str(problem).splitlines()[0]
