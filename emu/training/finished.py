"""Runs of a scenario's training jobs that are over, also those of an earlier run."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Self

from emu.training.job_cells import JobCell, worker_counts
from emu.training.runs import workers_text
from netcosim.errors import ScenarioError, StorageError
from netcosim.results.folder import RUN, SCENARIO, STEPS, SUMMARY, ResultsFolder
from netcosim.results.host import EMULATION, describe_host, versions
from netcosim.results.run_record import RunRecord
from netcosim.results.training import operations, steps
from netcosim.results.training.job_summary import (
    JobPoint,
    JobSeries,
    MessageTimes,
    UnfinishedPoint,
)
from netcosim.results.training.operations import OperationColumns
from netcosim.results.training.steps import StepColumns

Key = tuple[str, int]
"""Cell and number of workers."""

_OTHER_RELEASE = "was begun by another release, or on another machine; its figures are not mixed"
_OF_CLOCK = ("name", "kernel")
"""What of a clock's record is the same from run to run."""


@dataclass(slots=True, kw_only=True)
class Finished:
    """Runs that are over, by cell and number of workers.

    Attributes
    ----------
    points : figures of those that came to their end
    unfinished : of those that ended early
    messages : by cell, what messages take
    steps, operations : tables of either
    captures : files in the folder, by a run's name and host
    network : of the machine's own clock, by a run's name
    problems : that the run's record tells
    """

    points: dict[Key, JobPoint] = field(default_factory=dict)
    unfinished: dict[Key, UnfinishedPoint] = field(default_factory=dict)
    messages: dict[str, MessageTimes] = field(default_factory=dict)
    steps: dict[Key, StepColumns] = field(default_factory=dict)
    operations: dict[Key, OperationColumns] = field(default_factory=dict)
    captures: dict[str, str] = field(default_factory=dict)
    network: dict[str, Any] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)

    @classmethod
    def of(cls, folder: ResultsFolder, cells: Sequence[JobCell], clock: Mapping[str, Any]) -> Self:
        """Take over what a folder has of runs: those that came to their end need not be run again.

        Parameters
        ----------
        clock : record of the clock that the rest will be measured by

        Raises
        ------
        StorageError
            A file can't be read.
        ScenarioError
            Nothing is left to do; or it was begun by another release, with another scenario or
            other jobs, or by the machine's clock on another machine.
        """
        where, found = str(folder.path), cls()
        summary, record = folder.read_job_summary(), folder.read_run()
        if summary is None:
            return found
        if summary.complete:
            allowed = (
                "is complete: nothing is left to do; python -m netcosim.report draws its report"
            )
            raise ScenarioError.at("--resume", where, allowed)
        hashes = {cell.name: cell.sha256 for cell in cells}
        if {each.cell: each.job_sha256 for each in summary.series} != hashes:
            raise ScenarioError.at("--resume", where, "is of other jobs than its scenario draws")
        if record is None:
            if any(each.points for each in summary.series):
                raise StorageError(f"{folder.path}: has no {RUN}, by which its figures are known")
            return found
        if not _same_origin(record, clock):
            raise ScenarioError.at("--resume", where, _OTHER_RELEASE)
        if record.scenario_sha256 != folder.hash_of(SCENARIO):
            allowed = f"{SCENARIO} is not what it was begun with; its figures are not mixed"
            raise ScenarioError.at("--resume", where, allowed)
        for each in summary.series:
            _check_points(each, cells[0], f"{folder.path}/{SUMMARY}")
            if each.messages is not None and each.points:
                found.messages[each.cell] = each.messages
            found.points |= {(each.cell, point.workers): point for point in each.points}
            found.unfinished |= {(each.cell, ended.workers): ended for ended in each.unfinished}
        found._take_rows(folder, some_workers=cells[0].job.counts_some)
        found._take_record(record)
        return found

    def _take_rows(self, folder: ResultsFolder, *, some_workers: bool) -> None:
        """Take the rows of all runs; those of one that ended early until it has been run again."""
        all_steps, all_operations = folder.read_steps(), folder.read_operations()
        for key in (*self.points, *self.unfinished):
            cell, workers = key
            mine = all_steps.cell.are(cell) & (all_steps.workers == workers)
            self.steps[key] = steps.TABLE.where(all_steps, mine)
            mine = all_operations.cell.are(cell) & (all_operations.workers == workers)
            self.operations[key] = operations.TABLE.where(all_operations, mine)
        for (cell, workers), point in self.points.items():
            if not some_workers and len(self.steps[cell, workers]) != workers * point.steps:
                where = f"{folder.path / STEPS}: {cell}, {workers_text(workers)}"
                raise StorageError(f"{where}: must have {point.steps} steps of each worker")

    def _take_record(self, record: RunRecord) -> None:
        names = {f"{cell}, {workers_text(workers)}" for cell, workers in self.points}
        self.captures = {
            run: file for run, file in record.captures.items() if run.rpartition(", ")[0] in names
        }
        self.network = {name: each for name, each in record.network.items() if name in names}
        files = tuple(f"{file}: " for file in self.captures.values())
        self.problems = [problem for problem in record.problems if problem.startswith(files)]

    def points_of(self, cell: str) -> tuple[JobPoint, ...]:
        """Figures of a cell, by number of workers."""
        return tuple(point for (mine, _), point in sorted(self.points.items()) if mine == cell)

    def unfinished_of(self, cell: str) -> tuple[UnfinishedPoint, ...]:
        """Runs of a cell that ended early, by number of workers."""
        return tuple(ended for (mine, _), ended in sorted(self.unfinished.items()) if mine == cell)

    def write_tables(self, folder: ResultsFolder, order: Sequence[Key]) -> None:
        """Write the tables, in the order in which all is run."""
        folder.write_steps([self.steps[key] for key in order if key in self.steps])
        folder.write_operations([self.operations[key] for key in order if key in self.operations])


def _check_points(series: JobSeries, cell: JobCell, source: str) -> None:
    """Refuse points that a run of this scenario does not have."""
    training, counts = cell.scenario.training, (1, *worker_counts(cell.scenario))
    workers = [point.workers for point in series.points]
    if len(set(workers)) < len(workers):
        raise StorageError(f"{source}: {series.cell}: points: each number of workers once")
    for count in (*workers, *(ended.workers for ended in series.unfinished)):
        if count not in counts:
            allowed = f"must be of {', '.join(map(str, counts[1:]))}"
            raise StorageError(f"{source}: {series.cell}: workers: {count}: {allowed}")
    for point in series.points:
        steps = (training.steps, cell.job.plan.steps)
        if point.steps not in steps or point.warmup > training.warmup:
            raise StorageError(f"{source}: {series.cell}: steps: {point.steps}: of another run")


def _same_origin(record: RunRecord, clock: Mapping[str, Any]) -> bool:
    """True if what was measured can stand beside what is measured now."""
    now: dict[str, Any] = describe_host()
    host = now if clock["name"] == "real" else {"python": now["python"]}
    return (
        record.versions == versions(EMULATION)
        and all(record.clock.get(name) == clock.get(name) for name in _OF_CLOCK)
        and all(record.host.get(name) == value for name, value in host.items())
    )
