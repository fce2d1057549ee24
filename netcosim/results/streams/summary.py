"""`summary.json`: results of a run, equal for equal measurements. No clock times, no host."""

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from netcosim.scenario.unstudied_releases import NotStudied
from netcosim.trace import Level

AnswerKind = Literal["follows", "undecided", "fits none", "alike", "contradiction", "no evidence"]


class _Record(BaseModel):
    model_config = ConfigDict(
        frozen=True, extra="forbid", json_schema_serialization_defaults_required=True
    )


class Errors(_Record):
    """Relative errors as fractions."""

    streams: int = Field(description="number of streams, pooled over the bursts scored")
    mean: float
    median: float
    p95: float
    p99: float
    max: float


class BurstErrors(_Record):
    """One model's errors in one burst, over its streams."""

    burst: int
    first: bool = Field(description="whether it was the first on its connections")
    order_mean: float
    order_max: float
    time_mean: float = Field(description="of wire ends, on the clock of link work")
    time_max: float
    order_equal: bool = Field(description="whether the order of service was exactly predicted")


class ModelResult(_Record):
    """One model's errors in one cell."""

    model: str = Field(description="the discipline")
    level: Level = Field(description="what the model knew")
    bursts: int = Field(description="bursts scored")
    orders_equal: int = Field(description="bursts whose order of service was exactly predicted")
    order: Errors = Field(
        description="order error: |predicted - measured| position of a stream's end in its"
        " connection's bytes, over these bytes"
    )
    order_first: Errors | None = Field(
        description="the same of bursts that were the first on their connections; null: none was"
    )
    order_later: Errors | None = Field(description="the same of all others; null: there are none")
    share: Errors | None = Field(
        description="share error: the same of positions in the DATA of all connections over the"
        " bottleneck; null where no bottleneck is shared"
    )
    by_burst: tuple[BurstErrors, ...]
    wire: Errors = Field(
        description="time error: |predicted - measured| wire end over the burst's length, on the"
        " clock of link work"
    )
    wall: Errors = Field(description="the same where the measured end is on the wall clock")
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


class Answer(_Record):
    """Verdict on the rule that a cell's bursts follow."""

    kind: AnswerKind = Field(description="alike: the cell can't tell models apart")
    model: str | None = Field(default=None, description="the nearest in most bursts")
    rivals: tuple[str, ...] = Field(
        default=(), description="others that are not excluded: not worse in most bursts"
    )
    alike: tuple[str, ...] = Field(
        default=(), description="others that predict the same here, within a point"
    )
    agreeing: int = Field(
        default=0, description="bursts in which it excludes every other model by itself"
    )
    bursts: int = Field(default=0, description="of how many")


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
        description="most unacknowledged bytes that the models assume, over the largest message"
    )
    bdp_to_window: float | None = Field(
        description="bytes that a round trip of the idle path holds over the stream window"
    )


def cut_share(lost: float | None, unexplained: float | None) -> float:
    """Part of the bursts' time that was cut out as recorded pauses; 0 if it is not known."""
    return 0.0 if lost is None or unexplained is None else lost - unexplained


class CellSummary(_Record):
    """Results of one workload on one transport."""

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
    configured_discipline: str | None = Field(
        description="the discipline that our own sender was configured to follow"
    )
    judged_bursts: int = Field(description="bursts scored")
    shown_bursts: int = Field(
        description="valid bursts that are not judged: a pause delayed an input of the models"
    )
    invalid_bursts: int
    grade: Literal["A", "B", "C"] | None = Field(
        description="by lost_share: A up to 0.5 %, B up to 5 %, C above: take the order only; null:"
        " not known"
    )
    lost_share: float | None = Field(
        description="time that the bottleneck lost though something could be sent, over the judged"
        " bursts' length; null: not known"
    )
    unexplained_share: float | None = Field(
        description="the part of it that no recorded pause explains: it is in the time error"
    )
    streams: int = Field(description="streams a burst")
    burst_bytes: int = Field(description="message bytes a burst")
    burst_length_ns: int = Field(
        description="mean over judged bursts, zero to last wire end on the clock of link work"
    )
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
    best: str | None = Field(description="the model that is nearest in most bursts, at PREDICT")
    answer: Answer
    separation: float = Field(
        description="the largest mean difference between two models' predictions, over the burst"
    )
    discriminating: bool = Field(description="whether the models differ by 5 % or more here")
    verdict: str = Field(description="one sentence for a person")

    @property
    def cut_share(self) -> float:
        """Part of the judged bursts' time that was cut out as recorded pauses; 0 if not known."""
        return cut_share(self.lost_share, self.unexplained_share)


class NotRun(_Record):
    """Workload and transport that could not be run: the machine lacked something."""

    cell: str = Field(description="workload/transport")
    workload: str
    transport: str
    reason: str = Field(description="what the machine lacks")


class Summary(_Record):
    """Results of the whole run."""

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
