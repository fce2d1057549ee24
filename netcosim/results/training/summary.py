"""`summary.json` of a simulation: throughput by number of workers, time shares, saturation.

No clock times, no host: the same bytes for the same simulation.
"""

from typing import Final, Literal

from pydantic import BaseModel, ConfigDict, Field

from netcosim.policies import synchronisation_names
from netcosim.scenario.unstudied_releases import NotStudied

TRAINING_FORMAT: Final = "netcosim-training-summary"


class _Record(BaseModel):
    model_config = ConfigDict(
        frozen=True, extra="forbid", json_schema_serialization_defaults_required=True
    )


class Estimate(_Record):
    """A figure estimated from a few runs that differ by their seed alone."""

    mean: float
    half_width: float | None = Field(
        description="half the width of the 95 % interval of the mean, by Student's t over the"
        " runs; null of a single run"
    )
    values: tuple[float, ...] = Field(description="of each run")


class AsMeasured(_Record):
    """Throughput of a few steps behind a common start, as an experimenter measures it."""

    first: int = Field(description="of the measured steps of each worker, counted from 1")
    last: int
    steps_per_s: Estimate = Field(
        description="sum over the workers of their own rates: measured steps over the time from the"
        " end of the step before, or from the start, to the end of the last"
    )
    sd_steps_per_s: float | None = Field(
        description="standard deviation of the runs' steps_per_s; null of a single run"
    )
    examples_per_s: Estimate = Field(description="steps_per_s times the batch")


class StepTimes(_Record):
    """Durations of steps, from their first hand-over to their last operation; ns."""

    mean: float
    median: float
    p95: float
    p99: float
    max: float


class TimeShares(_Record):
    """Activities of the workers, as shares of their time; the nine parts add up to 1."""

    receiving: float = Field(description="receiving and nothing else")
    computing: float = Field(description="computing and nothing else")
    sending: float = Field(description="sending and nothing else")
    receiving_computing: float = Field(description="both at once, not sending")
    receiving_sending: float = Field(description="both at once, not computing")
    computing_sending: float = Field(description="both at once, not receiving")
    all_three: float = Field(description="receiving, computing and sending at once")
    idle: float = Field(
        description="within a step, none of the three: a server computes, or data travel"
    )
    waiting: float = Field(description="between two steps, for other workers")


class LinkUse(_Record):
    """Utilisation of a server's port in one direction."""

    server: int = Field(description="from 0")
    direction: Literal["down", "up"] = Field(description="down: from the server to the workers")
    utilisation: float = Field(
        description="bytes moved over what its rate allows in the time, beside what the other"
        " direction moved: where both at once are slower (both_busy), the share of time in which"
        " it is busy if they overlap as far as they can, at most 1"
    )


class StepBounds(_Record):
    """How well steps overlap what they do, after Hashemi et al. (TicTac, MLSys 2019, Eqs. 1 to 4).

    Means over the steps that count.
    """

    efficiency: float | None = Field(
        description="(U - m) / (U - L) of a step that takes m: 1 if it takes L, 0 if it takes U;"
        " null where U is L in all steps"
    )
    speed_up: float | None = Field(
        description="(U - L) / L: what the best schedule could gain over the worst; null where L"
        " is 0 in all steps"
    )
    upper_ns: float = Field(
        description="U: all operations of a step one after the other, transfers at the worker's"
        " part of a server's port"
    )
    lower_ns: float = Field(description="L: the work of the resource that has most")


class Joined(_Record):
    """Workers' parts in joined updates, over the steps that count."""

    weights: tuple[float, ...] = Field(
        description="of each worker: its part of all gradients that updates were made of; as"
        " batches are equal, that is its examples' part of theirs (Chen et al., SoCC 2020, Eq. 7);"
        " they add up to 1"
    )
    ignored: float = Field(description="share of steps whose gradients no update counted")
    partly: float = Field(
        description="share of steps whose gradients some updates counted and others did not, as"
        " each tensor's own first workers differ"
    )


