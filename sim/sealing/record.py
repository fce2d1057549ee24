"""Record of one worker, read from the emulator's results folder, as what a simulation assumes."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

import numpy as np

from netcosim.errors import StorageError
from netcosim.results.folder import OPERATIONS, SCENARIO, SUMMARY, ResultsFolder
from netcosim.results.training.job_summary import JobSeries, JobSummary
from netcosim.results.training.operations import OperationColumns
from netcosim.scenario import Scenario, dump_scenario
from netcosim.training.job import TrainingJob
from netcosim.training.job_file import hash_of, load_job
from netcosim.training.plan import StepPlan
from sim.sealing.assumed import Assumed, assumed_of
from sim.sealing.dequeue import Recorded, durations
from sim.sealing.drawn import check_drawn

_ROUNDED_NS: Final = 2.0
"""Two times, each rounded to a nanosecond, are not further from a duration."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """What one worker's record holds.

    Attributes
    ----------
    scenario : as resolved, and as its file has it
    sha256 : of the record's files, by name
    cells : what a simulation of each cell assumes, with its figures as measured
    counts : numbers of workers to predict
    """

    scenario: Scenario
    text: str
    sha256: Mapping[str, str]
    cells: tuple[tuple[JobSeries, Assumed], ...]
    counts: tuple[int, ...]


def read_record(path: Path) -> Record:
    """Read a record, as ``emu.run --only 1`` leaves it.

    Raises
    ------
    StorageError
        Not a record, or one that is not whole.
    ScenarioError
        The simulator can't express the scenario.
    """
    with ResultsFolder.open(path) as folder:
        summary = _summary(folder)
        scenario = folder.read_scenario()
        check_drawn(scenario, summary.series, f"{path}/{SUMMARY}")
        _check_cells(scenario, summary, f"{path}/{SUMMARY}")
        ops = folder.read_operations()
        jobs = {series.cell: folder.read_job(series.cell) for series in summary.series}
        job_names = {cell: folder.job_name(cell) for cell in jobs}
        names = (SUMMARY, OPERATIONS, *job_names.values())
        hashes = {name: folder.hash_of(name) for name in names}
    counts = tuple(sorted(scenario.training.workers or (scenario.cluster.workers,)))
    cells = []
    for series in summary.series:
        source = f"{path}/{job_names[series.cell]}"
        if hash_of(jobs[series.cell]) != series.job_sha256:
            raise StorageError(f"{source}: is not the job of the summary: its hash differs")
        job = load_job(jobs[series.cell], source)
        if counts[-1] > job.workers:
            allowed = f"must be at most the {job.workers} of the job that was drawn"
            raise StorageError(f"{path}/{SCENARIO}: workers: {counts[-1]}: {allowed}")
        as_recorded = _as_recorded(job, ops, series.cell, str(path / OPERATIONS))
        cells.append((series, assumed_of(scenario, series, as_recorded)))
    return Record(
        scenario=scenario,
        text=dump_scenario(scenario),
        sha256=hashes,
        cells=tuple(cells),
        counts=counts,
    )


def _check_cells(scenario: Scenario, summary: JobSummary, source: str) -> None:
    """Refuse a record that has not each of its scenario's cells once."""
    found = sorted(series.cell for series in summary.series)
    wanted = sorted(f"{w.name}/{t.name}" for w in scenario.workload for t in scenario.transport)
    if found != wanted:
        allowed = f"must be {', '.join(wanted)}, each once"
        raise StorageError(f"{source}: cells: {', '.join(found)}: {allowed}")


def _summary(folder: ResultsFolder) -> JobSummary:
    if folder.world() != "job":
        raise StorageError(f"{folder.path}: is no record of a training job over real flows")
    summary = folder.read_job_summary()
    if summary is None or not summary.complete:
        raise StorageError(f"{folder.path}: the record is not whole: its run was interrupted")
    if not summary.series:
        raise StorageError(f"{folder.path}: {SUMMARY}: series: must have a cell")
    if not summary.profiling:
        allowed = "is a run of all workers; emu.run --only 1 makes the record of one"
        raise StorageError(f"{folder.path}: {allowed}")
    where = f"{folder.path}/{SUMMARY}"
    if not summary.trusted:
        raise StorageError(f"{where}: not to be trusted: {'; '.join(summary.reasons)}")
    for series in summary.series:
        if [point.workers for point in series.points] != [1]:
            allowed = "must be one, of one worker, in a record"
            raise StorageError(f"{where}: {series.cell}: points: {len(series.points)}: {allowed}")
    return summary


def _as_recorded(job: TrainingJob, ops: OperationColumns, cell: str, source: str) -> TrainingJob:
    """The job with computations as long as they were seen to be.

    Raises
    ------
    StorageError
        They were not as long as the job says.
    """
    plan = job.plan
    seen_ns = durations(plan, _recorded(ops, cell, plan, source), f"{source}: {cell}")
    wrong = np.argwhere(np.abs(seen_ns - plan.duration_ns) > _ROUNDED_NS)
    if len(wrong):
        step, op = wrong[0]
        took = f"took {seen_ns[step, op]:.0f} ns, by its job {plan.duration_ns[step, op]:.0f}"
        raise StorageError(f"{source}: {cell}: step {step}: {plan.names[op]}: {took}")
    return replace(job, plan=replace(plan, duration_ns=seen_ns))


def _recorded(ops: OperationColumns, cell: str, plan: StepPlan, source: str) -> Recorded:
    """Operations of a cell, by the plan's numbers.

    Raises
    ------
    StorageError
        They are not those of one worker's steps by this plan.
    """
    number = {name: op for op, name in enumerate(plan.names)}
    mine = np.flatnonzero(ops.cell.are(cell))
    # By the table's few different names: a row each of a long one would fill the memory.
    known = np.array([number.get(name, -1) for name in ops.operation.values] or [-1])
    operation = known[ops.operation.codes[mine]]
    strange = np.flatnonzero(operation < 0)
    if len(strange):
        name = ops.operation.values[ops.operation.codes[mine[strange[0]]]]
        raise StorageError(f"{source}: {cell}: {name[:60]}: is not in the job")
    one_each = [0 if once is None else int(once) for once in _once(plan)]
    for field, found, wanted in (
        ("workers", ops.workers[mine], np.ones(len(mine))),
        ("run", ops.run[mine], np.zeros(len(mine))),
        ("worker", ops.worker[mine], np.array(one_each)[operation]),
        ("size_bytes", ops.size_bytes[mine], plan.size_bytes[operation]),
    ):
        wrong = np.flatnonzero(found != wanted)
        if len(wrong):
            row, name = wrong[0], plan.names[operation[wrong[0]]]
            allowed = f"must be {int(wanted[row])} in the record of one worker by its job"
            raise StorageError(f"{source}: {cell}: {name}: {field}: {found[row]}: {allowed}")
    step = ops.step[mine]
    if len(step) and not 0 <= step.min() <= step.max() < plan.steps:
        beyond = step.min() if step.min() < 0 else step.max()
        raise StorageError(f"{source}: {cell}: step: {beyond}: must be 0 to {plan.steps - 1}")
    return Recorded(
        step=step,
        operation=operation.astype(np.int64),
        ready_ns=ops.ready_ns[mine],
        end_ns=ops.end_ns[mine],
    )


def _once(plan: StepPlan) -> Sequence[int | None]:
    """By operation 1 if it is done once for all workers, and so by none of them."""
    return [None] * plan.operations if plan.once is None else plan.once.tolist()
