"""Session of a simulation: run every cell with every number of workers, and write the results."""

import os
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Final

from netcosim.cli import finishing
from netcosim.cli.session import failure_line, timed_phase
from netcosim.errors import NetcosimError
from netcosim.results.folder import NOT_ENDED, ResultsFolder
from netcosim.results.host import SIMULATION, describe_host, versions
from netcosim.results.run_record import RunRecord
from netcosim.results.training.operations import OperationColumns
from netcosim.results.training.steps import StepColumns
from netcosim.results.training.summary import Point, TrainingSummary
from netcosim.scenario import Scenario
from netcosim.trace import StreamRow
from sim.compiling import Kernel, compile_missing, kernels_of
from sim.experiment.cell import TrainingCell
from sim.experiment.point import (
    Reference,
    make_point,
    make_reference,
    make_series,
    without_stragglers,
)
from sim.experiment.run import RunFigures, conditions_of, simulate
from sim.experiment.trace import trace
from sim.kernels.compiled import engine_hash
from sim.progress import Progress

MOST_STEP_ROWS: Final = 2_000_000
"""Most rows of `steps.parquet`; runs beyond are left out."""


def worker_counts(scenario: Scenario) -> tuple[int, ...]:
    """Numbers of workers to run, in ascending order."""
    return tuple(sorted(scenario.training.workers or (scenario.cluster.workers,)))


def simulated_counts(scenario: Scenario) -> tuple[int, ...]:
    """The same, with the reference (one worker, no stragglers) first unless it is among them."""
    counts = worker_counts(scenario)
    among_them = 1 in counts and not scenario.straggler
    return counts if among_them else (1, *counts)


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
    references: dict[str, Reference] = field(default_factory=dict)
    points: dict[str, list[Point]] = field(default_factory=dict)
    steps: list[StepColumns] = field(default_factory=list)
    operations: list[OperationColumns] = field(default_factory=list)
    transfers: list[StreamRow] = field(default_factory=list)
    phases_s: dict[str, float] = field(default_factory=dict)
    generic: dict[str, str] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)

    def run(self) -> TrainingSummary:
        """Simulate everything, or as much as is possible; write the results."""
        self.folder.write_summary(self._summary(NOT_ENDED))
        try:
            with self.progress.runs(len(self.cells) * self._runs_a_cell()):
                self._compile()
                for cell in self.cells:
                    self._simulate(cell)
                    self.folder.write_summary(self._summary(NOT_ENDED))
        except (KeyboardInterrupt, NetcosimError) as problem:
            self.failure = problem
        with finishing(self.failure) as late:
            with timed_phase(self.phases_s, "results"):
                self._write()
            self.folder.write_run(self._record())
            ended = () if self.failure is None else (f"ended early: {failure_line(self.failure)}",)
            summary = self._summary(*ended)
            self.folder.write_summary(summary)  # last: until then it says that something is missing
        self.failure = self.failure or late.interruption
        return summary

    def _compile(self) -> None:
        """Compile the kernels that the cells need, all before the first run."""
        counts, needed = worker_counts(self.scenario), list[Kernel]()
        for cell in self.cells:
            with timed_phase(self.phases_s, "plans"):
                self.progress.say(f"{cell.name}: preparing")
                traced = bool(self.traced) and self.scenario.training.trace_steps > 0
                needed += kernels_of(cell, counts, traced=traced)
        with timed_phase(self.phases_s, "kernels"):
            compile_missing(needed, self.progress)

    def _runs_a_cell(self) -> int:
        return len(simulated_counts(self.scenario)) * self.scenario.repetitions

    def _simulate(self, cell: TrainingCell) -> None:
        with timed_phase(self.phases_s, "simulation"):
            healthy = without_stragglers(cell)
            alone = list(self._runs(healthy, 1))
            reference = self.references[cell.name] = make_reference(healthy, alone)
            for workers in worker_counts(self.scenario):
                same = workers == 1 and not self.scenario.straggler
                runs = alone if same else list(self._runs(cell, workers))
                self._keep_steps(cell, workers, runs[0])
                point = make_point(cell, workers, runs, reference)
                self.points.setdefault(cell.name, []).append(point)
                self.progress.point(cell.name, point)
        under = conditions_of(cell, worker_counts(self.scenario)[-1], 0, 1.0)
        if reason := cell.plans(0).why_generic or under.why_generic:
            self.generic[cell.name] = reason
        with timed_phase(self.phases_s, "traces"):
            self._trace(cell)

    def _runs(self, cell: TrainingCell, workers: int) -> Iterator[RunFigures]:
        """Simulate all runs of so many workers in parallel threads; yield them in order."""
        self.progress.runs_of(f"{cell.name}, {workers} workers")
        pool = ThreadPoolExecutor(_processors())
        try:
            repetitions = range(self.scenario.repetitions)
            made = [pool.submit(simulate, cell, workers, run) for run in repetitions]
            for future in made:
                figures = future.result()
                self.progress.run_done()
                yield figures
        finally:
            pool.shutdown(wait=False, cancel_futures=True)

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
        """Summary of all points so far; `reasons` say why it is not complete, if it is not."""
        return TrainingSummary(
            scenario=self.scenario.name,
            seed=self.scenario.seed,
            complete=not reasons,
            trusted=not reasons,
            reasons=reasons,
            engine=engine_hash(),
            series=tuple(
                make_series(cell, self.points[cell.name], self.references[cell.name])
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


def _processors() -> int:
    return len(os.sched_getaffinity(0))
