"""Inputs of the analytic models: one worker's step, as totals."""

import math
from dataclasses import dataclass
from itertools import compress

import numpy as np
from numpy.typing import NDArray

from netcosim.errors import ScenarioError
from netcosim.training.plan import DOWN, SENDING, SERVER, UP, WORKER, Floats, StepPlan
from netcosim.training.prepare.alone import ends_alone_ns
from sim.plan import Network

BITS = 8
NS = 1e9


@dataclass(frozen=True, slots=True, kw_only=True)
class Phases:
    """Mean phases of one worker's step, as seen in a packet capture, in ns.

    Attributes
    ----------
    down_ns, up_ns : (servers,) from a direction's first byte to its last one
    worker_ns : from the end of the last downlink to the start of the first uplink, at least 0
    server_ns : (servers,) from the end of the uplink to the end of the step
    """

    down_ns: tuple[float, ...]
    worker_ns: float
    up_ns: tuple[float, ...]
    server_ns: tuple[float, ...]

    def __post_init__(self) -> None:
        for field in ("down_ns", "up_ns", "server_ns"):
            _times(f"phases.{field}", getattr(self, field))
        _times("phases.worker_ns", (self.worker_ns,))
        _positive("phases", sum((*self.down_ns, self.worker_ns, *self.up_ns, *self.server_ns)))


@dataclass(frozen=True, slots=True, kw_only=True)
class OneWorker:
    """One worker's mean step as totals: bytes, computing, rates.

    Attributes
    ----------
    down_bytes, up_bytes : (servers,) that a step moves from and to each server
    worker_ns : what the worker computes in a step takes, alone: once what it does at one time
    server_ns : (servers,) the same of each server for one worker's step
    rate_bps : (servers,) of each server's port, either direction
    batch : examples of a step
    busiest_ns : least time that a step's computations need, where they overlap all they can: of
        all processors the most that one has to do, divided by its capacity. None: every node
        does one thing at a time
    one_worker_step_ns : measured or simulated mean step of one worker; None: not known
    phases : of that step, as a capture shows them; None: not known
    """

    down_bytes: tuple[float, ...]
    up_bytes: tuple[float, ...]
    worker_ns: float
    server_ns: tuple[float, ...]
    rate_bps: tuple[float, ...]
    batch: int
    busiest_ns: float | None = None
    one_worker_step_ns: float | None = None
    phases: Phases | None = None

    def __post_init__(self) -> None:
        for field in ("down_bytes", "up_bytes", "server_ns", "rate_bps"):
            _per_server(field, getattr(self, field), len(self.down_bytes))
        if self.phases is not None:
            for field in ("down_ns", "up_ns", "server_ns"):
                _per_server(f"phases.{field}", getattr(self.phases, field), len(self.down_bytes))
        for rate in self.rate_bps:
            _positive("rate_bps", rate)
        _times("worker_ns", (self.worker_ns,))
        if self.batch < 1:
            raise ScenarioError.at("batch", self.batch, "at least 1")
        self._check_busiest()
        if self.one_worker_step_ns is not None:
            _positive("one_worker_step_ns", self.one_worker_step_ns)
        _positive("one step", self.serial_ns)

    def _check_busiest(self) -> None:
        most_ns = max((self.worker_ns, *self.server_ns))
        if self.busiest_ns is None or self.busiest_ns == most_ns == 0:
            return
        if not 0 < self.busiest_ns <= most_ns + 1.0:
            allowed = f"more than 0, at most what the busiest node computes ({most_ns:g})"
            raise ScenarioError.at("busiest_ns", self.busiest_ns, allowed)

    @property
    def down_ns(self) -> tuple[float, ...]:
        """(servers,) time of a step's downlink bytes at the rate of each server's port."""
        pairs = zip(self.down_bytes, self.rate_bps, strict=True)
        return tuple(b * BITS * NS / r for b, r in pairs)

    @property
    def up_ns(self) -> tuple[float, ...]:
        """(servers,) time of a step's uplink bytes at the rate of each server's port."""
        pairs = zip(self.up_bytes, self.rate_bps, strict=True)
        return tuple(b * BITS * NS / r for b, r in pairs)

    @property
    def serial_ns(self) -> float:
        """Duration of a step in which nothing overlaps, alone on the network."""
        return sum((*self.down_ns, self.worker_ns, *self.up_ns, *self.server_ns))

    @property
    def parallel_ns(self) -> float:
        """Duration of a step in which everything overlaps, alone on the network."""
        busiest_ns = self.busiest_ns
        if busiest_ns is None:
            busiest_ns = max((self.worker_ns, *self.server_ns))
        return max((*self.down_ns, *self.up_ns, busiest_ns))

    @property
    def ports_steps_per_s(self) -> float:
        """Steps a second that the servers' ports can carry, whatever the workers do."""
        slowest_ns = max((*self.down_ns, *self.up_ns))
        return NS / slowest_ns if slowest_ns > 0 else math.inf


