"""Session of a simulation: run every cell with every number of workers, and write the results."""

import os
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from netcosim.cli import finishing
from netcosim.cli.session import failure_line, failure_lines, first_of, timed_phase
from netcosim.errors import StorageError
from netcosim.results.folder import NOT_ENDED, ResultsFolder
from netcosim.results.host import SIMULATION, describe_host, versions
from netcosim.results.run_record import RunRecord
from netcosim.results.training.finished_cells import forget_cells, keep_cell
from netcosim.results.training.summary import TrainingSummary
from netcosim.scenario import Scenario
from sim.compiling import Kernel, compile_missing, kernels_of
from sim.experiment.axes import worker_counts
from sim.experiment.cell import TrainingCell
from sim.progress import Progress
from sim.resume import origin_of, take_finished
from sim.simulation import Simulation, prepare


@dataclass(slots=True, kw_only=True)
class Session:
    """One simulation whose results go into a folder; `run` may be called once.

    Attributes
    ----------
    folder : new, or of a simulation of the same scenario that is to be resumed
    traced : numbers of workers of which operations are kept
    traced_workers : of how many of them, from the first on; None: of all
    recommend : whether to find out what one step more of each thing would change
    resumed : whether the folder has finished cells
    failure : what ended it early: an interruption or a failure with a message of its own
    """

    scenario: Scenario
    cells: Sequence[TrainingCell]
    traced: Sequence[int]
    folder: ResultsFolder
    progress: Progress
    command: tuple[str, ...]
    started: datetime
    traced_workers: int | None = None
    recommend: bool = True
    resumed: bool = False
    problems: Sequence[str] = ()
    failure: BaseException | None = None
    phases_s: dict[str, float] = field(default_factory=dict)

    def run(self) -> TrainingSummary:
        """Simulate everything, or as much as is possible; write the results.

        Raises
        ------
        StorageError
            Another process works in the folder; what is to be resumed can't be read.
        ScenarioError
            What is to be resumed was not begun by this engine, or is complete.
        """
        simulation = Simulation(
            scenario=self.scenario,
            cells=self.cells,
            traced=self.traced,
            traced_workers=self.traced_workers,
            threads=_processors(),
            listener=self.progress,
            recommending=self.recommend,
            problems=list(self.problems),
        )
        with self.folder.held():
            if self.resumed:
                take_finished(simulation, self.folder)
            self.folder.hold_room()
            self.folder.write_summary(simulation.summary(NOT_ENDED))
            try:
                with self.progress.runs(simulation.runs):
                    self._compile(simulation)
                    self._simulate_cells(simulation)
            except (KeyboardInterrupt, Exception) as problem:  # noqa: BLE001 - raised by the command
                self.failure = problem
            return self._finish(simulation)

    def _simulate_cells(self, simulation: Simulation) -> None:
        """Simulate the cells that are not finished, and keep each as soon as it is."""
        last = len(self.cells) - 1
        for number, cell in enumerate(self.cells):
            if cell.name in simulation.finished:
                continue
            self._simulate(simulation, cell)
            if number < last:
                series, tables = simulation.series_of(cell), simulation.tables_of(cell)
                keep_cell(self.folder, number, origin_of(self.folder), series, tables)
            self.folder.write_summary(simulation.summary(NOT_ENDED))

    def _finish(self, simulation: Simulation) -> TrainingSummary:
        """Write all that was simulated."""
        with finishing(self.failure) as late:
            self.folder.give_back()
            try:
                with timed_phase(self.phases_s, "results"):
                    self._write(simulation)
                self.folder.write_run(self._record(simulation))
                summary = self._ended(simulation)
                self.folder.write_points(summary)
                self.folder.write_summary(summary)  # last: until then something is missing
                if self.failure is None:
                    forget_cells(self.folder)
            except Exception as problem:  # noqa: BLE001 - what was simulated is still to be told
                self.failure = first_of(self.failure, problem)
                summary = self._ended(simulation)
                with suppress(StorageError):
                    self.folder.write_end(f"ended early: {failure_line(self.failure)}")
        self.failure = self.failure or late.interruption
        return summary

    def _ended(self, simulation: Simulation) -> TrainingSummary:
        """Summary of all that was simulated, and why that is not all, if it is not."""
        lines = () if self.failure is None else failure_lines(self.failure)
        return simulation.summary(*(f"ended early: {line}" for line in lines))

    def _compile(self, simulation: Simulation) -> None:
        """Compile the kernels that the cells need, all before the first run."""
        needed = list[Kernel]()
        for cell in self.cells:
            if cell.name in simulation.finished:
                continue
            with timed_phase(self.phases_s, "plans"):
                prepare(cell, self.progress)
                needed += kernels_of(
                    cell,
                    worker_counts(self.scenario),
                    traced=bool(self.traced) and self.scenario.training.trace_steps > 0,
                    recommending=self.recommend,
                )
        with timed_phase(self.phases_s, "kernels"):
            compile_missing(needed, self.progress)

    def _simulate(self, simulation: Simulation, cell: TrainingCell) -> None:
        self.progress.say(f"{cell.name}: simulating")
        with timed_phase(self.phases_s, "simulation"):
            simulation.simulate(cell)
        if self.recommend:
            with timed_phase(self.phases_s, "recommendation"):
                simulation.recommend(cell)
        with timed_phase(self.phases_s, "traces"):
            simulation.trace(cell)

    def _write(self, simulation: Simulation) -> None:
        self.folder.write_steps(simulation.steps)
        self.folder.write_operations(simulation.operations)
        self.folder.write_trace(simulation.transfers)
        self.folder.write_perfetto()

    def _record(self, simulation: Simulation) -> RunRecord:
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
                *simulation.problems,
                *(f"{cell}: generic engine, as {why}" for cell, why in simulation.generic.items()),
            ),
        )


def _processors() -> int:
    return len(os.sched_getaffinity(0))
