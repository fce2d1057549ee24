"""Bounds of a step's time whatever its order of transfers, and how near to them steps came.

Source: Hashemi, Jyothi and Campbell, *TicTac* (MLSys 2019), section 3.2, Eqs. 1 to 4. What they
mean with several workers is in docs/background/tictac.md.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from netcosim.results.training.summary import StepBounds
from netcosim.training.plan import SERVER, WORKER, Floats, Processor, StepPlan
from sim.plan import Network
from sim.shares import load_share


@dataclass(frozen=True, slots=True, kw_only=True)
class Bounds:
    """Bounds of steps; both are (steps,) in ns.

    Attributes
    ----------
    upper_ns : all operations one after the other (U, Eq. 1)
    lower_ns : the work of the resource that has most (L, Eq. 2), where one that does several
        operations at a time does them all the time
    """

    upper_ns: Floats
    lower_ns: Floats


@dataclass(frozen=True, slots=True, kw_only=True)
class StepLoad:
    """What each recorded step of a plan keeps busy.

    Attributes
    ----------
    processors : of the plan
    busy_ns : (recorded steps, processors) without updates that are done once for all workers
    once_ns : (recorded steps, processors) those updates
    moved : bytes by direction and server
    """

    processors: tuple[Processor, ...]
    busy_ns: Floats
    once_ns: Floats
    moved: Mapping[tuple[int, int], int]


def load_of(plan: StepPlan) -> StepLoad:
    """Load of each recorded step of a plan."""
    once = np.zeros(plan.operations, dtype=bool) if plan.once is None else plan.once > 0
    first = len(plan.channels)
    at = plan.place - first == np.arange(len(plan.processors))[:, np.newaxis]
    moved: dict[tuple[int, int], int] = {}
    for i, channel in enumerate(plan.channels):
        key = (channel.direction, channel.server)
        moved[key] = moved.get(key, 0) + int(plan.size_bytes[plan.place == i].sum())
    return StepLoad(
        processors=plan.processors,
        busy_ns=plan.duration_ns @ (at & ~once).T.astype(np.float64),
        once_ns=plan.duration_ns @ (at & once).T.astype(np.float64),
        moved=moved,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Work:
    """What the steps of a plan keep busy, and for how long.

    Attributes
    ----------
    worker_ns : (recorded steps,) all computations of the worker
    worker_most_ns : (recorded steps,) those of its processor with most, over its capacity
    server_ns, server_most_ns : the same of servers, where those that all workers share also do what
        the other workers need; and of what hands a worker's messages to its connections
    transfer_ns : (workers,) all transfers one after the other
    link_most_ns : (workers,) those of the port and direction with most
    """

    worker_ns: Floats
    worker_most_ns: Floats
    server_ns: Floats
    server_most_ns: Floats
    transfer_ns: Floats
    link_most_ns: Floats


def work_of(load: StepLoad, network: Network, *, updates: bool) -> Work:
    """Work of each recorded step, for each of the network's workers.

    A transfer takes W x bytes / rate at a server's port that W workers share, as each gets a W-th
    of it while all of them want it; with the time that it takes alone on the link a step of
    several workers would be longer than U. A worker's own port is its own, and counts where the
    share strategy looks at it.

    Parameters
    ----------
    network : of all workers that take part
    updates : whether updates that are done once for all workers are part of a worker's step
    """
    workers, nothing = len(network.worker_bps), np.zeros(len(load.busy_ns))
    total_ns = {WORKER: nothing, SERVER: nothing}
    most_ns = {WORKER: nothing, SERVER: nothing}
    for i, processor in enumerate(load.processors):
        busy_ns = (workers if processor.shared else 1) * load.busy_ns[:, i]
        if updates:
            busy_ns = busy_ns + load.once_ns[:, i]
        node = WORKER if processor.node == WORKER else SERVER
        total_ns[node] = total_ns[node] + busy_ns
        most_ns[node] = np.maximum(most_ns[node], busy_ns / processor.capacity)
    transfer_ns, link_most_ns = _transfers(load, network)
    return Work(
        worker_ns=total_ns[WORKER],
        worker_most_ns=most_ns[WORKER],
        server_ns=total_ns[SERVER],
        server_most_ns=most_ns[SERVER],
        transfer_ns=transfer_ns,
        link_most_ns=link_most_ns,
    )


def bounds_of(
    work: Work, worker: NDArray[np.integer[Any]], recorded: NDArray[np.integer[Any]], factor: Floats
) -> Bounds:
    """Bounds of steps.

    Parameters
    ----------
    work : of the plan
    worker, recorded, factor : (steps,) who does the step, the recorded step that it repeats, and
        what the worker's computations are multiplied by
    """
    upper_ns = (
        work.worker_ns[recorded] * factor + work.server_ns[recorded] + work.transfer_ns[worker]
    )
    lower_ns = np.maximum(
        np.maximum(work.worker_most_ns[recorded] * factor, work.server_most_ns[recorded]),
        work.link_most_ns[worker],
    )
    return Bounds(upper_ns=upper_ns, lower_ns=lower_ns)


def step_bounds(bounds: Sequence[Bounds], took_ns: Sequence[Floats]) -> StepBounds | None:
    """Means over all steps of all runs (Eqs. 1 to 4); None if there is no step.

    Parameters
    ----------
    bounds, took_ns : by run, of the steps that count
    """
    upper_ns = np.concatenate([each.upper_ns for each in bounds])
    lower_ns = np.concatenate([each.lower_ns for each in bounds])
    step_ns = np.concatenate(took_ns)
    if not len(upper_ns):
        return None
    span_ns = upper_ns - lower_ns
    apart, some = span_ns > _ROUNDING * upper_ns, lower_ns > 0
    return StepBounds(
        efficiency=_mean((upper_ns - step_ns)[apart] / span_ns[apart]),
        speed_up=_mean(span_ns[some] / lower_ns[some]),
        upper_ns=float(upper_ns.mean()),
        lower_ns=float(lower_ns.mean()),
    )


_ROUNDING: Final = 1e-12
"""Part of U up to which U and L count as equal."""


def _mean(values: Floats) -> float | None:
    return float(values.mean()) if len(values) else None


def _transfers(load: StepLoad, network: Network) -> tuple[Floats, Floats]:
    """(workers,) all transfers one after the other, and those of the busiest port's direction."""
    workers = len(network.worker_bps)
    looks_at_workers = load_share(network.share).USES_WORKER_PORTS
    own_ns = 8e9 / network.worker_bps if looks_at_workers else np.zeros(workers)  # of a byte
    total_ns, most_ns = np.zeros(workers), np.zeros(workers)
    for (direction, server), size in load.moved.items():
        server_ns = workers * 8e9 / float(network.server_bps[server])
        total_ns += size * np.maximum(server_ns, own_ns)
        both = sum(moved for (way, _), moved in load.moved.items() if way == direction)
        most_ns = np.maximum(most_ns, np.maximum(size * server_ns, both * own_ns))
    return total_ns, most_ns
