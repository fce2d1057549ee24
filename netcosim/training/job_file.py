"""File of a training job: canonical JSON that both worlds read, known by its hash."""

import hashlib
import json
from collections.abc import Sequence
from dataclasses import fields
from pathlib import Path
from typing import Annotated, Any, Final, Literal

import numpy as np
from pydantic import BaseModel, ConfigDict, PlainSerializer, PlainValidator, ValidationError

from netcosim.errors import StorageError
from netcosim.policies import schedule_names
from netcosim.training.job import TrainingJob
from netcosim.training.plan import Channel, Draws, Floats, Gate, Ints, Processor, StepPlan
from netcosim.training.speed import SpeedTrace
from netcosim.training.stragglers import Change
from netcosim.training.synchronisation import Join

_MOST_SERVERS: Final = 1024
_MOST_BYTES: Final = 2**41
_MOST_NS: Final = 10**17
_KINDS: Final = {np.int64: "iu", np.float64: "iuf"}


def _numbers(dtype: Any) -> PlainValidator:
    def read(value: Any) -> Any:
        try:
            if np.size(value) and np.array(value).dtype.kind not in _KINDS[dtype]:
                raise ValueError
            found = np.array(value, dtype=dtype)
        except (TypeError, ValueError, OverflowError):
            whole = "whole numbers" if dtype is np.int64 else "numbers"
            raise ValueError(f"must be a list of {whole}, or of lists of the same length") from None
        if not np.isfinite(found).all():
            raise ValueError("must be finite numbers")
        return found

    return PlainValidator(read)


_AS_LISTS = PlainSerializer(lambda array: array.tolist())
_Ints = Annotated[Ints, _numbers(np.int64), _AS_LISTS]
_Floats = Annotated[Floats, _numbers(np.float64), _AS_LISTS]


class _Record(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, arbitrary_types_allowed=True)


class _Plan(_Record):
    servers: int
    names: tuple[str, ...]
    channels: tuple[Channel, ...]
    processors: tuple[Processor, ...]
    place: _Ints
    size_bytes: _Ints
    priority: _Ints
    duration_ns: _Floats
    waits: _Ints
    after: _Ints
    after_start: _Ints
    sources: _Ints
    members: tuple[tuple[int, ...], ...]
    once: _Ints | None = None
    pulled_after: _Ints | None = None
    released: _Ints | None = None
    gates: tuple[Gate, ...] = ()


class _Speed(_Record):
    time_ns: _Floats
    work_ns: _Floats


class _Job(_Record):
    format: Literal["netcosim-job/1"]
    plan: _Plan
    step: _Ints
    factor: _Floats
    staleness: int | None
    join: Join | None
    speeds: tuple[_Speed | None, ...]
    absent: tuple[int, ...]
    presence: tuple[tuple[int, int, bool], ...]
    link_bps: tuple[int, ...]
    more_delay_ns: tuple[int, ...]
    pushed: bool
    schedule: str | None
    schedule_options: tuple[int, ...]
    gate_bps: tuple[tuple[int, ...], ...]


_PLAIN: Final = (
    *("link_bps", "more_delay_ns"),
    *("pushed", "schedule", "schedule_options", "gate_bps"),
)
"""Fields that a job's file has as the job has them."""


def dump_job(job: TrainingJob) -> bytes:
    """A job as its file has it: equal bytes for equal jobs."""
    plan = {each.name: getattr(job.plan, each.name) for each in fields(StepPlan)}
    record = _Job(
        format="netcosim-job/1",
        plan=_Plan.model_construct(**plan),
        step=job.draws.step,
        factor=job.draws.factor,
        staleness=job.staleness,
        join=job.join,
        speeds=tuple(
            None if each is None else _Speed(time_ns=each.time_ns, work_ns=each.work_ns)
            for each in job.speeds
        ),
        absent=job.absent,
        presence=tuple((c.time_ns, c.worker, c.joins) for c in job.presence),
        **{name: getattr(job, name) for name in _PLAIN},
    )
    text = json.dumps(record.model_dump(mode="json"), sort_keys=True, separators=(",", ":"))
    return text.encode() + b"\n"


def hash_of(data: bytes) -> str:
    """SHA-256 of a job's file, in hexadecimal: what it is known by."""
    return hashlib.sha256(data).hexdigest()


