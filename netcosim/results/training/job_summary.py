"""`summary.json` of a training job over real flows: throughput and step times by workers.

No clock times, no host: the same bytes for the same job by the virtual clock.
"""

from typing import Annotated, Final, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

JOB_FORMAT: Final = "netcosim-job-summary"

BUSY_MOST: Final = 0.05
"""Share of a job's time up to which its processes' own work changes no figure by more than that."""


_MOST: Final = 10**15
"""Beyond what any of these whole numbers can be: a link's rate, bytes, ns of a message."""

_LEAST_SEGMENT: Final = 500


def _segment(size_bytes: int) -> int:
    if 0 < size_bytes < _LEAST_SEGMENT:
        raise ValueError(f"must be 0, or at least {_LEAST_SEGMENT}")
    return size_bytes


_Whole = Annotated[int, Field(ge=0, le=_MOST)]
_Count = Annotated[int, Field(ge=1, le=_MOST)]
_LEAST: Final = 1e-9
_Ns = Annotated[float, Field(ge=1, le=1e18)]
_Bytes = Annotated[int, Field(ge=0, le=2**31)]
_BucketBytes = Annotated[int, Field(ge=1, le=2**31)]
_SegmentBytes = Annotated[int, Field(ge=0, le=65535), AfterValidator(_segment)]


class _Record(BaseModel):
    model_config = ConfigDict(
        frozen=True,
        extra="forbid",
        allow_inf_nan=False,
        json_schema_serialization_defaults_required=True,
    )


class JobStepTimes(_Record):
    """Times from a worker's request for a step to that for the next one, over its counted steps."""

    mean: _Ns
    median: _Ns
    p95: _Ns
    max: _Ns


class JobPoint(_Record):
    """Times and throughput of a job at one number of workers."""

    workers: _Count
    steps: _Count = Field(description="steps of each worker, warm-up included")
    warmup: _Whole = Field(description="the first of these, which no figure counts")
    steps_per_s: float = Field(
        gt=_LEAST,
        le=_MOST,
        description="sum over the workers of their own rates: counted steps over the time from the"
        " request for the first of them to the end of the last",
    )
    examples_per_s: float = Field(gt=_LEAST, le=_MOST, description="steps_per_s times the batch")
    step_ns: JobStepTimes
    lost_share: float = Field(
        ge=0,
        le=1,
        description="part of the job's time in which some processor of the machine was away;"
        " 0 by the virtual clock",
    )
    busy_share: float = Field(
        default=0.0,
        ge=0,
        description="part of the job's time in which the busiest node's process ran, for calls and"
        " messages; 0 by the virtual clock",
    )
    overtaken_share: float | None = Field(
        default=None,
        ge=0,
        le=1,
        description="part of the counted steps' transfers that were delivered after one that the"
        " same connection was handed later; null: of a release that did not count",
    )
    batches: tuple[tuple[int, ...], ...] | None = Field(
        default=None,
        description="by worker, examples of each step, where a coordinator decided; else null",
    )

    @property
    def busy_text(self) -> str:
        """Note that processes took much time for calls; empty if they did not."""
        if self.busy_share <= BUSY_MOST:
            return ""
        return f"the busiest process ran {100 * self.busy_share:.2g} % of the time"


class UnfinishedPoint(_Record):
    """What so many workers did not bring to its end; finished steps are in the tables."""

    workers: _Count
    finished_steps: tuple[int, ...] = Field(description="by worker")
    reason: str = Field(description="why it ended early")


class PathFacts(_Record):
    """Path of a connection as its models are told of it."""

    past_bytes: _Bytes = Field(
        description="unacknowledged bytes that our own sender keeps to; 0: memory bounds them"
    )
    send_memory_bytes: _Bytes = Field(
        description="of the sender's socket; 0: its bytes are bounded"
    )
    bucket_bytes: _BucketBytes = Field(description="that a link lets pass at once after a rest")
    segment_bytes: _SegmentBytes = Field(
        description="payload of a segment; 0: bytes flow, by the real clock"
    )
    handling_ns: _Whole = Field(description="from a segment to the update that it brings about")
    poll_ns: _Whole = Field(description="between two looks of our own sender for room")
    flight_segments: _Whole = Field(description="most segments under way at once; 0: as TCP has it")


class MessageTimes(_Record):
    """Time from one message to the next that our endpoints take, where they are very small."""

    asking_ns: _Whole = Field(
        description="of a server's calls for gradients, before a step's first parameter"
    )
    parameter_ns: _Whole = Field(description="of a step's parameters, calls for them included")
    gradient_ns: _Whole = Field(description="of a step's gradients")
    spread: float = Field(
        ge=0,
        le=10,
        description="standard deviation of what all parameters of a step took, over its mean",
    )

    @property
    def text(self) -> str:
        """Times in words."""
        return (
            f"{self.parameter_ns / 1e3:.3g} us a parameter, {self.asking_ns / 1e3:.3g} us a call"
            f" for a gradient, {self.gradient_ns / 1e3:.3g} us a gradient"
        )


class JobSeries(_Record):
    """One workload on one transport."""

    cell: str = Field(description="workload/transport")
    job_sha256: str = Field(description="of the job's file, jobs/CELL.json")
    profile: str = Field(description="of which profile its steps are")
    batch: _Count = Field(description="examples of one worker's step")
    servers: _Count
    rate_bps: _Count = Field(description="of a server's port, either direction")
    synchronisation: str
    socket_buffer_bytes: _Count = Field(
        description="payload that the kernel takes of a connection before it has left"
    )
    path: PathFacts = Field(description="of every connection, as predictions and models have it")
    messages: MessageTimes | None = Field(
        default=None,
        description="measured before a record by the machine's clock; else null",
    )
    points: tuple[JobPoint, ...] = Field(description="by number of workers, rising")
    unfinished: tuple[UnfinishedPoint, ...] = Field(description="runs that ended early")


class JobSummary(_Record):
    """Measurements of a training job."""

    format: Literal["netcosim-job-summary"] = "netcosim-job-summary"
    version: Literal[1] = 1
    scenario: str
    world: Literal["emu"] = "emu"
    seed: int
    complete: bool = Field(description="false if the run was interrupted or failed on its way")
    trusted: bool = Field(description="false: do not use these figures; see reasons")
    reasons: tuple[str, ...] = Field(description="why the run can't be trusted, or is incomplete")
    profiling: bool = Field(
        default=False,
        description="true: one worker did every recorded step once, as a record to predict from",
    )
    sealed_sha256: str | None = Field(
        default=None, description="of the prediction that was sealed before, seal.json; else null"
    )
    series: tuple[JobSeries, ...]
