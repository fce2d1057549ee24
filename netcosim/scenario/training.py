"""Training settings of a scenario: steps, workers, synchronisation, stragglers."""

import math
from fractions import Fraction as Ratio
from typing import Annotated, Any, Literal, Self

from pydantic import AfterValidator, BeforeValidator, Field, model_validator

from netcosim.scenario.fields import (
    MOST_SIZE_BYTES,
    DurationNs,
    Flag,
    Fraction,
    Name,
    RateBps,
    Record,
    SizeBytes,
    Whole,
    durations,
    sizes,
)

MOST_WORKERS = 65536
MOST_SERVERS = 1024
MIN_RATE_BPS = 1_000_000

MOST_CORES = 4096

_MOST_STEPS = 10**7
_MOST_MESSAGE_NS = 10**9


def _counts(value: Any) -> Any:
    if not isinstance(value, list | tuple) or not value or not all(map(_is_whole, value)):
        raise ValueError("must be a list of whole numbers, such as [1, 2, 4]")
    if not all(1 <= count <= MOST_WORKERS for count in value):
        raise ValueError(f"must be numbers of workers, 1 to {MOST_WORKERS}")
    if len(set(value)) != len(value):
        raise ValueError("must differ")
    return tuple(value)


def _chosen(value: Any) -> Any:
    if value == "all":
        return value
    if not isinstance(value, list | tuple) or not value or not all(map(_is_whole, value)):
        raise ValueError('must be "all" or a list of workers, such as [0, 3]')
    if not all(0 <= worker < MOST_WORKERS for worker in value):
        raise ValueError(f"must be numbers of workers, 0 to {MOST_WORKERS - 1}")
    if len(set(value)) != len(value):
        raise ValueError("must differ")
    return tuple(value)


def _setting(value: Any) -> Any:
    if isinstance(value, list | tuple) and value and all(map(_is_number, value)):
        return tuple(value)
    if isinstance(value, str | bool) or _is_number(value):
        return value
    raise ValueError("must be text, true, false, a number or a list of numbers")


