"""Data of a simulation's report, read from its results folder."""

from dataclasses import dataclass
from typing import Self

from netcosim.results.folder import ResultsFolder
from netcosim.results.run_record import RunRecord
from netcosim.results.training import operations
from netcosim.results.training.operations import OperationColumns
from netcosim.results.training.summary import Series, TrainingSummary
from netcosim.scenario import Scenario

SHOWN_WORKERS = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class CellTraining:
    """One cell: its series if the run came to that, and one run's operations to look at.

    Attributes
    ----------
    name : workload/transport
    series : its figures; None if the run ended before its summary
    workers : how many took part in the run that is shown; 0 if none is
    operations : the first steps of the run's first few workers, and what is done once for all
    """

    name: str
    series: Series | None
    workers: int
    operations: OperationColumns


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainingData:
    """One simulation; what an interrupted one did not reach is None or empty."""

    name: str
    scenario: Scenario
    summary: TrainingSummary | None
    run: RunRecord | None
    cells: tuple[CellTraining, ...]

    @classmethod
    def read(cls, folder: ResultsFolder) -> Self:
        """Read a results folder, however far its run came.

        Raises
        ------
        StorageError, ScenarioError
            A file that is there can't be read as what it should be.
        """
        summary = folder.read_training_summary()
        ops = folder.read_operations()
        found = {} if summary is None else {one.cell: one for one in summary.series}
        names = dict.fromkeys([*found, *ops.cell.values])
        return cls(
            name=folder.path.absolute().name,
            scenario=folder.read_scenario(),
            summary=summary,
            run=folder.read_run(),
            cells=tuple(_cell(name, found.get(name), ops) for name in names),
        )


def _cell(name: str, series: Series | None, ops: OperationColumns) -> CellTraining:
    """A cell with the run where saturation begins, else the one with the most workers."""
    mine = operations.TABLE.where(ops, ops.cell.are(name))
    counts = set(mine.workers.tolist())
    full = None if series is None or series.saturation is None else series.saturation.workers
    workers = full if full in counts else max(counts, default=0)
    chosen = mine.workers == workers
    first_run = mine.run == (mine.run[chosen].min() if chosen.any() else 0)
    first_few = (mine.worker < SHOWN_WORKERS) | (mine.worker == mine.workers)
    shown = operations.TABLE.where(mine, chosen & first_run & first_few)
    return CellTraining(name=name, series=series, workers=workers or 0, operations=shown)
