"""What a report is made from, picked out of the rows of a results folder."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Self

from netcosim.metrics import Floats, primary_errors
from netcosim.results.cells import LEVEL
from netcosim.results.folder import ResultsFolder
from netcosim.results.identification import IDENTIFICATION, Identification
from netcosim.results.records import from_json
from netcosim.results.run_record import RunRecord
from netcosim.results.summary import CellSummary, Summary
from netcosim.results.windows import WindowRow
from netcosim.scenario import Scenario
from netcosim.trace import StreamRow, bursts


@dataclass(frozen=True, slots=True, kw_only=True)
class CellData:
    """The rows of one cell, and its summary if the run came to that.

    `predicted` holds the PREDICT level only.
    """

    name: str
    summary: CellSummary | None
    measured: tuple[StreamRow, ...]
    predicted: tuple[StreamRow, ...]
    windows: tuple[WindowRow, ...]

    @property
    def models(self) -> tuple[str, ...]:
        """The models that predicted this cell, best first where that is known."""
        ranked = [] if self.summary is None else [m.model for m in self.summary.models]
        return tuple(dict.fromkeys([*ranked, *(row.model for row in self.predicted)]))

    @property
    def best(self) -> str | None:
        """The model that fits best, if any was scored."""
        return None if self.summary is None else self.summary.best

    def shown_burst(self) -> list[StreamRow]:
        """The burst that stands for the cell: the first valid one, else the first."""
        groups = list(bursts(self.measured).values())
        valid = [rows for rows in groups if all(row.valid for row in rows)]
        return next(iter(valid or groups), [])

    def pairs(self, model: str) -> Iterator[tuple[list[StreamRow], list[StreamRow]]]:
        """Predicted and measured rows of each valid burst, stream by stream."""
        truth = bursts(row for row in self.measured if row.valid)
        claims = bursts(row for row in self.predicted if row.model == model)
        for where, rows in truth.items():
            ours = {(r.connection, r.stream): r for r in claims.get(where, [])}
            kept = [row for row in rows if (row.connection, row.stream) in ours]
            if kept:
                yield [ours[row.connection, row.stream] for row in kept], kept

    def errors(self, model: str) -> list[Floats]:
        """Primary errors of a model, one array for each valid burst."""
        return [
            primary_errors([r.wire_end_ns for r in ours], [r.wire_end_ns for r in theirs])
            for ours, theirs in self.pairs(model)
        ]


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportData:
    """One run as the report shows it; what an interrupted run did not reach is None or empty."""

    name: str
    scenario: Scenario
    summary: Summary | None
    run: RunRecord | None
    cells: tuple[CellData, ...]
    identification: Identification | None = None

    @classmethod
    def read(cls, folder: ResultsFolder) -> Self:
        """Read a results folder, however far its run came.

        Raises
        ------
        StorageError, ScenarioError
            A file that is there can't be read as what it should be.
        """
        summary = folder.read_summary()
        return cls(
            name=folder.path.absolute().name,
            scenario=folder.read_scenario(),
            summary=summary,
            run=folder.read_run(),
            cells=_cells(
                summary, folder.read_trace(), folder.read_predictions(), folder.read_windows()
            ),
            identification=_identification(folder),
        )

    @property
    def models(self) -> tuple[str, ...]:
        """All models of the run, sorted."""
        return tuple(sorted({model for cell in self.cells for model in cell.models}))


def _identification(folder: ResultsFolder) -> Identification | None:
    if not folder.has(IDENTIFICATION):
        return None
    where = str(folder.path / IDENTIFICATION)
    return from_json(Identification, folder.read(IDENTIFICATION), where)


def _cells(
    summary: Summary | None,
    measured: Sequence[StreamRow],
    predicted: Sequence[StreamRow],
    windows: Sequence[WindowRow],
) -> tuple[CellData, ...]:
    summaries = {} if summary is None else {cell.cell: cell for cell in summary.cells}
    names = dict.fromkeys([*summaries, *(row.cell for row in measured)])
    return tuple(
        CellData(
            name=name,
            summary=summaries.get(name),
            measured=tuple(row for row in measured if row.cell == name),
            predicted=tuple(r for r in predicted if r.cell == name and r.level == LEVEL),
            windows=tuple(row for row in windows if row.cell == name),
        )
        for name in names
    )