def _is_whole(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _is_number(value: Any) -> bool:
    return _is_whole(value) or (isinstance(value, float) and math.isfinite(value))


def _distinct(values: tuple[int, ...]) -> tuple[int, ...]:
    if not values:
        raise ValueError("must not be empty")
    if len(set(values)) != len(values):
        raise ValueError("must differ")
    return values


def _first_and_last(value: Any) -> Any:
    if not isinstance(value, list | tuple) or len(value) != 2 or not all(map(_is_whole, value)):
        raise ValueError("must be a first and a last step, such as [3, 12]")
    if not 1 <= value[0] <= value[1]:
        raise ValueError("must be two steps in their order, from 1")
    return tuple(value)


Rates = Annotated[tuple[Annotated[RateBps, Field(ge=MIN_RATE_BPS)], ...], AfterValidator(_distinct)]
WorkerCounts = Annotated[tuple[int, ...], BeforeValidator(_counts)]
StepSpan = Annotated[tuple[int, int], BeforeValidator(_first_and_last)]
WorkerNumbers = Annotated[Literal["all"] | tuple[int, ...], BeforeValidator(_chosen)]
Number = int | float
StragglerValue = Annotated[bool | str | Number | tuple[Number, ...], BeforeValidator(_setting)]


class MessageCostSpec(Record):
    """Processor time that a message costs: a part for each, a part by its bytes."""

    message: Annotated[DurationNs, durations(0, _MOST_MESSAGE_NS)] = 0
    ns_per_byte: Annotated[Fraction, Field(ge=0, le=1000)] = 0.0


Cores = Annotated[Whole, Field(ge=1, le=MOST_CORES)]


class TrainingSpec(Record):
    """Training settings, for simulated jobs and for jobs over real flows.

    Attributes
    ----------
    steps : of each worker
    warmup : the first of them, which no figure counts
    measured : first and last step, from 1, of a measurement behind the common start; None: none
    batch : examples of a step; None: as the profile has it
    workers : the numbers of workers to run, one after the other; None: the cluster's
    rates : rates of the links that have none of their own, one after the other; None: the cluster's
    synchronisation : name of a rule in `netcosim.policies.synchronisation`
    gap : of that rule, steps
    join : of that rule: servers join gradients by "step" or by "tensor"; None: by step
    first : of that rule: of so many workers, the first to arrive; None: of all
    gradients : "pulled": servers ask for each gradient, "pushed": workers send each by a call of
        their own; None: pulled, with a schedule pushed
    overlap : whether a step begins behind the loss, so that pulls overlap with pushes
    server_cores : of each server, for the work of all workers; None: every worker has its own part
        of a server
    worker_cores : of each worker, for all that it computes; None: as the profile has it
    server_messages, worker_messages : what a message costs there; None: as the profile has it
    sent_messages : what a gradient costs before it is sent, one after the other; with a schedule
    gradient_blocks : gradients are released together when there are so many bytes of them; None:
        each as soon as it is computed
    socket_buffer : bytes of a connection that its sender's kernel takes before they leave; None:
        what a discipline grants is on the link at once
    share : name of a strategy by which links are shared; None: the cheapest one that is right for
        the network (`sim.settings.share`)
    both_busy : what is left of a port's rate, as a factor, while its other direction is busy
    recorded : steps that are drawn around a profile's medians
    trace_steps : the first steps of each worker that are kept operation by operation
    captured : the first steps whose packets are kept, at every server; of jobs over real flows
    """

    steps: Annotated[Whole, Field(ge=1, le=_MOST_STEPS)] = 1000
    warmup: Annotated[Whole, Field(ge=0)] = 50
    measured: StepSpan | None = None
    batch: Annotated[Whole, Field(ge=1, lt=2**31)] | None = None
    workers: WorkerCounts | None = None
    rates: Rates | None = None
    synchronisation: Name = "asp"
    gap: Annotated[Whole, Field(ge=0, le=_MOST_STEPS)] = 5
    join: Literal["step", "tensor"] | None = None
    first: Annotated[Whole, Field(ge=1, le=MOST_WORKERS)] | None = None
    gradients: Literal["pulled", "pushed"] | None = None
    overlap: Flag = False
    server_cores: Cores | None = None
    worker_cores: Cores | None = None
    server_messages: MessageCostSpec | None = None
    worker_messages: MessageCostSpec | None = None
    sent_messages: MessageCostSpec | None = None
    gradient_blocks: Annotated[SizeBytes, sizes(1, MOST_SIZE_BYTES)] | None = None
    socket_buffer: Annotated[SizeBytes, sizes(1, 2**30)] | None = None
    share: Name | None = None
    both_busy: Annotated[Fraction, Field(ge=0.01, le=1)] = 1.0
    recorded: Annotated[Whole, Field(ge=1, le=100_000)] = 100
    trace_steps: Annotated[Whole, Field(ge=0, le=_MOST_STEPS)] = 3
    captured: Annotated[Whole, Field(ge=0, le=_MOST_STEPS)] = 0

    @model_validator(mode="after")
    def _warm_before_the_end(self) -> Self:
        if self.warmup >= self.steps:
            raise ValueError(f"'warmup' ({self.warmup}) must be below 'steps' ({self.steps})")
        if self.measured is not None and self.measured[1] > self.steps:
            raise ValueError(
                f"'measured' ends with step {self.measured[1]}, beyond 'steps' ({self.steps})"
            )
        return self


class StragglerSpec(Record):
    """Some workers that are slower than the others, or come and go.

    They are given in one of three ways: `workers` are their numbers, from 0, or "all"; `count` is
    the first so many; `share` is this part of them, evenly spread from the first on. `options`
    are those of the kind.
    """

    kind: Name
    workers: WorkerNumbers | None = None
    count: Annotated[Whole, Field(ge=1, le=MOST_WORKERS)] | None = None
    share: Annotated[Fraction, Field(gt=0, le=1)] | None = None
    options: dict[Name, StragglerValue] = {}

    @model_validator(mode="after")
    def _who(self) -> Self:
        if sum(given is not None for given in (self.workers, self.count, self.share)) != 1:
            raise ValueError(
                "give one of 'workers' (\"all\" or a list), 'count' (a number) and 'share' (a part)"
            )
        return self

    def chosen(self, workers: int) -> tuple[int, ...]:
        """The stragglers among so many workers, lowest number first.

        Whether a worker is one does not hang on how many there are.
        """
        if self.workers == "all":
            return tuple(range(workers))
        if self.workers is not None:
            return tuple(sorted(worker for worker in self.workers if worker < workers))
        if self.count is not None:
            return tuple(range(min(self.count, workers)))
        share = Ratio(str(self.share))  # 0.1 is a tenth
        before = [math.ceil(worker * share) for worker in range(workers + 1)]
        return tuple(w for w in range(workers) if before[w + 1] > before[w])