class Point(_Record):
    """Results for one number of workers."""

    workers: int
    runs: int
    steps: int = Field(description="steps of each worker in a run, warm-up included")
    warmup: int = Field(description="the first of these, which no figure counts")
    left_out: float = Field(
        default=0.0,
        description="steps of each worker beyond the warm-up that were left out of rates and step"
        " times, as the run had not settled; mean over runs",
    )
    steady: bool = Field(
        default=True, description="false: some run had not settled by half of its time"
    )
    engine: Literal["generic", "fast"] = Field(
        description="fast: written for the common case; both give the same figures"
    )
    steps_per_s: Estimate = Field(description="steps that all workers together end in a second")
    examples_per_s: Estimate = Field(description="the same times the batch")
    as_measured: AsMeasured | None = Field(
        default=None, description="null where the scenario has no measured steps"
    )
    step_ns: StepTimes
    time: TimeShares
    overlap: float | None = Field(
        description="share of the time in which a worker receives or sends in which it also"
        " computes; null if it never does"
    )
    link_utilisation: tuple[LinkUse, ...] = Field(description="downlinks first, then by server")
    worker_utilisation: float = Field(
        description="share of time in which a worker computes, mean over the workers"
    )
    straggler_ns: float | None = Field(
        description="where all workers wait for one another after each step: how long the first"
        " that has ended it waits for the last, mean over the rounds in which all ended one; null"
        " where workers do not go in rounds"
    )
    step_bounds: StepBounds | None = Field(
        default=None,
        description="how near steps come to the bounds of any schedule; null where a worker's speed"
        " changes within steps, or workers come and go, as these are not known then",
    )
    joined: Joined | None = Field(
        default=None, description="null where each worker's gradients are updates of their own"
    )
    baselines: dict[str, float | None] = Field(
        description="steps per second that formulas predict of workers without stragglers, by"
        " name; null where one has no answer"
    )


class Saturation(_Record):
    """Number of workers from which on more are of little use, and the reason."""

    workers: int = Field(
        description="the smallest simulated number of workers from which on one more worker adds"
        " less than 5 % of what one alone, no straggler, does; between two simulated numbers every"
        " worker counts the same"
    )
    reason: str = Field(description="what is in short supply there, for a person")


class Change(_Record):
    """What one step more of one thing would change, from runs made for it."""

    what: Literal["rate", "servers", "batch", "transport", "workers"]
    before: str = Field(description="as simulated, for a person: 1 Gbit/s, 2, grpc")
    after: str = Field(description="one step more of it")
    examples_per_s: Estimate = Field(description="with this change, and nothing else changed")
    gain: float = Field(
        description="examples_per_s over those of the recommendation, minus 1: 0.3 is 30 % more"
    )
    beyond: bool = Field(description="whether the difference is beyond the runs' intervals")


class Recommendation(_Record):
    """Recommended number of workers, its bottleneck, and the gain of each change there."""

    workers: int = Field(description="the knee; where it is not reached the most simulated")
    reached: bool = Field(description="whether the knee is among the numbers simulated")
    examples_per_s: Estimate = Field(description="of so many workers")
    bottleneck: str = Field(description="what is in short supply with them, for a person")
    changes: tuple[Change, ...] = Field(description="in the order in which they were simulated")


class CellSettings(_Record):
    """One workload on one transport: what was simulated, whatever the number of workers."""

    cell: str = Field(description="workload/transport")
    workload: str
    transport: str
    profile: str = Field(description="of which profile its steps are")
    batch: int = Field(description="examples of one worker's step")
    servers: int
    rate_bps: int = Field(description="of a server's port, either direction")
    discipline: str = Field(description="how a connection shares its bytes among its messages")
    not_studied: tuple[NotStudied, ...] = Field(
        default=(),
        description="gRPC ends of whose release no rule is known; the nearest one's was simulated",
    )
    window_bytes: int | None = Field(description="a stream's window; null: flow control is off")
    synchronisation: str = Field(description=", ".join(synchronisation_names()))
    lead: int | None = Field(
        description="steps that a worker may be ahead of the slowest; null: any number"
    )
    order: str = Field(description="in which a step's tensors are handed over")
    placement: str = Field(description="of tensors on servers")
    schedule: str | None = Field(
        default=None, description="when gradients are sent, with its options; null: at once"
    )
    share: str = Field(description="how connections share a link")
    stragglers: tuple[str, ...] = Field(description="each in a few words; empty: none")


class Series(CellSettings):
    """Results of one workload on one transport, by number of workers."""

    alone: Estimate = Field(
        description="steps per second of one worker alone, without the stragglers: what speed-up,"
        " efficiency, saturation and formulas compare with"
    )
    limits_steps_per_s: dict[str, float] = Field(
        description="by link (such as server 0 down): its rate over the bytes of a step, which"
        " all workers together can't exceed"
    )
    points: tuple[Point, ...] = Field(description="by number of workers, rising")
    saturation: Saturation | None = Field(description="null if it is not reached")
    recommendation: Recommendation | None = Field(
        default=None, description="null where no runs were made for it"
    )


class TrainingSummary(_Record):
    """Results of a whole simulation."""

    format: Literal["netcosim-training-summary"] = "netcosim-training-summary"
    version: Literal[1] = 1
    scenario: str
    world: Literal["sim"] = "sim"
    seed: int
    complete: bool = Field(description="false if the run was interrupted or failed on its way")
    trusted: bool = Field(description="false: do not use these figures; see reasons")
    reasons: tuple[str, ...] = Field(description="why the run can't be trusted, or is incomplete")
    engine: str = Field(description="hash of the simulator's source: equal ones give equal figures")
    series: tuple[Series, ...]
