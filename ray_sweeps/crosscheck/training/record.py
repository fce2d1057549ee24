"""`crosscheck.json` of training jobs."""

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field


class _Record(BaseModel):
    model_config = ConfigDict(
        frozen=True, extra="forbid", json_schema_serialization_defaults_required=True
    )


class StreamErrors(_Record):
    """Ends of the first steps' streams, simulated from the job's file against measured.

    Times count from the job's start; errors are over the mean measured step.
    """

    streams: int
    mean: float
    max: float


class ModelsCheck(_Record):
    """The job by its executors over models of its connections.

    What the simulator leaves out of connections is between the prediction and this; what models of
    connections leave out of TCP, the kernel and processes is between this and the measurement.
    """

    examples_per_s: float = Field(description="as sealed")
    error: float = Field(description="this over measured, less 1")
    abstraction: float = Field(description="the simulator's throughput over this, less 1")
    streams: StreamErrors | None = Field(description="from the job's file, against measured")


class PointCheck(_Record):
    """One cell with so many workers; errors are predicted over measured, less 1."""

    workers: int
    measured: float = Field(description="examples/s")
    lost_share: float = Field(
        description="part of the time in which some processor of the machine was away; 0 by the"
        " virtual clock"
    )
    busy_share: float = Field(
        default=0.0,
        description="part of the time in which the busiest node's process ran, which no prediction"
        " counts; 0 by the virtual clock",
    )
    predicted: float = Field(description="examples/s, as sealed")
    low: float = Field(description="of the perturbed simulations that were sealed")
    high: float
    sd: float = Field(description="of these, over their mean")
    bimodal: bool
    error: float
    simulated_error: float | None = Field(
        default=None,
        description="of one simulation, where the prediction is the mean of many runs",
    )
    linear_error: float = Field(description="of as many times one worker as there are workers")
    bound_error: float = Field(description="of what the busiest port carries, or the same if less")
    discipline_errors: dict[str, float] = Field(description="had another discipline been assumed")
    order_errors: dict[str, float] = Field(description="had another order been assumed")
    step_median_error: float
    step_p95_error: float
    step_median_inside: bool | None = Field(
        default=None,
        description="whether the measured median is in the sealed range; null: none was sealed",
    )
    step_p95_inside: bool | None = Field(default=None, description="the same of the p95")
    streams: StreamErrors | None = Field(description="null: no operations are in the folder")
    simulated_streams: StreamErrors | None = Field(
        default=None,
        description="of a simulation, where the prediction's are told over models of connections",
    )
    models: ModelsCheck | None = Field(
        default=None,
        description="null: gradients are pushed, the sender's rule is not known, the models come to"
        " a standstill, or it was measured by the machine's clock",
    )


class CellCheck(_Record):
    """One workload on one transport of one run."""

    run: str
    cell: str
    profile: str
    synchronisation: str
    servers: int
    clock: str = Field(description="by which it was measured")
    discipline: str
    order: str
    sealed_sha256: str
    points: tuple[PointCheck, ...]


class TrainingCrosscheck(_Record):
    """Predictions of training jobs against measurements."""

    format: Literal["netcosim-training-crosscheck"] = "netcosim-training-crosscheck"
    version: Literal[1] = 1
    engine: str = Field(description="hash of the simulator's sources, of this check")
    lines: tuple[str, ...] = Field(description="what was left out, or is not whole")
    cells: tuple[CellCheck, ...]
