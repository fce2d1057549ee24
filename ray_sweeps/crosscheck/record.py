"""``crosscheck.json``: errors of cells and groups, and what was not compared and why."""

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field


class _Record(BaseModel):
    model_config = ConfigDict(
        frozen=True, extra="forbid", json_schema_serialization_defaults_required=True
    )


class Distribution(_Record):
    """Absolute errors as fractions, pooled over streams or bursts."""

    count: int
    mean: float
    median: float
    p95: float
    p99: float
    max: float


class ErrorsOf(_Record):
    """Errors of a set of streams, and of the bursts that they are of."""

    cells: int
    bursts: int
    orders_equal: int = Field(description="bursts in exactly the predicted order of service")
    time: Distribution = Field(
        description="|predicted - measured| end of a stream over the burst's length, on the clock"
        " of link work"
    )
    bias: float = Field(description="mean of predicted less measured end, over the burst's length")
    wall: Distribution = Field(description="the same where the measured end is on the wall clock")
    relative: Distribution | None = Field(
        description="|predicted - measured| over the stream's own end, of streams that end after"
        " the first tenth of the burst; null: there is none"
    )
    order: Distribution = Field(
        description="|predicted - measured| position of a stream's end in its connection's bytes"
    )
    end: Distribution = Field(description="of a burst's last end, over the measured one")
    end_bias: float = Field(description="its mean with its sign")
    median_cell: float = Field(description="median over cells of the mean time error")


class Group(_Record):
    """Compared streams that have something in common."""

    by: str = Field(description="what they have in common, such as release")
    value: str
    errors: ErrorsOf


class NotCompared(_Record):
    """A reason why bursts are not compared, and how many there are."""

    reason: str
    text: str
    bursts: int
    cells: int
    example: str = Field(description="cell, burst and detail of the first one")
    simulated: ErrorsOf | None = Field(
        description="errors of those that could be simulated; they count nowhere else"
    )


class Stored(_Record):
    """The score at PREDICT of the emulator's own model, as an earlier program stored it."""

    model: str
    source: str
    streams: int
    order: float = Field(description="mean order error")
    order_max: float
    time: float = Field(description="mean time error")
    time_max: float


class Beside(_Record):
    """The simulator beside the emulator's own models: medians over cells of mean errors.

    Stored errors are of all judged bursts of a cell, the simulator's of those it could compare.
    """

    cells: int = Field(description="cells that have both")
    time: float
    order: float
    stored_time: float
    stored_order: float


class Burst(_Record):
    """One burst of a cell; errors are null where it was not simulated."""

    burst: int
    first: bool = Field(description="the first on its connections")
    compared: bool
    reason: str
    detail: str
    streams: int
    length_ns: int
    order_mean: float | None
    order_max: float | None
    order_equal: bool | None
    time_mean: float | None
    time_max: float | None
    end: float | None = Field(description="signed: predicted less measured last end, over it")


class Cell(_Record):
    """One cell of one run: what was simulated, and its errors."""

    run: str
    cell: str
    scenario: str
    workload: str
    transport: str
    network: str
    servers: int
    workers: int
    rate_bps: int
    release: str
    exchange: str
    discipline: str = Field(description="as simulated; empty: nothing was simulated")
    rate_share: float = Field(description="measured goodput over what the rate allows TCP")
    rate_measured: bool
    both_busy: float
    window_bytes: int | None
    buffer_bytes: int | None = Field(
        default=None, description="of each connection's kernel, as simulated; null: none"
    )
    window_moved: bool = Field(
        description="the receiver widened its window in the run; the simulated one stays"
    )
    framing: float = Field(
        description="frame headers and gRPC's prefixes, which are not simulated, over the messages"
    )
    errors: ErrorsOf | None = Field(description="of compared bursts; null: there is none")
    stored: Stored | None = Field(description="null: no score is stored of this cell")
    bursts: tuple[Burst, ...]


class Crosscheck(_Record):
    """The whole cross-check."""

    format: Literal["netcosim-crosscheck"] = "netcosim-crosscheck"
    version: Literal[1] = 1
    complete: bool = Field(description="false if it was interrupted")
    engine: str = Field(description="hash of the simulator's source")
    runs: int = Field(description="runs that were asked for")
    lines: tuple[str, ...] = Field(description="what was left out or is not whole, one line each")
    compared_bursts: int
    compared_streams: int
    errors: ErrorsOf | None = Field(description="of all compared streams; null: there is none")
    beside: Beside | None = Field(description="null: no score is stored")
    groups: tuple[Group, ...]
    not_compared: tuple[NotCompared, ...]
    leaves_out: tuple[str, ...] = Field(description="what the simulator does not send or know")
    cells: tuple[Cell, ...]
