"""What a run measures: the task, and what has been found so far."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Protocol

from emu.calibration.links import REAL, Pace, link_model
from emu.calibration.trial_bursts import UncapturedError
from emu.measurement.cell_digest import CellDigest, CellOutcome
from emu.network.measured_paths import Measured
from emu.plan import Plan, PlannedConnection, link_key
from h2model.connection import LinkModel
from netcosim.cli.session import timed_phase
from netcosim.job import Cell
from netcosim.results.folder import ResultsFolder
from netcosim.results.json_files import as_stored
from netcosim.scenario import TcpSpec
from topo.paths import path_between


class Reporter(Protocol):
    """Reports how far a run has come."""

    def say(self, message: str) -> None:
        """Report one step, in words."""

    def cells(self, plan: Plan) -> AbstractContextManager[None]:
        """Show the bursts of all cells as they are done, within the block."""

    def burst_done(self, cell: Cell, burst: int) -> None:
        """Report a burst as done."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """Task of a clock: the plan to measure, and the folders for it.

    `scratch` is the run's private folder in memory; `checkpoint` writes what has been found.
    """

    plan: Plan
    tcp: TcpSpec
    folder: ResultsFolder
    scratch: Path
    progress: Reporter
    checkpoint: Callable[[], None]


@dataclass(slots=True, kw_only=True)
class Measurements:
    """All that has been measured so far.

    Attributes
    ----------
    clock : which clock it was measured by, for `run.json`
    phases_s : wall time of each phase
    network : what was set and read back of the network
    measured : what its links delivered before the cells
    outcomes : the cells, the last one perhaps not to its end
    models : by `link_key` the fields of the link that a connection's models are given
    overheads, acceptances : by `receiver_key` what receivers were calibrated to
    pace : of kernels and endpoints, for the models
    recorder : how pauses were recorded
    problems : what is worth a note
    """

    clock: dict[str, Any] = field(default_factory=dict)
    phases_s: dict[str, float] = field(default_factory=dict)
    network: dict[str, Any] = field(default_factory=dict)
    measured: Measured | None = None
    outcomes: list[CellOutcome] = field(default_factory=list)
    models: dict[str, Any] = field(default_factory=dict)
    overheads: dict[str, Any] = field(default_factory=dict)
    acceptances: dict[str, Any] = field(default_factory=dict)
    pace: Pace = REAL
    recorder: dict[str, Any] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)

    @contextmanager
    def as_problem(self, consequence: str) -> Iterator[None]:
        """Record a calibration that was not captured as a problem, without ending the run."""
        try:
            yield
        except UncapturedError as problem:
            self.problems.append(f"{problem}; {consequence}")

    def digest(self, task: Task) -> CellDigest:
        """Digest of the task's cells, over links as they will have been measured."""
        return CellDigest(
            plan=task.plan,
            folder=task.folder,
            tcp=task.tcp,
            links=lambda cell, planned: self.link_of(task, cell, planned),
            bucket_bytes=self.bucket_bytes,
        )

    def link_of(self, task: Task, cell: Cell, planned: PlannedConnection) -> LinkModel:
        """Link of a connection's models, from the measured network; it is recorded."""
        assert self.measured is not None
        path = path_between(task.plan.net, planned.source, planned.destination)
        slowest = min(path, key=lambda link: link.link.rate)
        link = link_model(
            self.measured,
            cell,
            planned,
            task.plan.connections(cell),
            task.plan.net,
            task.tcp,
            bucket_bytes=self.bucket_bytes(slowest.name),
            pace=self.pace,
        )
        # Predictions use the values as stored, so that the same can be predicted again.
        stored = as_stored(asdict(link))
        self.models[link_key(cell.name, planned.index)] = stored
        return LinkModel(**stored)

    def bucket_bytes(self, link: str) -> int:
        """Token bucket of a link, as it was set."""
        return int(self.network["links"][link]["bucket_bytes"])

    def finish(self, task: Task, outcome: CellOutcome) -> None:
        """Keep a cell and write what there is; raises what ended the cell early."""
        self.outcomes.append(outcome)
        if outcome.failure is not None:
            raise outcome.failure
        with timed_phase(self.phases_s, "results"):
            task.checkpoint()
