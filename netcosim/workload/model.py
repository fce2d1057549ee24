"""Model of a profile: the DAG of one worker's training step, and recorded durations.

A step is a DAG of two kinds of operations. A `Compute` occupies one place of a resource of its
node; a `Transfer` moves a tensor, or a slice of it, from a role to a role over a named connection.
What Li et al. (ICPE 2020, section 2) call downlink, worker, uplink and ps is a view of this: see
`phase`.
"""

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

Role = Literal["server", "worker"]
Phase = Literal["downlink", "worker", "uplink", "ps"]

MOST = 2**53
"""The largest size or duration: whole numbers up to it are exact as float64 (104 days in ns)."""

Text = Annotated[str, Field(min_length=1, max_length=200, pattern=r"^[^\p{C}]*$")]
Whole = Annotated[int, Field(ge=-MOST, le=MOST, strict=True)]
"""Negative values are the linter's to refuse: it names the operation and the step."""


class _Record(BaseModel):
    model_config = ConfigDict(
        frozen=True, extra="forbid", json_schema_serialization_defaults_required=True
    )


class Resource(_Record):
    """A processor of a node; `capacity` operations of a worker run on it at a time.

    A server's resource is there once for every worker (Li et al., section 3.2.3).
    """

    name: Text
    node: Role
    capacity: Annotated[int, Field(ge=1, le=64, strict=True)] = 1


class Compute(_Record):
    """Work on a resource, after other operations.

    `batch_share` is the part of its duration that grows with the batch: 1 for a layer's forward
    pass, 0 for an update. `tensor` says whose update it is, and so on which server it runs.
    """

    kind: Literal["compute"] = "compute"
    name: Text
    resource: Text
    after: tuple[Text, ...] = ()
    batch_share: Annotated[float, Field(ge=0, le=1, strict=True)] = 1.0
    tensor: Text | None = None


class Transfer(_Record):
    """A message with a tensor or the slice of this number, from a role to a role.

    Transfers of one connection share its bytes by the transport's discipline; every pair of a
    worker and a server has a connection of each name.
    """

    kind: Literal["transfer"] = "transfer"
    name: Text
    source: Role
    destination: Role
    connection: Text = "data"
    tensor: Text
    slice: Annotated[int, Field(ge=0, strict=True)] = 0
    size_bytes: Whole
    after: tuple[Text, ...] = ()


Operation = Annotated[Compute | Transfer, Field(discriminator="kind")]


class Step(_Record):
    """The operations of one step in the order in which they were recorded."""

    resources: tuple[Resource, ...]
    operations: tuple[Operation, ...]

    @property
    def computes(self) -> tuple[Compute, ...]:
        """The compute operations, in order: the columns of a profile's durations."""
        return tuple(op for op in self.operations if isinstance(op, Compute))

    @property
    def transfers(self) -> tuple[Transfer, ...]:
        """The transfers, in order."""
        return tuple(op for op in self.operations if isinstance(op, Transfer))

    def phase(self, operation: Compute | Transfer) -> Phase:
        """Resource of an operation in the terms of Li et al."""
        if isinstance(operation, Transfer):
            return "downlink" if operation.source == "server" else "uplink"
        node = {r.name: r.node for r in self.resources}[operation.resource]
        return "worker" if node == "worker" else "ps"


class Parsing(_Record):
    """Parsing cost of a message at its receiver: alpha * size + beta (Li et al., section 3.2.1).

    The receiver does it on `resource`, in the operation that depends on the message.
    """

    destination: Role
    resource: Text
    alpha_ns_per_byte: Annotated[float, Field(ge=0, le=MOST, strict=True)]
    beta_ns: Annotated[float, Field(ge=0, le=MOST, strict=True)]


class Jitter(_Record):
    """Variation of durations from step to step around the recorded median.

    lognormal
        `spread` is the standard deviation of the logarithm; the median is 1.
    pareto
        `spread` is 1/shape; the minimum is such that the median is 1.
    empirical
        One of the measured `factors`, each as likely as the others; `spread` is not used.
    deterministic
        No variation.

    `scope` says whether each operation has a factor of its own, or a step one for all of them,
    updates at a server included.
    """

    model: Literal["deterministic", "lognormal", "pareto", "empirical"]
    spread: Annotated[float, Field(ge=0, lt=1, strict=True)] = 0.0
    scope: Literal["operation", "step"] = "operation"
    factors: tuple[Annotated[float, Field(ge=0, le=1e6, strict=True)], ...] = ()


class Profile(_Record):
    """Recording of one worker with one server.

    Attributes
    ----------
    name, provenance : what it is, and where, how and with what it was measured
    batch : examples of a step
    samples : "measured" steps, or one row of "medians", to be varied by `jitter`
    window_bytes : the receivers' stream window while recording; None: not known
    parsing : per receiver; it is not contained in any duration
    duration_ns : (steps, computes) a row a step, a column for each compute operation in order
    """

    format: Literal["netcosim-profile"] = "netcosim-profile"
    version: Literal[1] = 1
    name: Text
    provenance: Annotated[str, Field(max_length=2000, pattern=r"^[^\p{C}]*$")]
    batch: Annotated[int, Field(ge=1, strict=True)]
    samples: Literal["measured", "medians"]
    jitter: Jitter | None = None
    window_bytes: Annotated[int, Field(ge=1, le=2**31 - 1, strict=True)] | None = None
    parsing: tuple[Parsing, ...] = ()
    step: Step
    duration_ns: tuple[tuple[Whole, ...], ...]
