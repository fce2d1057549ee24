"""Model of a scenario: one description of a job, for emulator and simulator.

Plain specs and names only. Which disciplines, topologies or transports exist is known above;
emulator and simulator check the names against their own registries.
"""

from typing import Annotated, Final, Literal, Self, get_args

from pydantic import Field, model_validator

from netcosim.scenario.coordination import CoordinationSpec
from netcosim.scenario.fields import (
    MOST_DURATION_NS,
    MOST_RATE_BPS,
    MOST_SIZE_BYTES,
    DurationNs,
    FilePath,
    Flag,
    Fraction,
    Name,
    OptionValue,
    RateBps,
    Record,
    Release,
    SizeBytes,
    TensorName,
    Whole,
    durations,
    rates,
    sizes,
)
from netcosim.scenario.training import (
    MIN_RATE_BPS,
    MOST_SERVERS,
    MOST_WORKERS,
    MessageCostSpec,
    StragglerSpec,
    TrainingSpec,
)

MOST_DELAY_NS = 60 * 10**9
MOST_BUFFER_BYTES = 2**30
MOST_WAIT_NS = 3600 * 10**9

Wait = Annotated[DurationNs, durations(0, MOST_WAIT_NS)]
"""From a burst's start until an application does something in it."""

Priority = Annotated[Whole, Field(ge=-(2**31), le=2**31 - 1)]

GIVEN = "given"
"""Name of the order and of the placement that the scenario spells out."""

Direction = Literal["pull", "pull-back", "push"]
Exchange = Literal["pull", "pull-back", "push", "both"]
"""Exchange of a worker with a server; ``both`` is a pull and a pull-back at once, each on its own
connection."""

Clock = Literal["real", "virtual"]
CLOCKS: Final[tuple[Clock, ...]] = get_args(Clock)


class LinkSpec(Record):
    """One link, the same in both directions.

    `model` is ``fair`` (one class per worker under the shared rate) or ``fifo`` (one bounded
    queue). `delay` is one way. `queue` bounds the bottleneck's queue; None lets the link
    model choose.
    """

    rate: Annotated[RateBps, rates(MIN_RATE_BPS, MOST_RATE_BPS)]
    model: Literal["fair", "fifo"] = "fair"
    delay: Annotated[DurationNs, durations(0, MOST_DELAY_NS)] = 0
    jitter: Annotated[DurationNs, durations(0, MOST_DELAY_NS)] = 0
    loss: Annotated[Fraction, Field(ge=0, lt=1)] = 0.0
    queue: Annotated[SizeBytes, sizes(3028, MOST_BUFFER_BYTES)] | None = None

    @property
    def needs_netem(self) -> bool:
        """True if the kernel needs netem to emulate this link."""
        return bool(self.delay or self.jitter or self.loss)


class TcpSpec(Record):
    """TCP settings inside the run's namespaces; None lets the emulation choose by rate."""

    congestion_control: Name = "cubic"
    send_buffer: Annotated[SizeBytes, sizes(4096, MOST_BUFFER_BYTES)] | None = None
    receive_buffer: Annotated[SizeBytes, sizes(4096, MOST_BUFFER_BYTES)] | None = None
    notsent_lowat: Annotated[SizeBytes, sizes(1024, MOST_BUFFER_BYTES)] | None = None


class ProcessorSpec(Record):
    """Processor time that messages cost at each end of a connection, by the virtual clock.

    `sent` before a message is handed over to its transport, `received` from its last byte to the
    application; an end does one after the other.
    """

    sent: MessageCostSpec = MessageCostSpec()
    received: MessageCostSpec = MessageCostSpec()


class ClusterSpec(Record):
    """The machines and their links: a topology by name, a link for all, exceptions by link name.

    The emulator has an upper bound of its own on their number.
    """

    topology: Name = "pair"
    servers: Annotated[Whole, Field(ge=1, le=MOST_SERVERS)] = 1
    workers: Annotated[Whole, Field(ge=1, le=MOST_WORKERS)] = 1
    link: LinkSpec
    links: dict[str, LinkSpec] = {}
    switch: Literal["linuxbridge", "openvswitch"] = "linuxbridge"
    tcp: TcpSpec = TcpSpec()
    processor: ProcessorSpec = ProcessorSpec()


class TensorSpec(Record):
    """One tensor: its message's size, and when its sender has it ready after the burst's start."""

    name: Name
    size: Annotated[SizeBytes, sizes(1, MOST_SIZE_BYTES)]
    ready: Wait = 0
    priority: Priority = 0


