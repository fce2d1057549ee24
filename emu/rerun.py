"""A finished run predicted again, from the small files of its results folder.

No capture, no network and no root: what the models may know stands in ``scenario.toml``,
``trace.parquet``, ``grants.parquet`` and ``run.json``.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from emu.calibration.acceptance import acceptance_of
from emu.calibration.links import shared_links
from emu.network.measure import PathMeasured
from emu.plan import Plan, make_plan
from emu.prediction.cell_facts import cell_facts, link_key
from emu.prediction.delivery import overhead_of, receiver_key
from emu.prediction.inputs import CellInputs, cell_inputs
from emu.prediction.parallel import predict_cells
from emu.trust import EARLY, reasons_against
from h2model.connection import LinkModel
from h2model.overhead import Acceptance, Overhead
from netcosim.errors import StorageError
from netcosim.job import Cell
from netcosim.results.folder import GRANTS, NOT_ENDED, RUN, TRACE, ResultsFolder
from netcosim.results.run_record import RunRecord, Validity
from netcosim.results.streams.cell_summary import summarise_cell
from netcosim.results.streams.grants import GrantRow
from netcosim.results.streams.lost import LostRow
from netcosim.results.streams.summary import Summary
from netcosim.trace import StreamRow


@dataclass(frozen=True, slots=True, kw_only=True)
class Rerun:
    """What the models of today say of a run."""

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
    judged = _judged(plan, record)
    for name in (TRACE, GRANTS) if judged else ():
        if not folder.has(name):
            raise StorageError(f"{folder.path}: has no {name}: can't be predicted again")
    trace, grants, lost = folder.read_trace(), folder.read_grants(), folder.read_lost()
    measured = {cell.name: [row for row in trace if row.cell == cell.name] for cell, _ in judged}
    given = {cell.name: [row for row in grants if row.cell == cell.name] for cell, _ in judged}
    known = [
        _known(plan, record, cell, validity, measured[cell.name], given[cell.name], lost)
        for cell, validity in judged
    ]
    claims = list(predict_cells(known))
    cells = [
        summarise_cell(
            cell_facts(cell, record.models, validity, given[cell.name]),
            measured[cell.name],
            mine,
            lost,
        )
        for (cell, validity), mine in zip(judged, claims, strict=True)
    ]
    before = folder.read_summary()
    reasons = [*_early(plan, judged, before), *reasons_against(cells)]
    return Rerun(
        predicted=tuple(row for mine in claims for row in mine),
        summary=Summary(
            scenario=plan.scenario.name,
            world="emu",
            seed=plan.scenario.seed,
            complete=len(judged) == len(plan.cells) if before is None else before.complete,
            trusted=not reasons,
            reasons=tuple(reasons),
            cells=tuple(cells),
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
        raise StorageError(f"{folder.path}: has no {RUN}: the run did not come that far")
    return record


def _known(
    plan: Plan,
    record: RunRecord,
    cell: Cell,
    validity: Sequence[Validity],
    measured: Sequence[StreamRow],
    given: Sequence[GrantRow],
    lost: Sequence[LostRow],
) -> CellInputs:
    return cell_inputs(
        plan,
        cell,
        dict(_links(plan, cell, record)),
        {v.burst: v.attempt for v in validity},
        shares=shared_links(_measured_paths(record), plan.connections(cell), plan.net),
        measured=measured,
        grants=given,
        lost=[row for row in lost if row.cell == cell.name],
        overhead=_overhead(record, receiver_key(cell)),
        acceptance=_acceptance(record, receiver_key(cell)),
    )


def _judged(plan: Plan, record: RunRecord) -> list[tuple[Cell, list[Validity]]]:
    """The cells that finished a burst, each with its judgements."""
    found = [(cell, [v for v in record.validity if v.cell == cell.name]) for cell in plan.cells]
    return [(cell, validity) for cell, validity in found if validity]


def _measured_paths(record: RunRecord) -> list[PathMeasured]:
    try:
        return [PathMeasured(**path) for path in record.links]
    except TypeError as problem:
        raise StorageError(f"{RUN}: links: {problem}: no measured path") from None


def _overhead(record: RunRecord, receiver: str) -> Overhead | None:
    """What the run had found of a receiver; runs of older releases did not look."""
    if receiver not in record.overheads:
        return None
    try:
        return overhead_of(record.overheads[receiver])
    except (KeyError, TypeError) as problem:
        raise StorageError(f'{RUN}: overheads: "{receiver}": {problem}: no overhead') from None


def _acceptance(record: RunRecord, receiver: str) -> Acceptance | None:
    """How long the run had found that a receiver leaves calls unread; older runs did not look."""
    if receiver not in record.acceptances:
        return None
    try:
        return acceptance_of(record.acceptances[receiver])
    except (KeyError, TypeError) as problem:
        raise StorageError(f'{RUN}: acceptances: "{receiver}": {problem}: no acceptance') from None


def _links(plan: Plan, cell: Cell, record: RunRecord) -> Iterator[tuple[int, LinkModel]]:
    for planned in plan.connections(cell):
        key = link_key(cell.name, planned.index)
        try:
            yield planned.index, LinkModel(**record.models[key])
        except (KeyError, TypeError) as problem:
            raise StorageError(f'{RUN}: models: "{key}": {problem}: no link of a model') from None


def _early(
    plan: Plan, judged: Sequence[tuple[Cell, list[Validity]]], before: Summary | None
) -> list[str]:
    """What ended the run early, as far as it can be told without its summary."""
    if before is not None:
        return [r for r in before.reasons if r == NOT_ENDED or r.startswith(EARLY)]
    there = {cell.name for cell, _ in judged}
    missing = [cell.name for cell in plan.cells if cell.name not in there]
    return [f"{EARLY}: no burst of {missing[0]}"] if missing else []