def check_workers(workers: int) -> None:
    """Raise ScenarioError for fewer workers than one."""
    if workers < 1:
        raise ScenarioError.at("workers", workers, "at least 1")


def one_worker(
    plan: StepPlan,
    network: Network,
    batch: int,
    one_worker_step_ns: float | None = None,
    phases: Phases | None = None,
) -> OneWorker:
    """Totals of a plan: bytes by server and direction, computing as the mean over recorded steps.

    Parameters
    ----------
    plan, network : as the engine gets them; of the network only the servers' ports count
    batch : examples of a step
    one_worker_step_ns : mean step of one worker, if it is known
    phases : of that worker's mean step, if they are known

    Raises
    ------
    ScenarioError
        The network has another number of servers; the batch or a rate is not positive.
    """
    if len(network.server_bps) != plan.servers:
        allowed = f"a rate for each of the plan's servers ({plan.servers})"
        raise ScenarioError.at("server_bps", len(network.server_bps), allowed)
    load_ns = _load_ns(plan)
    nodes = np.array([p.node for p in plan.processors], dtype=np.int64)
    servers = np.array([p.server for p in plan.processors], dtype=np.int64)
    at_server = [(nodes == SERVER) & (servers == s) for s in range(plan.servers)]
    capacity = np.array([p.capacity for p in plan.processors], dtype=np.int64)
    return OneWorker(
        down_bytes=_moved_bytes(plan, DOWN),
        up_bytes=_moved_bytes(plan, UP),
        worker_ns=_takes_ns(plan, load_ns, nodes == WORKER),
        server_ns=tuple(_takes_ns(plan, load_ns, mask) for mask in at_server),
        rate_bps=tuple(float(rate) for rate in network.server_bps),
        batch=batch,
        busiest_ns=float((load_ns / capacity)[nodes != SENDING].max(initial=0.0)),
        one_worker_step_ns=one_worker_step_ns,
        phases=phases,
    )


def _takes_ns(plan: StepPlan, load_ns: Floats, chosen: NDArray[np.bool_]) -> float:
    """Time that these processors need for a step's work, if nothing else takes any.

    What they can do at one time counts once: two that are idle in turn, or one with several places.
    One processor that does one thing at a time needs the sum.
    """
    if chosen.sum() <= 1 and all(p.capacity == 1 for p in compress(plan.processors, chosen)):
        return float(load_ns[chosen].sum())
    at = plan.place - len(plan.channels)
    mine = np.append(chosen, False)[np.maximum(at, -1)] & (at >= 0)
    ends_ns = ends_alone_ns(plan, np.where(mine, plan.duration_ns.mean(axis=0), 0.0))
    return max(ends_ns, default=0.0)


def _load_ns(plan: StepPlan) -> Floats:
    """(processors,) mean work of a step."""
    first = len(plan.channels)
    mean_ns = plan.duration_ns.mean(axis=0)
    loads_ns = [mean_ns[plan.place == first + p].sum() for p in range(len(plan.processors))]
    return np.array(loads_ns, dtype=np.float64)


def _moved_bytes(plan: StepPlan, direction: int) -> tuple[float, ...]:
    """(servers,) bytes of a step in this direction."""
    moved = [0.0] * plan.servers
    for c, channel in enumerate(plan.channels):
        if channel.direction == direction:
            moved[channel.server] += float(plan.size_bytes[plan.place == c].sum())
    return tuple(moved)


def _per_server(field: str, values: tuple[float, ...], servers: int) -> None:
    if not values or len(values) != servers:
        allowed = f"one value for each server ({servers} in down_bytes), at least one"
        raise ScenarioError.at(field, len(values), allowed)
    _times(field, values)


def _times(field: str, values: tuple[float, ...]) -> None:
    for value in values:
        if not (math.isfinite(value) and value >= 0):
            raise ScenarioError.at(field, value, "finite, at least 0")


def _positive(field: str, value: float) -> None:
    if not (math.isfinite(value) and value > 0):
        raise ScenarioError.at(field, value, "finite, more than 0")
