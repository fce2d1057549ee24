"""Comparison of two results folders."""

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import TypeVar

from netcosim.errors import ScenarioError, StorageError
from netcosim.results.folder import SUMMARY, ResultsFolder
from netcosim.results.run_record import RunRecord
from netcosim.results.streams.lost import work_clocks
from netcosim.results.streams.summary import Summary
from netcosim.results.training.summary import TrainingSummary
from netcosim.scenario import Scenario
from netcosim.scoring.differences.emulation import emulation_changes, judged_bursts, link_changes
from netcosim.scoring.differences.fields import field_changes, scenario_changes
from netcosim.scoring.differences.records import (
    Change,
    Comparison,
    Counts,
    EmulationChanges,
    FieldChange,
    Side,
    TrainingChanges,
    World,
    WorldsChanges,
)
from netcosim.scoring.differences.training import training_changes
from netcosim.scoring.differences.worlds import NOT_COMPARED, worlds_changes
from netcosim.trace import StreamRow
from netcosim.work_clock import on_work_clock

Kept = TypeVar("Kept", Summary, TrainingSummary)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Read:
    """What a comparison needs of one folder; the summary is None where there is none."""

    folder: ResultsFolder
    world: World
    scenario: Scenario
    record: RunRecord | None
    simulated: TrainingSummary | None
    emulated: Summary | None

    def side(self) -> Side:
        summary = self.simulated or self.emulated
        return Side(
            path=str(self.folder.path),
            world=self.world,
            scenario=self.scenario.name,
            seed=self.scenario.seed,
            complete=summary is not None and summary.complete,
            trusted=summary is not None and summary.trusted,
            engine=None if self.simulated is None else self.simulated.engine,
        )

    def trace(self) -> list[StreamRow]:
        """Streams; measured ones on the clock of link work."""
        return on_work_clock(self.folder.read_trace(), work_clocks(self.folder.read_lost()))


def compare_folders(a: ResultsFolder, b: ResultsFolder) -> Comparison:
    """Compare two runs of one world, or the streams of a simulation and an emulation.

    Raises
    ------
    StorageError, ScenarioError
        A folder can't be read as one, has no summary, or the two have no stream in common.
    """
    before, after = _read(a), _read(b)
    compare = _simulations if before.world == "sim" else _emulations
    try:
        return (compare if before.world == after.world else _worlds)(before, after)
    except (ValueError, ArithmeticError) as problem:  # valid by the schema, and yet no figures
        reason = str(problem).splitlines()[0]
        raise StorageError(f"{a.path}, {b.path}: figures can't be compared: {reason}") from None


def _read(folder: ResultsFolder) -> _Read:
    world = folder.world()
    if world == "job":
        raise StorageError(
            f"{folder.path}: is of a training job over real flows: can't be compared"
        )
    return _Read(
        folder=folder,
        world=world,
        scenario=folder.read_scenario(),
        record=folder.read_run(),
        simulated=folder.read_training_summary() if world == "sim" else None,
        emulated=folder.read_summary() if world == "emu" else None,
    )


def _simulations(a: _Read, b: _Read) -> Comparison:
    before, after = _known(a, a.simulated), _known(b, b.simulated)
    changes = training_changes(before, after)
    figures = [point.examples_per_s for series in changes.series for point in series.points]
    cells = [[series.cell for series in one.series] for one in (before, after)]
    others = any(s.workers_only_a or s.workers_only_b for s in changes.series)
    return _comparison(a, b, cells, figures, differs=others, training=changes)


def _emulations(a: _Read, b: _Read) -> Comparison:
    before, after = _known(a, a.emulated), _known(b, b.emulated)
    changes = emulation_changes(
        before,
        after,
        judged_bursts(a.trace()),
        judged_bursts(b.trace()),
        link_changes(a.record, b.record),
    )
    figures = [figure.change for cell in changes.cells for figure in cell.figures]
    cells = [[cell.cell for cell in one.cells] for one in (before, after)]
    others = any(cell.other_rule for cell in changes.cells)
    return _comparison(a, b, cells, figures, differs=others, emulation=changes)


def _worlds(a: _Read, b: _Read) -> Comparison:
    rows = [a.trace(), b.trace()]
    simulated, measured = rows if a.world == "sim" else reversed(rows)
    changes = worlds_changes(simulated, measured, simulated_first=a.world == "sim")
    if not changes.cells:
        raise ScenarioError(
            f"{a.folder.path}, {b.folder.path}: a simulation and an emulation: no stream of a"
            f" judged burst is in both, and nothing else can be compared. {NOT_COMPARED}"
        )
    cells = [list(dict.fromkeys(row.cell for row in one)) for one in rows]
    figures = [cell.length_ns for cell in changes.cells]
    return _comparison(a, b, cells, figures, differs=False, worlds=changes)


def _comparison(
    a: _Read,
    b: _Read,
    cells: list[list[str]],
    figures: list[Change],
    *,
    differs: bool,
    training: TrainingChanges | None = None,
    emulation: EmulationChanges | None = None,
    worlds: WorldsChanges | None = None,
) -> Comparison:
    only_a, only_b = _only(cells[0], cells[1]), _only(cells[1], cells[0])
    counts = Counts.of(figures)
    return Comparison(
        a=a.side(),
        b=b.side(),
        scenario=scenario_changes(a.scenario, b.scenario),
        versions=_version_changes(a, b),
        cells_only_a=only_a,
        cells_only_b=only_b,
        training=training,
        emulation=emulation,
        worlds=worlds,
        **asdict(counts),
        differs=bool(differs or counts.beyond or counts.unequal or only_a or only_b),
    )


def _known(read: _Read, summary: Kept | None) -> Kept:
    if summary is None:
        raise StorageError(f"{read.folder.path}: has no {SUMMARY}: nothing of it can be compared")
    return summary


def _version_changes(a: _Read, b: _Read) -> tuple[FieldChange, ...]:
    """Unequal versions; of two worlds, which use other libraries, those that both name."""
    changes = field_changes(*(read.record.versions if read.record else {} for read in (a, b)))
    if a.world == b.world:
        return changes
    return tuple(change for change in changes if None not in (change.a, change.b))


def _only(mine: Iterable[str], theirs: Iterable[str]) -> tuple[str, ...]:
    others = set(theirs)
    return tuple(cell for cell in mine if cell not in others)
