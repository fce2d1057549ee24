"""Check of one run of a training job: its seal, and predictions against measurements."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from netcosim.errors import StorageError
from netcosim.results.folder import SCENARIO, SEAL, STEPS, SUMMARY, ResultsFolder
from netcosim.results.training import operations
from netcosim.results.training.job_summary import JobPoint, JobSeries, JobSummary
from netcosim.results.training.operations import OperationColumns
from netcosim.results.training.seal import Range, Seal, SealedCell, SealedPoint, load_seal
from netcosim.scenario import Scenario
from netcosim.training.job import TrainingJob
from netcosim.training.job_file import hash_of, load_job
from netcosim.training.plan import StepPlan
from netcosim.training.throughput import steps_per_s
from ray_sweeps.crosscheck.training.record import (
    CellCheck,
    ModelsCheck,
    PointCheck,
    StreamErrors,
)
from sim.engine.engine import Operations
from sim.sealing.assumed import Assumed, assumed_of
from sim.sealing.drawn import check_drawn
from sim.sealing.over_models import OverModels, run_over_models
from sim.sealing.predict import simulate

Ends = Mapping[tuple[int, int, str], float]
"""Ends of transfers by worker, step and name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Checked:
    """A cell's check, and the operations of its first steps in both worlds by number of workers."""

    check: CellCheck
    measured: dict[int, OperationColumns]
    simulated: dict[int, OperationColumns]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Run:
    name: str
    summary: JobSummary
    seal: Seal
    scenario: Scenario
    ops: OperationColumns
    jobs: dict[str, TrainingJob]


def check_run(path: Path, lines: list[str]) -> list[Checked]:
    """Check all cells of a run that carries its seal; what is not whole is told in `lines`.

    Raises
    ------
    StorageError
        The folder can't be read; the run was not sealed, or is not the one that was.
    """
    return _check_cells(_read(path), lines)


def check_again(path: Path, seal: Seal, lines: list[str]) -> list[Checked]:
    """Check a run against predictions that were made after it, as by newer sources.

    They could have been fitted to it: a cross-check refuses them.
    """
    return _check_cells(_read(path, seal), lines)


def _check_cells(run: _Run, lines: list[str]) -> list[Checked]:
    path = run.name
    if not run.summary.complete:
        why = "; ".join(run.summary.reasons)
        lines.append(f"{path}: the run is incomplete ({why}); what it finished is compared")
    elif not run.summary.trusted:
        lines.append(f"{path}: not to be trusted: {'; '.join(run.summary.reasons)}")
    sealed = {cell.cell: cell for cell in run.seal.cells}
    absent = sealed.keys() - {series.cell for series in run.summary.series}
    lines += [f"{path}: {cell}: was predicted, and not measured" for cell in sorted(absent)]
    checked = []
    for series in run.summary.series:
        cell = sealed[series.cell]
        missing = {p.workers for p in cell.points} - {p.workers for p in series.points}
        if missing:
            counts = ", ".join(map(str, sorted(missing)))
            lines.append(f"{path}: {series.cell}: not measured with {counts} workers")
        if series.points:
            checked.append(_check(run, series, cell))
    return checked


def _read(path: Path, predicted: Seal | None = None) -> _Run:
    with ResultsFolder.open(path) as folder:
        summary = folder.read_job_summary() if folder.world() == "job" else None
        if summary is None:
            raise StorageError(f"{path}: has no measurement of a training job")
        if not folder.has(SEAL) or summary.sealed_sha256 is None:
            allowed = "was not predicted before it was run; emu.run --sealed runs what was"
            raise StorageError(f"{path}: {allowed}")
        seal = load_seal(folder.read(SEAL), f"{path}/{SEAL}")
        if seal.sha256 != summary.sealed_sha256:
            raise StorageError(f"{path}: {SEAL}: is not the seal with which the run was made")
        if folder.read(SCENARIO) != seal.scenario.encode():
            raise StorageError(f"{path}/{SCENARIO}: is not the scenario that was predicted")
        _check_series(path, summary, seal)
        check_drawn(folder.read_scenario(), summary.series, f"{path}/{SUMMARY}")
        if predicted is not None:
            seal = predicted
        jobs = {}
        for cell in seal.cells:
            data, source = folder.read_job(cell.cell), f"{path}/{folder.job_name(cell.cell)}"
            if hash_of(data) != cell.job_sha256:
                raise StorageError(f"{source}: is not the job that was predicted: its hash differs")
            jobs[cell.cell] = load_job(data, source)
        _check_points(folder, summary, jobs)
        return _Run(
            name=str(path),
            summary=summary,
            seal=seal,
            scenario=folder.read_scenario(),
            ops=folder.read_operations(),
            jobs=jobs,
        )


