"""A simulation in memory: every cell with every number of workers, one cell after the other."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Final, Protocol, TypeVar

from netcosim.results.training import operations, steps
from netcosim.results.training.finished_cells import FinishedCell
from netcosim.results.training.operations import OperationColumns
from netcosim.results.training.runs_table import RunRow
from netcosim.results.training.steps import StepColumns
from netcosim.results.training.summary import (
    Point,
    Recommendation,
    Series,
    TrainingSummary,
)
from netcosim.scenario import Scenario
from netcosim.threads import in_threads
from netcosim.trace import StreamRow
from sim.experiment.axes import simulated_counts, worker_counts
from sim.experiment.cell import TrainingCell
from sim.experiment.one_step_more import steps_more
from sim.experiment.point import (
    Reference,
    make_point,
    make_reference,
    make_series,
    overfilled_text,
    settings_of,
    without_stragglers,
)
from sim.experiment.recommendation import recommend
from sim.experiment.run import RunFigures, conditions_of, simulate
from sim.experiment.trace import trace
from sim.kernels.compiled import engine_hash

MOST_STEP_ROWS: Final = 2_000_000
"""Most rows of steps that are kept; runs beyond are left out."""


MANY_OPERATIONS: Final = 10_000
"""Operations of a profile from which on its preparation takes seconds."""

Columns = TypeVar("Columns", StepColumns, OperationColumns)


class Listener(Protocol):
    """Who is told what a simulation does."""

    def say(self, message: str) -> None:
        """Tell what is being done now."""

    def show(self, message: str) -> None:
        """Tell what is being done now, where that is worth no line of its own."""

    def taken(self, cell: str) -> None:
        """Tell that a cell's results are those of an earlier simulation."""

    def runs_of(self, cell: str, workers: int, change: str) -> None:
        """Tell of which cell, number of workers and change of the cell the next runs are."""

    def run_done(self) -> None:
        """Tell that a run has ended."""

    def point(self, cell: str, point: Point) -> None:
        """Tell the results of a number of workers."""


class Nobody:
    """A listener that tells nobody."""

    def say(self, message: str) -> None:
        """Do nothing."""

    def show(self, message: str) -> None:
        """Do nothing."""

    def taken(self, cell: str) -> None:
        """Do nothing."""

    def runs_of(self, cell: str, workers: int, change: str) -> None:
        """Do nothing."""

    def run_done(self) -> None:
        """Do nothing."""

    def point(self, cell: str, point: Point) -> None:
        """Do nothing."""


def prepare(cell: TrainingCell, listener: Listener) -> None:
    """Make the plan of a cell's first run, if that was not done; of a large profile tell phases."""
    if 0 in cell.prepared:
        return
    many = len(cell.profile.step.operations) >= MANY_OPERATIONS
    tell = listener.say if many else listener.show
    cell.plans(0, lambda phase: tell(f"{cell.name}: preparing: {phase}"))


