"""What nodes logged as tables: steps, operations, and the figures of a run."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Self

import numpy as np

from emu.remote.training.roles import (
    BATCH,
    BEGUN,
    DELIVERED,
    ENDED,
    HANDED,
    READY,
    REQUESTED,
    Row,
)
from netcosim.errors import EndpointError
from netcosim.results.training.job_summary import JobPoint, JobStepTimes
from netcosim.results.training.operations import OperationColumns, places_of
from netcosim.results.training.steps import StepColumns
from netcosim.training.executor.joined import is_joined
from netcosim.training.job import TrainingJob
from netcosim.training.plan import Floats
from netcosim.training.throughput import ends_of_updates, steps_per_s

Key = tuple[int, int, int]
"""Worker, step, operation; what is done once for all has the number behind all workers."""

Times = tuple[int, int, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """A run of a job with so many workers, as its nodes logged it.

    Attributes
    ----------
    requested_ns : (workers, steps + 1) when each worker requested each step; the last column is
        when its own part of the last step was over; -1: it did not come to that
    batches : (workers, steps) examples of each step that was begun; None: those of the profile
    times_ns : by operation of a worker's step: ready (handed to the transport), begun, ended
    """

    cell: str
    job: TrainingJob
    requested_ns: np.ndarray[tuple[int, int], np.dtype[np.int64]]
    times_ns: Mapping[Key, Times]
    batches: np.ndarray[tuple[int, int], np.dtype[np.int64]] | None = None

    @classmethod
    def so_far(cls, cell: str, job: TrainingJob, logs: Mapping[str, Sequence[Row]]) -> Self:
        """From the rows that nodes have told: of finished steps alone."""
        requested = np.full((job.workers, job.steps + 1), -1, dtype=np.int64)
        found: dict[str, dict[Key, int]] = {}
        for rows in logs.values():
            for kind, worker, step, op, at_ns in rows:
                if kind == REQUESTED:
                    requested[worker, step] = at_ns
                else:
                    found.setdefault(kind, {})[worker, step, op] = at_ns
        times = {
            key: (found[READY][key], found[BEGUN][key], end)
            for key, end in found.get(ENDED, {}).items()
        }
        handed = found.get(HANDED, {})
        delivered = found.get(DELIVERED, {})
        for key, handed_ns in handed.items():  # in the order of hand-over, as each sender told it
            if key in delivered:
                times[key] = (handed_ns, handed_ns, delivered[key])
        measured = cls(
            cell=cell,
            job=job,
            requested_ns=requested,
            times_ns=times,
            batches=_batches(job, found[BATCH]) if BATCH in found else None,
        )
        return replace(measured, times_ns=measured._of_finished(times))

    def missing(self) -> EndpointError | None:
        """The failure of a run that came to its end though something of the job did not happen."""
        if self.job.counts_some:
            left = self.job.steps - self.updated
            return EndpointError(f"{self.cell}: {left} updates have no end") if left else None
        missing = _expected(self.job) - len(self.times_ns)
        if missing or self.finished.min(initial=self.job.steps) < self.job.steps:
            return EndpointError(f"{self.cell}: {missing} operations have no end")
        return None

    @property
    def finished(self) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
        """Number of finished steps, by worker."""
        found: np.ndarray[tuple[int], np.dtype[np.int64]] = (self.requested_ns >= 0).sum(axis=1)
        return np.maximum(found - 1, 0)

    @property
    def updated(self) -> int:
        """Number of steps of which all updates are made that are done once for all workers."""
        return int(np.isfinite(self._updates_end_ns()[0, 1:]).sum())

    def _updates_end_ns(self) -> Floats:
        """(1, steps + 1) begin, and end of the last update of each step; nan: one has no end."""
        made = [(key, each[2]) for key, each in self.times_ns.items() if key[0] == self.job.workers]
        step, operation = (np.array([key[i] for key, _ in made], dtype=np.int64) for i in (1, 2))
        end_ns = np.array([end_ns for _, end_ns in made], dtype=np.float64)
        return ends_of_updates(self.job, step, operation, end_ns)

    def _of_finished(self, times: Mapping[Key, Times]) -> dict[Key, Times]:
        """Times of operations of steps that are finished; what is joined, by all that count."""
        by_all = self.updated if self.job.counts_some else int(self.finished.min())
        finished = [*self.finished.tolist(), by_all]
        return {key: each for key, each in times.items() if key[1] < finished[key[0]]}

    def steps(self) -> StepColumns:
        """Finished steps, from a worker's request to its next one."""
        worker, step = np.nonzero(self.requested_ns[:, 1:] >= 0)
        return StepColumns.of_run(
            cell=self.cell,
            workers=self.job.workers,
            run=0,
            worker=worker,
            step=step,
            start_ns=self.requested_ns[worker, step],
            end_ns=self.requested_ns[worker, step + 1],
        )

    def operations(self, steps: int) -> OperationColumns:
        """All operations of the first steps, by their end."""
        plan = self.job.plan
        kept = [(key, times) for key, times in self.times_ns.items() if key[1] < steps]
        kept.sort(key=lambda each: (each[1][2], each[0]))
        keys = np.array([key for key, _ in kept], dtype=np.int64).reshape(-1, 3)
        times = np.array([times for _, times in kept], dtype=np.int64).reshape(-1, 3)
        return OperationColumns.of_run(
            cell=self.cell,
            workers=self.job.workers,
            run=0,
            names=plan.names,
            places=places_of(plan),
            sizes=plan.size_bytes,
            worker=keys[:, 0],
            step=keys[:, 1],
            operation=keys[:, 2],
            ready_ns=times[:, 0],
            start_ns=times[:, 1],
            end_ns=times[:, 2],
        )

    def overtaken_share(self, warmup: int) -> float | None:
        """Part of transfers behind the warm-up that came after one that was handed over later.

        By connection and direction, as a counter at the sender orders each (TicTac, section 5.1).
        None if there were no transfers.
        """
        plan = self.job.plan
        lines: dict[Key, list[tuple[int, int]]] = {}
        for (worker, step, operation), (handed_ns, _, end_ns) in self.times_ns.items():
            place = int(plan.place[operation])
            if step >= warmup and place < len(plan.channels):
                lines.setdefault((worker, step, place), []).append((handed_ns, end_ns))
        late = total = 0
        for line in lines.values():
            line.sort(key=lambda transfer: transfer[0])  # stable: equal times as they were told
            ends = np.array([end_ns for _, end_ns in line])
            earliest_behind = np.minimum.accumulate(ends[::-1])[::-1]
            late += int((ends[:-1] > earliest_behind[1:]).sum())
            total += len(line)
        return late / total if total else None

    def point(self, warmup: int, batch: int, *, lost_share: float, busy_share: float) -> JobPoint:
        """Figures of the steps behind the warm-up."""
        some = self.job.counts_some
        ends_ns = self._updates_end_ns() if some else self.requested_ns.astype(np.float64)
        parts = None if self.batches is None else self.batches / batch
        rate = steps_per_s(self.job, ends_ns, warmup, parts)
        lengths = np.diff(ends_ns[:, warmup:], axis=1).ravel()
        return JobPoint(
            workers=self.job.workers,
            steps=self.job.steps,
            warmup=warmup,
            steps_per_s=rate,
            examples_per_s=rate * batch,
            step_ns=JobStepTimes(
                mean=float(lengths.mean()),
                median=float(np.median(lengths)),
                p95=float(np.quantile(lengths, 0.95)),
                max=float(lengths.max()),
            ),
            lost_share=lost_share,
            busy_share=busy_share,
            overtaken_share=self.overtaken_share(warmup),
            batches=None if self.batches is None else tuple(map(tuple, self.batches.tolist())),
        )


def _batches(
    job: TrainingJob, told: Mapping[Key, int]
) -> np.ndarray[tuple[int, int], np.dtype[np.int64]]:
    found = np.zeros((job.workers, job.steps), dtype=np.int64)
    for (worker, step, _), batch in told.items():
        found[worker, step] = batch
    return found


def _expected(job: TrainingJob) -> int:
    """Number of operations of a whole run; updates that are joined are there once a step."""
    joined = sum(is_joined(job.plan, op) for op in range(job.plan.operations))
    return job.steps * (job.workers * (job.plan.operations - joined) + joined)
