"""`run.json`: the run's machine, time and command, and the measurements of its network."""

from collections.abc import Iterable
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field


class _Record(BaseModel):
    model_config = ConfigDict(
        frozen=True, extra="forbid", json_schema_serialization_defaults_required=True
    )


class Validity(_Record):
    """State of the machine and the network during one burst, and the judgement of the burst.

    Runs of older releases repeated bursts for what the machine did; they have no `lost_ns`.
    """

    cell: str
    burst: int = Field(description="number within the cell; invalid attempts keep theirs")
    attempt: int = Field(description="counts from 0 for each repetition")
    valid: bool = Field(description="false: evidence was lost; the burst was repeated")
    reasons: tuple[str, ...] = Field(description="why it is invalid")
    judged: bool = Field(
        default=True, description="false: invalid, or a pause delayed an input of the models"
    )
    delayed_inputs: tuple[str, ...] = Field(
        default=(), description="inputs of the models that a recorded pause delayed"
    )
    steal: float = Field(description="processor time taken by the hypervisor, share of all")
    throttled_ns: int = Field(description="time the run was held back by a processor limit")
    retransmissions: int
    loss_probes: int = Field(
        default=0, description="tail-loss probes (RFC 8985, section 7) among what was sent again"
    )
    timeouts: int = Field(default=0, description="retransmission timeouts")
    reorderings: int = Field(default=0, description="reorderings that a sender found")
    drops: int = Field(description="packets dropped by queues and backlogs of the run")
    capture_drops: int = Field(description="packets the capture lost")
    zero_ns: int | None = Field(
        default=None,
        description="the burst's zero on the receiver's wall clock, ns since the epoch; null in"
        " runs of older releases and where the capture does not show it",
    )
    length_ns: int = Field(default=0, description="the burst's length on the wall clock")
    lost_ns: int | None = Field(
        default=None,
        description="time that the bottleneck lost for good though something could be sent; of"
        " several bottlenecks the one that lost most; null in runs of older releases",
    )
    cut_ns: int = Field(
        default=0, description="the part of lost_ns that recorded pauses explain: cut out"
    )
    largest_gap_ns: int | None = Field(
        default=None,
        description="longest idle time of the link that no credit explains; only in runs of older"
        " releases",
    )
    late_ns: int = Field(description="how late the endpoints' timed waits ended at most")
    past_scheduler_bytes: int | None = Field(
        description="most unacknowledged bytes the kernel held past the sender's scheduler; null if"
        " unknown"
    )


class RunRecord(_Record):
    """Everything that differs between two runs of the same scenario."""

    format: Literal["netcosim-run"] = "netcosim-run"
    version: Literal[1] = 1
    command: tuple[str, ...]
    started: str = Field(description="UTC, ISO 8601")
    finished: str | None
    duration_s: float
    phases_s: dict[str, float] = Field(description="wall time of each phase")
    clock: dict[str, Any] = Field(
        default={"name": "real"},
        description="the clock that all was measured by; of a virtual one its kernel, its start,"
        " the machine's seconds of each guest, and the guests that stood still and were repeated",
    )
    host: dict[str, Any] = Field(description="kernel, processors, memory, Python")
    versions: dict[str, str] = Field(
        description="of the project and the libraries that matter; `sources` is the SHA-256 of the"
        " project's files"
    )
    network: dict[str, Any] = Field(description="what was set and read back of the network")
    links: list[dict[str, Any]] = Field(description="what each path delivered before the run")
    shares: list[dict[str, Any]] = Field(
        description="how the workers shared each server's links when all pulled at once"
    )
    models: dict[str, Any] = Field(
        description="link models given to the models, by cell and connection"
    )
    overheads: dict[str, Any] = Field(
        default={},
        description="each receiver's overhead from the last byte to the message in the application,"
        " calibrated before the cells, with the samples it was fitted to",
    )
    recorder: dict[str, Any] = Field(
        default={},
        description="how pauses were recorded: period, least delay, scheduling class by processor",
    )
    acceptances: dict[str, Any] = Field(
        default={},
        description="how long each gRPC receiver that is pushed to leaves a call unread, measured"
        " before the cells, with the calls it was measured on",
    )
    peers: dict[str, Any] = Field(
        default={},
        description="by cell and connection the release of sender and receiver, and the values"
        " that each HTTP/2 setting took on the wire",
    )
    parameters: dict[str, str] = Field(
        default={},
        description="by release the SHA-256 of the parameter file that predictions rest on",
    )
    predictions_sha256: str | None = Field(description="of predictions.parquet")
    scenario_sha256: str | None = Field(
        default=None, description="of scenario.toml, of training jobs; null in other runs"
    )
    bounds: dict[str, float] = Field(description="the bounds of a valid burst")
    validity: tuple[Validity, ...]
    captures: dict[str, str] = Field(description="cell and connection to capture file")
    problems: tuple[str, ...] = Field(description="what the capture analysis reported")


def first_bursts(validity: Iterable[Validity]) -> frozenset[int]:
    """The bursts of a cell that were the first on new connections: of each attempt the first."""
    first: dict[int, int] = {}
    for each in validity:
        first[each.attempt] = min(each.burst, first.get(each.attempt, each.burst))
    return frozenset(first.values())
