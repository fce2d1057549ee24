"""Predict and score a finished run again, from the small files of its results folder.

No capture, no network and no root: the inputs of the predictions are in ``scenario.toml``,
``trace.parquet``, ``grants.parquet`` and ``run.json``.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from emu.plan import Plan, make_plan
from emu.prediction.parallel import predict_cells
from emu.prediction.run_inputs import CellRows, calibrated_of, inputs_of
from emu.summary import EARLY, summarise_run
from netcosim.errors import StorageError
from netcosim.results.folder import GRANTS, NOT_ENDED, RUN, TRACE, ResultsFolder
from netcosim.results.run_record import RunRecord
from netcosim.results.streams.summary import Summary
from netcosim.trace import StreamRow


@dataclass(frozen=True, slots=True, kw_only=True)
class Rerun:
    """Predictions and summary of a finished run by the current models."""

    predicted: tuple[StreamRow, ...]
    summary: Summary


def rerun(folder: ResultsFolder) -> Rerun:
    """Predict and score every cell of a run anew.

    Raises
    ------
    StorageError, ScenarioError
        The folder lacks a file, or one can't be read.
    """
    record = read_record(folder)
    plan = make_plan(folder.read_scenario(), record.versions.get("grpcio"))
    cells = _cells(plan, record, folder)
    calibrated = calibrated_of(record)
    shown = [rows for rows in cells if rows.measured]  # of others no capture shows a burst
    found = predict_cells([inputs_of(plan, rows, calibrated) for rows in shown])
    predicted = dict(zip((rows.cell.name for rows in shown), found, strict=True))
    before = folder.read_summary()
    return Rerun(
        predicted=tuple(row for mine in predicted.values() for row in mine),
        summary=summarise_run(
            plan,
            [(rows, predicted.get(rows.cell.name, [])) for rows in cells],
            record.models,
            ended=_early(plan, cells, before),
            complete=len(cells) == len(plan.cells) if before is None else before.complete,
            not_run=() if before is None else before.not_run,
        ),
    )


def read_record(folder: ResultsFolder) -> RunRecord:
    """The run's record.

    Raises
    ------
    StorageError
        The run did not come to write one.
    """
    record = folder.read_run()
    if record is None:
        raise StorageError(f"{folder.path}: has no {RUN}: the run ended before it was written")
    return record


def _cells(plan: Plan, record: RunRecord, folder: ResultsFolder) -> list[CellRows]:
    """The cells that finished a burst, with their rows."""
    validity = {
        cell.name: [v for v in record.validity if v.cell == cell.name] for cell in plan.cells
    }
    finished = [cell for cell in plan.cells if validity[cell.name]]
    for name in (TRACE, GRANTS) if finished else ():
        if not folder.has(name):
            raise StorageError(f"{folder.path}: has no {name}: can't be predicted again")
    trace, grants, lost = folder.read_trace(), folder.read_grants(), folder.read_lost()
    return [
        CellRows(
            cell=cell,
            validity=validity[cell.name],
            measured=[row for row in trace if row.cell == cell.name],
            grants=[row for row in grants if row.cell == cell.name],
            lost=[row for row in lost if row.cell == cell.name],
            peers=record.peers,
        )
        for cell in finished
    ]


def _early(plan: Plan, cells: Sequence[CellRows], before: Summary | None) -> list[str]:
    """Reasons why the run ended early, as far as the rows show them without a summary."""
    if before is not None:
        return [r for r in before.reasons if r == NOT_ENDED or r.startswith(EARLY)]
    there = {rows.cell.name for rows in cells}
    missing = [cell.name for cell in plan.cells if cell.name not in there]
    return [f"{EARLY}: no burst of {missing[0]}"] if missing else []