def load_job(data: bytes, source: str | Path) -> TrainingJob:
    """Read a job; `source` names it in errors.

    Raises
    ------
    StorageError
        Not a job's file, or one that does not make sense.
    """
    try:
        record = _Job.model_validate_json(data)
    except ValidationError as problem:
        first = problem.errors(include_url=False)[0]
        where = ".".join(str(part) for part in first["loc"])
        raise StorageError(f"{source}: {where + ': ' if where else ''}{first['msg']}") from None
    _check(record, source)
    _check_values(record, source)
    plan = {each.name: getattr(record.plan, each.name) for each in fields(StepPlan)}
    return TrainingJob(
        plan=StepPlan(**plan),
        draws=Draws(step=record.step.astype(np.int32), factor=record.factor),
        staleness=record.staleness,
        join=record.join,
        speeds=tuple(
            None if each is None else SpeedTrace(time_ns=each.time_ns, work_ns=each.work_ns)
            for each in record.speeds
        ),
        absent=record.absent,
        presence=tuple(Change(*each) for each in record.presence),
        **{name: getattr(record, name) for name in _PLAIN},
    )


def _check(record: _Job, source: str | Path) -> None:
    """Refuse arrays that do not fit together: programs use them as indices."""
    plan, count = record.plan, len(record.plan.names)
    recorded, workers = len(plan.duration_ns), len(record.step)
    for field, array, shape in (
        ("plan.place", plan.place, (count,)),
        ("plan.size_bytes", plan.size_bytes, (count,)),
        ("plan.priority", plan.priority, (count,)),
        ("plan.waits", plan.waits, (count,)),
        ("plan.after", plan.after, (None,)),
        ("plan.after_start", plan.after_start, (count + 1,)),
        ("plan.duration_ns", plan.duration_ns, (recorded, count)),
        ("plan.sources", plan.sources, (recorded, None)),
        ("step", record.step, (workers, None)),
        ("factor", record.factor, (workers, None)),
    ):
        if not _has_shape(array, shape):
            wanted = " x ".join("?" if size is None else str(size) for size in shape)
            raise StorageError(f"{source}: {field}: must be {wanted} numbers")
    if len(record.speeds) != workers:
        raise StorageError(f"{source}: speeds: must be {workers}, one for each worker")
    for field in ("link_bps", "more_delay_ns", "gate_bps"):
        if len(getattr(record, field)) not in (0, workers):
            raise StorageError(
                f"{source}: {field}: must be {workers}, one for each worker, or none"
            )
    if plan.gates and record.schedule not in schedule_names():
        allowed = f"must be one of {', '.join(schedule_names())}, as the plan has gates"
        raise StorageError(f"{source}: schedule: {record.schedule}: {allowed}")
    starts = plan.after_start.tolist()
    if starts[0] != 0 or starts != sorted(starts) or starts[-1] != len(plan.after):
        allowed = f"must rise from 0 to {len(plan.after)}, the length of plan.after"
        raise StorageError(f"{source}: plan.after_start: {allowed}")
    for field, array, most in (
        ("plan.place", plan.place, len(plan.channels) + len(plan.processors)),
        ("plan.after", plan.after, count),
        ("plan.sources", plan.sources, count),
        ("step", record.step, recorded),
    ):
        if array.size and not 0 <= int(array.min()) <= int(array.max()) < most:
            raise StorageError(f"{source}: {field}: must be numbers from 0 to {most - 1}")


def _check_values(record: _Job, source: str | Path) -> None:
    """Refuse values that no job that was drawn has."""
    plan, (workers, steps) = record.plan, record.step.shape
    if not workers or not steps or not len(plan.duration_ns):
        raise StorageError(f"{source}: step: must have a worker, a step and a recorded one")
    if record.factor.shape[1] not in (1, steps):
        raise StorageError(
            f"{source}: factor: must be {workers} x 1 or {workers} x {steps} numbers"
        )
    transfers = plan.place < len(plan.channels)
    for field, values, least, most in (
        ("plan.servers", [plan.servers], 1, _MOST_SERVERS),
        ("plan.size_bytes", plan.size_bytes[transfers], 1, _MOST_BYTES),
        ("plan.duration_ns", plan.duration_ns, 0, _MOST_NS),
        ("plan.channels", [each.server for each in plan.channels], 0, plan.servers - 1),
        ("factor", record.factor, 1e-9, 1e9),
        ("link_bps", record.link_bps, 1, 10**14),
        ("more_delay_ns", record.more_delay_ns, 0, _MOST_NS),
        ("absent", record.absent, 0, workers - 1),
    ):
        found = np.asarray(values)
        if found.size and not least <= found.min() <= found.max() <= most:
            strange = found.min() if found.min() < least else found.max()
            raise StorageError(f"{source}: {field}: {strange}: must be {least} to {most}")


def _has_shape(array: Any, shape: Sequence[int | None]) -> bool:
    return array.ndim == len(shape) and all(
        wanted in (None, size) for wanted, size in zip(shape, array.shape, strict=True)
    )
