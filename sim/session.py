"""A whole simulation: every cell with every number of workers, written as it gets done."""

import os
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Final

from netcosim.cli import interruption
from netcosim.errors import NetcosimError
from netcosim.results.folder import ResultsFolder
from netcosim.results.host import SIMULATION, describe_host, versions
from netcosim.results.operations import OperationColumns
from netcosim.results.run_record import RunRecord
from netcosim.results.steps import StepColumns
from netcosim.results.training import Point, TrainingSummary
from netcosim.scenario import Scenario
from netcosim.trace import StreamRow
from sim.compiled import engine_hash
from sim.experiment.job import TrainingCell
from sim.experiment.point import make_point, make_series, one_worker
from sim.experiment.run import RunFigures, simulate
from sim.experiment.trace import trace
from sim.progress import Progress

MOST_STEP_ROWS: Final = 2_000_000
"""Beyond so many, `steps.parquet` takes no further runs."""

_KILLED: Final = "has not ended: it is under way, or was killed"


def worker_counts(scenario: Scenario) -> tuple[int, ...]:
    """The numbers of workers to run, rising."""
    return tuple(sorted(scenario.training.workers or (scenario.cluster.workers,)))


@dataclass(slots=True, kw_only=True)
class Session:
    """One simulation; `run` may be called once.

    `failure` is what ended it early: an interruption or a failure with a message of its own.
    """

    scenario: Scenario
    cells: Sequence[TrainingCell]
    traced: Sequence[int]
    folder: ResultsFolder
    progress: Progress
    command: tuple[str, ...]
    started: datetime
    failure: BaseException | None = None
    points: dict[str, list[Point]] = field(default_factory=dict)
    steps: list[StepColumns] = field(default_factory=list)
    operations: list[OperationColumns] = field(default_factory=list)
    transfers: list[StreamRow] = field(default_factory=list)
    phases_s: dict[str, float] = field(default_factory=dict)
    generic: dict[str, str] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)

    def run(self) -> TrainingSummary:
        """Simulate everything, or as much as is possible; write the results."""
        self.folder.write_summary(self._summary(_KILLED))
        try:
            with self.progress.runs(len(self.cells) * self._runs_a_cell()):
                for cell in self.cells:
                    self._simulate(cell)
                    self.folder.write_summary(self._summary(_KILLED))
        except (KeyboardInterrupt, NetcosimError) as problem:
            self.failure = problem
        with self._phase("results"):
            self._write()
        self.folder.write_run(self._record())
        ended = () if self.failure is None else (f"ended early: {_one_line(self.failure)}",)
        summary = self._summary(*ended)
        self.folder.write_summary(summary)  # last: until then it says that something is missing
        return summary

    def _runs_a_cell(self) -> int:
        return len(worker_counts(self.scenario)) * self.scenario.repetitions

    def _simulate(self, cell: TrainingCell) -> None:
        with self._phase("plans"):
            self.progress.say(f"{cell.name}: preparing")
            cell.plans(0)
        with self._phase("simulation"):
            alone = self._alone(cell)
            one = one_worker(cell, alone)
            for workers in worker_counts(self.scenario):
                runs = list(self._runs(cell, workers, alone))
                point = make_point(cell, workers, runs, one)
                self.points.setdefault(cell.name, []).append(point)
                self.progress.point(cell.name, point)
        if cell.plans(0).why_generic:
            self.generic[cell.name] = cell.plans(0).why_generic
        with self._phase("traces"):
            self._trace(cell)

    def _alone(self, cell: TrainingCell) -> RunFigures | None:
        """One worker's first run, which formulas want to know."""
        return simulate(cell, 1, 0)

    def _runs(
        self, cell: TrainingCell, workers: int, alone: RunFigures | None
    ) -> Iterator[RunFigures]:
        """All runs of so many workers, in their order; compiled kernels run side by side."""
        known = workers == 1 and alone is not None
        pool = ThreadPoolExecutor(_processors())
        try:
            made = [
                pool.submit(simulate, cell, workers, run)
                for run in range(1 if known else 0, self.scenario.repetitions)
            ]
            if known and alone is not None:
                yield self._done(cell, workers, 0, alone)
            for run, future in enumerate(made, start=1 if known else 0):
                yield self._done(cell, workers, run, future.result())
        finally:
            pool.shutdown(wait=False, cancel_futures=True)

    def _done(self, cell: TrainingCell, workers: int, run: int, figures: RunFigures) -> RunFigures:
        if run == 0:
            self._keep_steps(cell, workers, figures)
        self.progress.run_done(f"{cell.name}, {workers} workers")
        return figures

    def _keep_steps(self, cell: TrainingCell, workers: int, figures: RunFigures) -> None:
        steps = figures.steps
        if sum(map(len, self.steps)) + len(steps.worker) > MOST_STEP_ROWS:
            self.problems.append(
                f"steps.parquet lacks {cell.name} with {workers} workers: too many"
            )
            return
        self.steps.append(
            StepColumns.of_run(
                cell=cell.name,
                workers=workers,
                run=0,
                worker=steps.worker,
                step=steps.step,
                start_ns=steps.start_ns,
                end_ns=steps.end_ns,
            )
        )

    def _trace(self, cell: TrainingCell) -> None:
        count = min(self.scenario.training.trace_steps, self.scenario.training.steps)
        for workers in self.traced if count else ():
            self.progress.say(f"{cell.name}: tracing {workers} workers")
            traced = trace(cell, workers, 0, count)
            self.operations.append(traced.operations)
            if workers == self.traced[0]:
                self.transfers += traced.transfers

    def _summary(self, *reasons: str) -> TrainingSummary:
        """Of all points so far; `reasons` say why it is not complete, if it is not."""
        return TrainingSummary(
            scenario=self.scenario.name,
            seed=self.scenario.seed,
            complete=not reasons,
            trusted=not reasons,
            reasons=reasons,
            engine=engine_hash(),
            series=tuple(
                make_series(cell, self.points[cell.name])
                for cell in self.cells
                if cell.name in self.points
            ),
        )

    def _write(self) -> None:
        self.folder.write_steps(self.steps)
        self.folder.write_operations(self.operations)
        self.folder.write_trace(self.transfers)
        self.folder.write_perfetto()

    def _record(self) -> RunRecord:
        now = datetime.now(UTC)
        nothing: dict[str, Any] = {}
        return RunRecord(
            command=self.command,
            started=self.started.isoformat(timespec="seconds"),
            finished=now.isoformat(timespec="seconds"),
            duration_s=round((now - self.started).total_seconds(), 3),
            phases_s={name: round(s, 3) for name, s in self.phases_s.items()},
            host=describe_host(),
            versions=versions(SIMULATION),
            network=nothing,
            links=[],
            shares=[],
            models={cell.name: {"profile": cell.profile.provenance} for cell in self.cells},
            predictions_sha256=None,
            bounds={},
            validity=(),
            captures={},
            problems=(
                *self.problems,
                *(f"{cell}: generic engine, as {why}" for cell, why in self.generic.items()),
            ),
        )

    @contextmanager
    def _phase(self, name: str) -> Iterator[None]:
        begin = time.monotonic()
        try:
            yield
        finally:
            self.phases_s[name] = self.phases_s.get(name, 0.0) + time.monotonic() - begin


def _processors() -> int:
    return len(os.sched_getaffinity(0))


def _one_line(failure: BaseException) -> str:
    if isinstance(failure, KeyboardInterrupt):
        return f"interrupted by {interruption(failure)}"
    return " ".join(str(failure).split()) or type(failure).__name__
