"""Data of a streams report, picked out of the rows of a results folder."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Self

from netcosim.compare import order_errors
from netcosim.metrics import Floats
from netcosim.results.folder import ResultsFolder
from netcosim.results.json_files import from_json
from netcosim.results.run_record import RunRecord
from netcosim.results.streams.identification import IDENTIFICATION, Identification
from netcosim.results.streams.lost import moments_on_work_clock, work_clocks
from netcosim.results.streams.summary import CellSummary, Summary
from netcosim.results.streams.windows import WindowRow
from netcosim.scenario import Scenario
from netcosim.trace import PREDICT, StreamRow, bursts
from netcosim.work_clock import Connection, WorkClock, on_work_clock


@dataclass(frozen=True, slots=True, kw_only=True)
class CellData:
    """The rows of one cell, and its summary if the run came to that.

    `predicted` holds the PREDICT level only. Measured times are on the clock of link work, and
    `cut_ns` says by burst how much was cut out of it, at most of all connections.
    """

    name: str
    summary: CellSummary | None
    measured: tuple[StreamRow, ...]
    predicted: tuple[StreamRow, ...]
    windows: tuple[WindowRow, ...]
    cut_ns: Mapping[int, int] = field(default_factory=dict)

    @property
    def models(self) -> tuple[str, ...]:
        """The models that predicted this cell, best first where that is known."""
        ranked = [] if self.summary is None else [m.model for m in self.summary.models]
        return tuple(dict.fromkeys([*ranked, *(row.model for row in self.predicted)]))

    @property
    def best(self) -> str | None:
        """The model that fits best, if any was scored."""
        return None if self.summary is None else self.summary.best

    @property
    def nothing_judged(self) -> str:
        """Name of a burst of the cell that is not judged, as far as its summary tells."""
        found = self.summary
        invalid = found is not None and not found.judged_bursts and not found.shown_bursts
        return "not valid" if invalid else "not judged"

    def shown_burst(self) -> list[StreamRow]:
        """The burst that stands for the cell: the first judged one, else the first."""
        groups = list(bursts(self.measured).values())
        valid = [rows for rows in groups if all(row.valid for row in rows)]
        return next(iter(valid or groups), [])

    def pairs(self, model: str) -> Iterator[tuple[list[StreamRow], list[StreamRow]]]:
        """Predicted and measured rows of each judged burst, stream by stream."""
        truth = bursts(row for row in self.measured if row.valid)
        predictions = bursts(row for row in self.predicted if row.model == model)
        for where, rows in truth.items():
            ours = {(r.connection, r.stream): r for r in predictions.get(where, [])}
            kept = [row for row in rows if (row.connection, row.stream) in ours]
            if kept:
                yield [ours[row.connection, row.stream] for row in kept], kept

    def errors(self, model: str) -> list[Floats]:
        """Order errors of a model, one array for each judged burst."""
        return [order_errors(ours, theirs) for ours, theirs in self.pairs(model)]


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
                summary,
                folder.read_trace(),
                folder.read_predictions(),
                folder.read_windows(),
                work_clocks(folder.read_lost()),
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
    clocks: Mapping[Connection, WorkClock],
) -> tuple[CellData, ...]:
    measured = on_work_clock(measured, clocks)
    windows = tuple(moments_on_work_clock(windows, clocks))
    cut: dict[str, dict[int, int]] = {}
    for (cell, burst, _), clock in clocks.items():
        mine = cut.setdefault(cell, {})
        mine[burst] = max(mine.get(burst, 0), clock.cut_ns)
    summaries = {} if summary is None else {cell.cell: cell for cell in summary.cells}
    names = dict.fromkeys([*summaries, *(row.cell for row in measured)])
    return tuple(
        CellData(
            name=name,
            summary=summaries.get(name),
            measured=tuple(row for row in measured if row.cell == name),
            predicted=tuple(r for r in predicted if r.cell == name and r.level == PREDICT),
            windows=tuple(row for row in windows if row.cell == name),
            cut_ns=cut.get(name, {}),
        )
        for name in names
    )