def _check_points(
    folder: ResultsFolder, summary: JobSummary, jobs: Mapping[str, TrainingJob]
) -> None:
    """Refuse throughput that the run's steps do not have; of K of W workers no step tells it."""
    table = folder.read_steps()
    for series in summary.series:
        job, where = jobs[series.cell], f"{folder.path}/{SUMMARY}: {series.cell}"
        counts = [point.workers for point in series.points]
        if len(set(counts)) < len(counts):
            raise StorageError(f"{where}: points: must have each number of workers once")
        for point in () if job.counts_some else series.points:
            mine = table.cell.are(series.cell) & (table.workers == point.workers)
            worker, step = table.worker[mine], table.step[mine]
            ends_ns = np.full((point.workers, job.steps + 1), np.nan)
            if len(step) and (worker.max() >= point.workers or step.max() >= job.steps):
                raise StorageError(f"{folder.path / STEPS}: {series.cell}: has steps of nobody")
            ends_ns[worker, step + 1] = table.end_ns[mine]
            ends_ns[worker, step] = table.start_ns[mine]
            parts = None if point.batches is None else np.array(point.batches) / series.batch
            rate = steps_per_s(job.first(point.workers), ends_ns, point.warmup, parts)
            rate *= series.batch
            if not np.isclose(rate, point.examples_per_s, rtol=1e-6):
                allowed = f"must be {rate:.9g}, by its steps"
                raise StorageError(f"{where}: {point.examples_per_s}: {allowed}")


def _check_series(path: Path, summary: JobSummary, seal: Seal) -> None:
    """Refuse a summary of other cells, jobs or numbers of workers than were predicted."""
    sealed = {cell.cell: cell for cell in seal.cells}
    if summary.profiling:
        raise StorageError(f"{path}: {SUMMARY}: profiling: true: is a record of one worker")
    for series in summary.series:
        where = f"{path}: {SUMMARY}: {series.cell}"
        if series.cell not in sealed:
            raise StorageError(f"{where}: was not predicted")
        if series.job_sha256 != sealed[series.cell].job_sha256:
            raise StorageError(f"{where}: job_sha256: is not the job that was predicted")
        predicted = {point.workers for point in sealed[series.cell].points}
        for point in series.points:
            if point.workers not in predicted:
                raise StorageError(f"{where}: {point.workers} workers were not predicted")


def _check(run: _Run, series: JobSeries, sealed: SealedCell) -> Checked:
    predicted = {point.workers: point for point in sealed.points}
    counted = series.model_copy(update={"messages": sealed.messages})
    assumed = assumed_of(run.scenario, counted, run.jobs[series.cell])
    measured_ops, simulated_ops, points = {}, {}, []
    for point in series.points:
        mine = run.ops.cell.are(series.cell) & (run.ops.workers == point.workers)
        measured = operations.TABLE.where(run.ops, mine)
        simulated = _simulated(series.cell, assumed, point.workers, measured)
        simulated_ends = None
        if len(measured):
            measured_ops[point.workers], simulated_ops[point.workers] = measured, simulated
            simulated_ends = _errors(_ends(measured), _ends(simulated), point.step_ns.mean)
        known = len(measured) and predicted[point.workers].models is not None
        found = run_over_models(assumed, point.workers) if known else None
        over = _over_models(assumed, point, predicted[point.workers], measured, found)
        checked = _point(point, predicted[point.workers], simulated_ends, over)
        if over is not None and found is not None and found.tells_streams:
            ends = {"streams": over.streams, "simulated_streams": simulated_ends}
            checked = checked.model_copy(update=ends)
        points.append(checked)
    check = CellCheck(
        run=run.name,
        cell=series.cell,
        profile=series.profile,
        synchronisation=series.synchronisation,
        servers=series.servers,
        clock=run.scenario.clock,
        discipline=sealed.discipline,
        order=sealed.order,
        sealed_sha256=run.seal.sha256,
        points=tuple(points),
    )
    return Checked(check=check, measured=measured_ops, simulated=simulated_ops)


