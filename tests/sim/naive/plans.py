"""Tiny step plans, networks and draws for tests, made by hand."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from h2model.disciplines import load
from netcosim.training.plan import (
    DOWN,
    NONE,
    SERVER,
    UP,
    WORKER,
    Channel,
    Draws,
    Ints,
    Processor,
    StepPlan,
)
from sim.plan import Network, Sending

BYTE_A_NS = 8_000_000_000  # bits per second


@dataclass(frozen=True, slots=True, kw_only=True)
class Op:
    """One operation of a plan; `at` is a channel or a processor of the lists given with it."""

    name: str
    at: Channel | Processor
    size_bytes: int = 0
    duration_ns: float | Sequence[float] = 0.0
    after: tuple[str, ...] = ()
    priority: int = 0


def down(server: int = 0, connection: str = "data") -> Channel:
    return Channel(server=server, direction=DOWN, connection=connection)


def up(server: int = 0, connection: str = "data") -> Channel:
    return Channel(server=server, direction=UP, connection=connection)


def at_worker(capacity: int = 1, resource: str = "worker") -> Processor:
    return Processor(node=WORKER, server=0, resource=resource, capacity=capacity)


def at_server(
    server: int = 0, capacity: int = 1, resource: str = "ps", *, shared: bool = False
) -> Processor:
    return Processor(
        node=SERVER, server=server, resource=resource, capacity=capacity, shared=shared
    )


def make_plan(
    operations: Sequence[Op],
    *,
    servers: int = 1,
    recorded: int = 1,
    sources: Sequence[Sequence[str]] | None = None,
    once: Mapping[str, Sequence[str]] | None = None,
) -> StepPlan:
    """A plan of these operations; dependents are handed over in the order of the list.

    Sources are handed over in the order of the list, or in that given for each recorded step.
    `once` names the updates that are done once for all, each with the pulls of the next step that
    need it.
    """
    index = {op.name: i for i, op in enumerate(operations)}
    channels = sorted(
        {op.at for op in operations if isinstance(op.at, Channel)},
        key=lambda c: (c.direction, c.server, c.connection),
    )
    processors = sorted(
        {op.at for op in operations if isinstance(op.at, Processor)},
        key=lambda p: (p.node, p.server, p.resource),
    )
    places: list[Channel | Processor] = [*channels, *processors]
    after = [
        [i for i, op in enumerate(operations) if before.name in op.after] for before in operations
    ]
    if sources is None:
        sources = [[op.name for op in operations if not op.after]] * recorded
    return StepPlan(
        servers=servers,
        names=tuple(op.name for op in operations),
        channels=tuple(channels),
        processors=tuple(processors),
        place=np.array([places.index(op.at) for op in operations], dtype=np.int64),
        size_bytes=np.array([op.size_bytes for op in operations], dtype=np.int64),
        priority=np.array([op.priority for op in operations], dtype=np.int64),
        duration_ns=np.array(
            [np.broadcast_to(op.duration_ns, recorded) for op in operations], dtype=np.float64
        ).T.copy(),
        waits=np.array([len(op.after) for op in operations], dtype=np.int64),
        after=np.array([i for dependents in after for i in dependents], dtype=np.int64),
        after_start=np.cumsum([0, *map(len, after)], dtype=np.int64),
        sources=np.array([[index[name] for name in row] for row in sources], dtype=np.int64),
        members=tuple((i,) for i in range(len(operations))),
        **({} if once is None else _joined(operations, index, once, recorded)),
    )


def _joined(
    operations: Sequence[Op],
    index: Mapping[str, int],
    once: Mapping[str, Sequence[str]],
    recorded: int,
) -> dict[str, Ints]:
    pulled_after = np.full(len(operations), NONE, dtype=np.int64)
    for update, pulls in once.items():
        pulled_after[[index[pull] for pull in pulls]] = index[update]
    behind = [i for i, op in enumerate(operations) if any(name in once for name in op.after)]
    return {
        "once": np.array([op.name in once for op in operations], dtype=np.int64),
        "pulled_after": pulled_after,
        "released": np.tile(np.array(behind, dtype=np.int64), (recorded, 1)),
    }


def chain_plan(
    *,
    down_bytes: Sequence[int] = (1000,),
    worker_ns: float | Sequence[float] = 500.0,
    up_bytes: Sequence[int] = (1000,),
    update_ns: float | Sequence[float] = 200.0,
    servers: int = 1,
    recorded: int = 1,
) -> StepPlan:
    """All pulls, then one computation, then all pushes, after each its update.

    The k-th pull or push is with server k modulo `servers`.
    """
    pulls = [
        Op(name=f"pull{k}", at=down(k % servers), size_bytes=size)
        for k, size in enumerate(down_bytes)
    ]
    compute = Op(
        name="compute", at=at_worker(), duration_ns=worker_ns, after=tuple(op.name for op in pulls)
    )
    pushes = [
        Op(name=f"push{k}", at=up(k % servers), size_bytes=size, after=("compute",))
        for k, size in enumerate(up_bytes)
    ]
    updates = [
        Op(name=f"update{k}", at=at_server(k % servers), duration_ns=update_ns, after=(f"push{k}",))
        for k in range(len(up_bytes))
    ]
    return make_plan([*pulls, compute, *pushes, *updates], servers=servers, recorded=recorded)


def make_network(
    *,
    share: str = "equal",
    servers: int = 1,
    workers: int = 1,
    server_bps: int | Sequence[int] = BYTE_A_NS,
    worker_bps: int | Sequence[int] = BYTE_A_NS,
    delay_ns: int | Sequence[int] = 0,
    both_busy: float = 1.0,
) -> Network:
    """One number stands for all servers or workers."""
    return Network(
        share=share,
        server_bps=_each(server_bps, servers),
        worker_bps=_each(worker_bps, workers),
        delay_ns=_each(delay_ns, workers),
        both_busy=both_busy,
    )


def _each(values: int | Sequence[int], count: int) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    return np.array(np.broadcast_to(values, count), dtype=np.int64)


def make_sending(
    discipline: str = "fifo",
    *,
    window_bytes: int | None = None,
    connection_window_bytes: int | None = None,
    chunk_bytes: int = 2**31 - 1,
    **options: int,
) -> Sending:
    """Options by name; the others have their defaults."""
    values = {**load(discipline).OPTIONS, **options}
    return Sending(
        discipline=discipline,
        options=tuple(values.values()),
        window_bytes=window_bytes,
        connection_window_bytes=connection_window_bytes,
        chunk_bytes=chunk_bytes,
    )


def same_draws(workers: int = 1, steps: int = 1, *, factor: Sequence[float] | None = None) -> Draws:
    """Always the first recorded step; worker w is slower by `factor[w]`."""
    factors = np.ones(workers) if factor is None else np.array(factor, dtype=np.float64)
    return Draws(
        step=np.zeros((workers, steps), dtype=np.int64),
        factor=np.repeat(factors[:, None], steps, axis=1),
    )