class WorkloadSpec(Record):
    """A burst of tensors, a named set or a list; or the profile of a training job.

    `total` scales every tensor so that they come to this many bytes. Of bursts: with
    `scale_window` a transport's window shrinks by the same factor. `spacing` is the time between
    the hand-overs of successive tensors; `stagger` that between the starts of successive workers.

    `profile` is a built-in profile's name, or a file if it has a dot or a slash; its path counts
    from the scenario file. `computation` scales its durations so that what a worker computes in a
    step comes to this time.
    """

    name: Name
    set: Name | None = None
    tensors: tuple[TensorSpec, ...] = ()
    profile: FilePath | None = None
    total: Annotated[SizeBytes, sizes(1, MOST_SIZE_BYTES)] | None = None
    scale_window: Flag = False
    direction: Exchange = "pull"
    spacing: Wait = 0
    stagger: Wait = 0
    computation: Annotated[DurationNs, durations(1, MOST_DURATION_NS)] | None = None

    @model_validator(mode="after")
    def _one_source(self) -> Self:
        if (self.set is not None) + bool(self.tensors) + (self.profile is not None) != 1:
            raise ValueError(
                "give one of 'set' (a name), 'tensors' (a list) and 'profile' (a name or a file)"
            )
        names = [t.name for t in self.tensors]
        if len(set(names)) != len(names):
            raise ValueError("tensor names must differ")
        if self.profile is not None:
            for field in ("scale_window", "direction", "spacing", "stagger"):
                if getattr(self, field) != WorkloadSpec.model_fields[field].default:
                    raise ValueError(f"'{field}' is of bursts, and has no meaning with 'profile'")
        elif self.computation is not None:
            raise ValueError("'computation' has no meaning without 'profile'")
        return self

    @property
    def profile_is_file(self) -> bool:
        """True if `profile` is a path, not a built-in profile's name."""
        return self.profile is not None and any(c in self.profile for c in "./")


class TransportSpec(Record):
    """Sender and receiver of a transport, and the settings of both.

    `window` is the receiver's stream window; None keeps the implementation's default.
    `discipline` and `options` are for endpoints whose rule is configured, and for the simulator;
    `h2model.transports` says which settings a kind of endpoint has;
    `whole_messages` asks gRPC to finish a message before the next one. A gRPC end's release is
    the newest, which is the one of the project's own environment, unless another is named. The
    path of a script end counts from the scenario file.
    """

    name: Name
    sender: Name
    receiver: Name
    sender_release: Release | None = None
    receiver_release: Release | None = None
    sender_script: FilePath | None = None
    receiver_script: FilePath | None = None
    flow_control: Flag = True
    window: Annotated[SizeBytes, Field(ge=1, le=2**31 - 1)] | None = None
    connection_window: Annotated[SizeBytes, Field(ge=65535, le=2**31 - 1)] | None = None
    credit: Name | None = None
    frame_size: Annotated[SizeBytes, Field(ge=16384, le=2**24 - 1)] | None = None
    discipline: Name | None = None
    options: dict[str, OptionValue] = {}
    whole_messages: Flag = False

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        if not self.flow_control and self.window is not None:
            raise ValueError("'window' has no meaning with flow_control = false")
        return self


class PolicySpec(Record):
    """Policies of a job: order of release, placement on servers, schedule of gradients.

    `priorities` belongs to the order ``given``, `servers` to the placement ``given``: a number for
    each tensor that is named. `schedule` says when gradients of training jobs are sent;
    `schedule_options` are its own.
    """

    order: Name = "as_listed"
    placement: Name = "greedy"
    schedule: Name | None = None
    schedule_options: dict[Name, Annotated[Whole, Field(ge=0)]] = {}
    priorities: dict[TensorName, Priority] = {}
    servers: dict[TensorName, Annotated[Whole, Field(ge=0, lt=MOST_SERVERS)]] = {}

    @model_validator(mode="after")
    def _given(self) -> Self:
        for choice, table in (("order", "priorities"), ("placement", "servers")):
            needed = getattr(self, choice) == GIVEN
            if needed and not getattr(self, table):
                raise ValueError(f"{choice} = \"{GIVEN}\" needs the table '{table}'")
            if getattr(self, table) and not needed:
                raise ValueError(f"'{table}' has no meaning without {choice} = \"{GIVEN}\"")
        return self


class Scenario(Record):
    """The whole job. Its cells are every workload on every transport, `repetitions` bursts each.

    `training`, `straggler` and `coordination` are for training jobs, workloads with a profile;
    `clock` is for the emulator: real packets in the machine's time, or in a guest's virtual time.
    """

    name: Name
    description: str = ""
    seed: Annotated[Whole, Field(ge=0, lt=2**63)] = 1
    repetitions: Annotated[Whole, Field(ge=1, le=1000)] = 3
    clock: Clock = "real"
    cluster: ClusterSpec
    policy: PolicySpec = PolicySpec()
    training: TrainingSpec = TrainingSpec()
    straggler: tuple[StragglerSpec, ...] = ()
    coordination: CoordinationSpec | None = None
    workload: tuple[WorkloadSpec, ...]
    transport: tuple[TransportSpec, ...]

    @property
    def waiting_rule(self) -> str:
        """Name of what decides who begins a step when: a coordinator, or the synchronisation."""
        named = self.coordination
        return self.training.synchronisation if named is None else named.kind

    @model_validator(mode="after")
    def _distinct_names(self) -> Self:
        for field in ("workload", "transport"):
            names = [item.name for item in getattr(self, field)]
            if not names:
                raise ValueError(f"needs at least one '[[{field}]]'")
            if len(set(names)) != len(names):
                raise ValueError(f"names under '{field}' must differ")
        return self