def _over_models(
    assumed: Assumed,
    point: JobPoint,
    sealed: SealedPoint,
    measured: OperationColumns,
    found: OverModels | None,
) -> ModelsCheck | None:
    """Figures of the job over models, as sealed; its streams as they are `found` again."""
    if sealed.models is None:
        return None
    streams = None
    if found is not None:
        names = assumed.as_recorded.plan.names
        ends = {(w, step, names[op]): end for (w, step, op), end in found.delivered_ns.items()}
        streams = _errors(_ends(measured), ends, point.step_ns.mean)
    return ModelsCheck(
        examples_per_s=sealed.models,
        error=sealed.models / point.examples_per_s - 1,
        abstraction=(sealed.simulated or sealed.examples_per_s) / sealed.models - 1,
        streams=streams,
    )


def _point(
    found: JobPoint,
    sealed: SealedPoint,
    streams: StreamErrors | None,
    models: ModelsCheck | None,
) -> PointCheck:
    measured = found.examples_per_s

    def error(value: float) -> float:
        return value / measured - 1

    return PointCheck(
        workers=found.workers,
        measured=measured,
        lost_share=found.lost_share,
        busy_share=found.busy_share,
        predicted=sealed.examples_per_s,
        low=sealed.spread.low,
        high=sealed.spread.high,
        sd=sealed.spread.sd,
        bimodal=sealed.spread.bimodal,
        error=error(sealed.examples_per_s),
        simulated_error=None if sealed.simulated is None else error(sealed.simulated),
        linear_error=error(sealed.linear),
        bound_error=error(sealed.bound),
        discipline_errors={name: error(value) for name, value in sealed.disciplines.items()},
        order_errors={name: error(value) for name, value in sealed.orders.items()},
        step_median_error=sealed.step_ns.median / found.step_ns.median - 1,
        step_p95_error=sealed.step_ns.p95 / found.step_ns.p95 - 1,
        step_median_inside=_is_inside(found.step_ns.median, sealed.spread.step_median_ns),
        step_p95_inside=_is_inside(found.step_ns.p95, sealed.spread.step_p95_ns),
        streams=streams,
        models=models,
    )


def _is_inside(value: float, sealed: Range | None) -> bool | None:
    return None if sealed is None else sealed.low <= value <= sealed.high


def _simulated(
    cell: str, assumed: Assumed, workers: int, measured: OperationColumns
) -> OperationColumns:
    """The operations that were kept of the measurement, simulated from the job's file."""
    kept = int(measured.step.max(initial=-1)) + 1
    job = assumed.job.first(workers)
    found = simulate(assumed, job, keep_operations=True).operations
    return _columns(cell, job.plan, workers, found, found.step < kept)


def _columns(
    cell: str, plan: StepPlan, workers: int, found: Operations, kept: NDArray[np.bool_]
) -> OperationColumns:
    return OperationColumns.of_run(
        cell=cell,
        workers=workers,
        run=0,
        names=plan.names,
        places=operations.places_of(plan),
        sizes=plan.size_bytes,
        worker=found.worker[kept],
        step=found.step[kept],
        operation=found.operation[kept],
        ready_ns=found.ready_ns[kept],
        start_ns=found.start_ns[kept],
        end_ns=found.end_ns[kept],
    )


def _errors(measured: Ends, theirs: Ends, step_ns: float) -> StreamErrors | None:
    """Errors of the streams that are in both; None where none is."""
    errors = np.array(
        [abs(end - theirs[key]) / step_ns for key, end in measured.items() if key in theirs]
    )
    if not len(errors):
        return None
    return StreamErrors(streams=len(errors), mean=float(errors.mean()), max=float(errors.max()))


def _ends(ops: OperationColumns) -> Ends:
    transfers = np.flatnonzero(ops.kind.are("transfer"))
    names = ops.operation.texts()
    return {(int(ops.worker[i]), int(ops.step[i]), names[i]): int(ops.end_ns[i]) for i in transfers}
