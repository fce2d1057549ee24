"""A run of a cell's job with so many workers, and what came of it."""

from collections import defaultdict
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from emu.capture.tcpdump import CaptureCounts
from emu.remote.training.roles import Row
from emu.training.job_cells import JobCell
from emu.training.progress import FinishedSteps, StepProgress
from netcosim.results.training.job_summary import MessageTimes
from netcosim.training.job import TrainingJob
from netcosim.training.job_file import dump_job

Rows = dict[str, list[Row]]
"""What nodes logged, by host."""


def workers_text(workers: int) -> str:
    """A number of workers in words."""
    return f"{workers} worker{'s' * (workers > 1)}"


@dataclass(frozen=True, slots=True)
class Run:
    """A cell's job with so many workers, or of one worker that does every recorded step once."""

    cell: JobCell
    workers: int
    profiling: bool = False

    @property
    def name(self) -> str:
        """Name for people."""
        return f"{self.cell.name}, {workers_text(self.workers)}"

    @property
    def job(self) -> TrainingJob:
        """The job with so many workers."""
        job = self.cell.job
        return job.profiling() if self.profiling else job.first(self.workers)

    @property
    def data(self) -> bytes:
        """The job's file for its nodes."""
        return dump_job(self.job) if self.profiling else self.cell.data

    def progress(self, say: Callable[[str], None]) -> StepProgress:
        """Progress of the run, told in words."""
        return StepProgress(
            name=self.name,
            steps=self.job.steps,
            say=say,
            finished=FinishedSteps(workers=self.workers),
        )


@dataclass(slots=True, kw_only=True)
class Outcome:
    """Outcome of a run: rows that nodes told, and how it ended.

    Attributes
    ----------
    failure : what ended it early; `rows` are then of what was told before
    lost_share : part of the job's time in which some processor of the machine was away
    busy_share : part of that time in which the busiest node's process ran
    messages : what messages take our endpoints here; None: not measured
    captures : of its first steps, by host: the file, and what tcpdump counted
    """

    rows: Rows = field(default_factory=lambda: defaultdict(list))
    failure: BaseException | None = None
    lost_share: float = 0.0
    busy_share: float = 0.0
    messages: MessageTimes | None = None
    captures: dict[str, tuple[Path, CaptureCounts]] = field(default_factory=dict)

    def keep(self, host: str, rows: Sequence[Row]) -> None:
        """Keep what a host's node logged."""
        self.rows[host] += rows


class Clock(Protocol):
    """Clock by which jobs are run.

    Attributes
    ----------
    record, network, recorder : for `run.json`
    """

    record: dict[str, Any]
    network: dict[str, Any]
    recorder: dict[str, Any]

    def running(self, runs: Sequence[Run]) -> AbstractContextManager[None]:
        """Start what can be started at once; nothing is left of it at the end of the block."""

    def outcome(self, run: Run) -> Outcome:
        """Wait for a run's outcome, which may be a failure or an interruption."""

    def so_far(self, run: Run, ended: BaseException) -> Outcome | None:
        """Outcome of a run that is not waited for any more: it is over, or has `ended` early.

        None for one that has not begun.
        """

    def forget(self, run: Run) -> None:
        """Remove the files of a run whose outcome was taken."""
