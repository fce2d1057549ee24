"""Input of the engines: one worker's step as flat arrays, the same for every worker.

A plan is made from a profile (`netcosim.training.prepare`), and read by the engine, by the fast
path and by whoever wants to simulate the same by other means.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]

NONE = -1

DOWN, UP = 0, 1
WORKER, SERVER, SENDING = 0, 1, 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Channel:
    """A connection that each worker has to a server; data flows `DOWN` to the worker or `UP`."""

    server: int
    direction: int
    connection: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Processor:
    """Processor of one worker: its own (`WORKER`), or its part of a server's (`SERVER`).

    One that is `SENDING` hands the worker's messages to its connection with this server.
    One that is `shared` is there once, at a server: all workers' work queues at it in one line.
    """

    node: int
    server: int
    resource: str
    capacity: int
    shared: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Gate:
    """Messages of a connection that a schedule may hold back, the most urgent one first.

    Attributes
    ----------
    channel : number of the connection's channel
    operations : (messages,) what is held back of each: its transfer, or its sender's work for it
    ended_by : (messages,) operation with whose end it has arrived
    size_bytes : (messages,)
    generated_ns : (messages,) expected time from the step's begin until it may go
    """

    channel: int
    operations: tuple[int, ...]
    ended_by: tuple[int, ...]
    size_bytes: tuple[int, ...]
    generated_ns: tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class StepPlan:
    """Plan of one worker's step.

    Attributes
    ----------
    servers : number of servers
    names : (operations,) of what was recorded; fused operations have the first one's name
    channels : sorted by direction, server, connection
    processors : those at the worker first, then by server
    place : (operations,) channel c as c, processor p as len(channels) + p
    size_bytes : (operations,) of transfers; 0 for computations
    priority : (operations,) larger goes first where a discipline looks at it
    duration_ns : (recorded steps, operations) of computations, parsing included; 0 for transfers
    waits : (operations,) how many operations each one waits for
    after, after_start : those that wait for operation i, in the order in which they are handed
        over, are ``after[after_start[i]:after_start[i + 1]]``
    sources : (recorded steps, sources) what waits for nothing, in the order of hand-over
    members : per operation the recorded operations that it stands for, by index; in order
    once : (operations,) 1 for updates that are done once for all workers, on a shared processor,
        as soon as their gradients are joined; None where each worker's step has its own
    pulled_after : (operations,) of pulls that wait for nothing in their own step, the update of the
        step before without which there is nothing to pull; NONE for all others. With `once` only
    released : (recorded steps, such operations) what is directly behind updates that are done
        once, in the order of hand-over where all of it may go on at one time. With `once` only
    gates : of connections before which there is one
    """

    servers: int
    names: tuple[str, ...]
    channels: tuple[Channel, ...]
    processors: tuple[Processor, ...]
    place: Ints
    size_bytes: Ints
    priority: Ints
    duration_ns: Floats
    waits: Ints
    after: Ints
    after_start: Ints
    sources: Ints
    members: tuple[tuple[int, ...], ...]
    once: Ints | None = None
    pulled_after: Ints | None = None
    released: Ints | None = None
    gates: tuple[Gate, ...] = ()

    @property
    def operations(self) -> int:
        """Number of operations."""
        return len(self.names)

    @property
    def steps(self) -> int:
        """Number of recorded steps."""
        return len(self.duration_ns)


@dataclass(frozen=True, slots=True, kw_only=True)
class Draws:
    """Random draws of a run, made before it begins.

    Attributes
    ----------
    step : (workers, steps) which recorded step each step of each worker repeats; int32 is enough
    factor : (workers, steps), or (workers, 1) if no step differs, by which all computations at the
        worker are multiplied
    """

    step: NDArray[np.integer[Any]]
    factor: Floats
