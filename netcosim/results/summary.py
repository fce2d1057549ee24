"""`summary.json`: what the run found, equal for equal measurements. No clock times, no host."""

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from netcosim.results.studied import NotStudied


class _Record(BaseModel):
    model_config = ConfigDict(
        frozen=True, extra="forbid", json_schema_serialization_defaults_required=True
    )


class Errors(_Record):
    """Relative errors as fractions."""

    streams: int = Field(description="number of streams, pooled over the valid bursts")
    mean: float
    median: float
    p95: float
    p99: float
    max: float


class ModelResult(_Record):
    """One model's errors in one cell."""

    model: str = Field(description="the discipline")
    level: Literal["PREDICT", "EXPLAIN", "ORACLE"] = Field(description="what the model knew")
    bursts: int = Field(description="valid bursts scored")
    orders_equal: int = Field(description="bursts whose order of service was exactly predicted")
    wire: Errors = Field(description="|predicted - measured| wire end over the burst's length")
    wire_secondary: Errors = Field(
        description="relative to the stream's end, streams that end after a tenth of the burst"
    )
    delivered: Errors | None = Field(
        description="|predicted - measured| delivered end over the burst's length; null if unknown"
    )
    delivered_secondary: Errors | None = Field(
        default=None,
        description="relative to the delivered end, streams delivered after a tenth of the burst",
    )


class Ratios(_Record):
    """Sizes that decide whether a cell can tell disciplines apart; null where one is unknown."""

    window_to_message: float | None = Field(
        description="stream window seen on the wire over the largest message; null: never binds"
    )
    turn_to_message: float | None = Field(
        description="median bytes of a turn that left its stream unfinished, over the largest"
        " message: the write target as it shows; null if no stream was ever interrupted"
    )
    buffer_to_message: float | None = Field(
        description="bytes past the scheduler, as the models are told, over the largest message"
    )
    bdp_to_window: float | None = Field(
        description="bytes that a round trip of the idle path holds over the stream window"
    )


class CellSummary(_Record):
    """One workload on one transport."""

    cell: str = Field(description="workload/transport")
    workload: str
    transport: str
    sender: str = Field(description="implementation of the data's sender")
    receiver: str = Field(description="implementation of the data's receiver")
    sender_release: str | None = Field(
        default=None, description="as the scenario names it; null: the newest, or not gRPC"
    )
    receiver_release: str | None = Field(default=None, description="likewise")
    not_studied: tuple[NotStudied, ...] = Field(
        default=(),
        description="gRPC ends of whose release no rule is known; models take the nearest one's",
    )
    direction: str
    flow_control: bool
    window_bytes: int | None = Field(description="configured stream window; null: not configured")
    configured_discipline: str | None = Field(description="what our own sender was told to follow")
    valid_bursts: int
    invalid_bursts: int
    streams: int = Field(description="streams a burst")
    burst_bytes: int = Field(description="message bytes a burst")
    burst_length_ns: int = Field(description="mean over valid bursts, zero to last wire end")
    goodput_bps: float = Field(description="DATA bytes of a burst over its time on the wire")
    utilisation: float = Field(description="share of the capacity measured before the run")
    stalls: int = Field(
        description="visits that ended because the stream's credit did, mean a burst"
    )
    link_stall_ns: int = Field(description="time the link idled for lack of credit, mean a burst")
    visits: float = Field(description="service intervals a stream, mean")
    counted: bool = Field(
        description="false: a window was configured and stalled no stream, so it shows nothing"
    )
    ratios: Ratios
    models: tuple[ModelResult, ...] = Field(description="best first")
    best: str | None = Field(description="the model with the smallest mean wire error")
    separation: float = Field(
        description="the largest mean difference between two models' predictions, over the burst"
    )
    discriminating: bool = Field(description="whether the models differ by 5 % or more here")
    verdict: str = Field(description="one sentence for a person")


class NotRun(_Record):
    """One workload on one transport that the machine lacked something for."""

    cell: str = Field(description="workload/transport")
    workload: str
    transport: str
    reason: str = Field(description="what the machine lacks")


class Summary(_Record):
    """The whole run."""

    format: Literal["netcosim-summary"] = "netcosim-summary"
    version: Literal[1] = 1
    scenario: str
    world: Literal["emu", "sim"]
    seed: int
    complete: bool = Field(description="false if the run was interrupted or failed on its way")
    trusted: bool = Field(description="false: do not use these figures; see reasons")
    reasons: tuple[str, ...] = Field(description="why the run can't be trusted, or is incomplete")
    cells: tuple[CellSummary, ...]
    not_run: tuple[NotRun, ...] = Field(
        default=(), description="cells that the machine lacked something for"
    )