@dataclass(slots=True, kw_only=True)
class Simulation:
    """All that is simulated of a scenario, as far as it has come.

    Attributes
    ----------
    scenario : as resolved
    cells : of the scenario
    traced : numbers of workers whose first steps are kept operation by operation
    traced_workers : how many of these workers are kept, from the first on; None: all
    threads : runs at a time
    listener : is told of every run
    recommending : whether `recommend` will be asked for every cell
    numbers : which runs are made of each number of workers; None: the scenario's repetitions
    compared : whether one worker alone is simulated, too, which points compare with
    each_run : whether `rows` are kept
    rows : of each run, as a table of runs has them
    finished : of cells that an earlier simulation has finished
    steps, operations, transfers : of the first run of each number of workers, cell by cell
    generic : why a cell needs the generic engine, by cell
    problems : what the results lack, in a line each
    """

    scenario: Scenario
    cells: Sequence[TrainingCell]
    traced: Sequence[int] = ()
    traced_workers: int | None = None
    threads: int = 1
    listener: Listener = field(default_factory=Nobody)
    recommending: bool = False
    numbers: Sequence[int] | None = None
    compared: bool = True
    each_run: bool = False
    references: dict[str, Reference] = field(default_factory=dict)
    finished: dict[str, Series] = field(default_factory=dict)
    points: dict[str, list[Point]] = field(default_factory=dict)
    rows: list[RunRow] = field(default_factory=list)
    steps: list[StepColumns] = field(default_factory=list)
    operations: list[OperationColumns] = field(default_factory=list)
    transfers: list[StreamRow] = field(default_factory=list)
    recommendations: dict[str, Recommendation] = field(default_factory=dict)
    generic: dict[str, str] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)

    @property
    def runs(self) -> int:
        """Number of runs of all cells that are not finished."""
        cells = [cell for cell in self.cells if cell.name not in self.finished]
        points = len(cells) * len(simulated_counts(self.scenario))
        if self.recommending:
            most = worker_counts(self.scenario)[-1]
            points += sum(len(steps_more(cell, most)) for cell in cells)
        return points * len(self._numbers)

    @property
    def _numbers(self) -> Sequence[int]:
        return range(self.scenario.repetitions) if self.numbers is None else self.numbers

    def simulate(self, cell: TrainingCell) -> None:
        """Simulate all runs of a cell."""
        healthy = without_stragglers(cell)
        alone = list(self._runs(healthy, 1)) if self.compared else None
        if alone is not None:
            self.references[cell.name] = make_reference(healthy, alone)
        for workers in worker_counts(self.scenario):
            healthy_too = not self.scenario.straggler and self.scenario.coordination is None
            same = alone is not None and workers == 1 and healthy_too
            runs = alone if alone is not None and same else list(self._runs(cell, workers))
            self._keep_steps(cell, workers, runs[0])
            if self.each_run:
                self._keep_rows(cell, workers, runs)
            if self.compared:
                point = make_point(cell, workers, runs, self.references[cell.name])
                self.points.setdefault(cell.name, []).append(point)
                self.listener.point(cell.name, point)
        most = worker_counts(self.scenario)[-1]
        under = conditions_of(cell, most, 0, 1.0)
        if reason := cell.why_generic(most) or under.why_generic:
            self.generic[cell.name] = reason

    def recommend(self, cell: TrainingCell) -> None:
        """Find out what one step more of each thing would change, by runs at the knee."""
        points, reference = self.points[cell.name], self.references[cell.name]
        found = recommend(cell, points, reference, lambda *job: list(self._runs(*job)))
        self.recommendations[cell.name] = found

    def tables_of(self, cell: TrainingCell) -> FinishedCell:
        """Tables of one cell."""
        return FinishedCell(
            steps=steps.TABLE.joined(self._of(cell, self.steps)),
            operations=operations.TABLE.joined(self._of(cell, self.operations)),
            transfers=tuple(row for row in self.transfers if row.cell == cell.name),
        )

    @staticmethod
    def _of(cell: TrainingCell, parts: Sequence[Columns]) -> list[Columns]:
        """Parts of one cell; each part is of one cell alone."""
        return [part for part in parts if cell.name in part.cell.values]

    def trace(self, cell: TrainingCell) -> None:
        """Keep the first steps of a cell, operation by operation; transfers of one number only."""
        count = min(self.scenario.training.trace_steps, self.scenario.training.steps)
        for workers in self.traced if count else ():
            many = "1 worker" if workers == 1 else f"{workers} workers"
            self.listener.say(f"{cell.name}: tracing {many}")
            traced = trace(cell, workers, 0, count, self.traced_workers)
            self.operations.append(traced.operations)
            if workers == self.traced[0]:
                self.transfers += traced.transfers

    def summary(self, *reasons: str) -> TrainingSummary:
        """Summary of all points so far; `reasons` say why it is not complete, if it is not."""
        begun = [cell for cell in self.cells if self._is_begun(cell)]
        series = {cell.name: self.series_of(cell) for cell in begun}
        wrong = tuple(
            f"{cell.name}: {text}"
            for cell in self.cells
            if cell.name in series and (text := overfilled_text(cell, series[cell.name].points))
        )
        return TrainingSummary(
            scenario=self.scenario.name,
            seed=self.scenario.seed,
            complete=not reasons,
            trusted=not reasons and not wrong,
            reasons=(*reasons, *wrong),
            engine=engine_hash(),
            series=tuple(series.values()),
        )

    def is_finished(self, series: Series) -> bool:
        """True if a series has all that is to be simulated of its cell."""
        has = tuple(point.workers for point in series.points)
        known = series.recommendation is not None or not self.recommending
        return has == worker_counts(self.scenario) and known

    def take(self, series: Series, tables: FinishedCell) -> None:
        """Take over a cell that an earlier simulation has finished."""
        self.finished[series.cell] = series
        self.steps.append(tables.steps)
        self.operations.append(tables.operations)
        self.transfers += tables.transfers
        self.listener.taken(series.cell)

    def _is_begun(self, cell: TrainingCell) -> bool:
        return cell.name in self.finished or cell.name in self.points

    def series_of(self, cell: TrainingCell) -> Series:
        """Results of a cell so far; there has to be a point."""
        if cell.name in self.finished:
            return self.finished[cell.name]
        points, reference = self.points[cell.name], self.references[cell.name]
        return make_series(cell, points, reference, self.recommendations.get(cell.name))

    def _runs(self, cell: TrainingCell, workers: int) -> Iterator[RunFigures]:
        """Simulate all runs of so many workers; yield them in order."""
        self.listener.runs_of(cell.name, workers, cell.change)
        if self.threads == 1:
            for run in self._numbers:
                figures = simulate(cell, workers, run)
                self.listener.run_done()
                yield figures
            return
        runs = [partial(simulate, cell, workers, run) for run in self._numbers]
        with in_threads(runs, self.threads) as calls:
            for call in calls:
                figures = call.result()
                self.listener.run_done()
                yield figures

    def _keep_rows(self, cell: TrainingCell, workers: int, runs: Sequence[RunFigures]) -> None:
        settings = settings_of(cell)
        self.rows += [
            RunRow(
                scenario=self.scenario.name,
                seed=self.scenario.seed,
                engine=engine_hash(),
                settings=settings,
                point=make_point(cell, workers, [figures]),
                run=run,
            )
            for run, figures in zip(self._numbers, runs, strict=True)
        ]

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
                run=self._numbers[0],
                worker=steps.worker,
                step=steps.step,
                start_ns=steps.start_ns,
                end_ns=steps.end_ns,
            )
        )
