"""Tiny step plans, networks and draws for tests: by hand, or at random."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from h2model.disciplines import load, names
from netcosim.policies import load_schedule, schedule_names, schedule_options
from netcosim.training.plan import (
    DOWN,
    NONE,
    SENDING,
    SERVER,
    UP,
    WORKER,
    Channel,
    Draws,
    Gate,
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
        name="compute",
        at=at_worker(),
        duration_ns=worker_ns,
        after=tuple(op.name for op in pulls),
    )
    pushes = [
        Op(name=f"push{k}", at=up(k % servers), size_bytes=size, after=("compute",))
        for k, size in enumerate(up_bytes)
    ]
    updates = [
        Op(
            name=f"update{k}",
            at=at_server(k % servers),
            duration_ns=update_ns,
            after=(f"push{k}",),
        )
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


# At random. With `ties`, sizes, times and rates are round, so that much happens at one time.


def random_plan(
    rng: np.random.Generator,
    *,
    operations: int = 14,
    servers: int = 2,
    recorded: int = 3,
    ties: bool = False,
) -> StepPlan:
    """A random DAG over all kinds of places; every recorded step has its own gate's order."""
    places: list[Channel | Processor] = []
    for server in range(servers):
        places += [down(server), up(server), at_server(server, int(rng.integers(1, 3)))]
        if rng.random() < 0.4:
            places += [down(server, "second"), up(server, "second")]
    places += [at_worker(1), at_worker(int(rng.integers(2, 4)), "threads")]
    # Every place is used where there are operations enough: of the rest, any.
    chosen = [places[i] for i in rng.permutation(len(places))][:operations]
    chosen += [places[i] for i in rng.integers(0, len(places), operations - len(chosen))]
    ops = []
    for i, at in enumerate(chosen):
        fewer = min(i, int(rng.integers(0, 4)))
        before = rng.permutation(i)[:fewer]
        transfer = isinstance(at, Channel)
        ops.append(
            Op(
                name=f"op{i}",
                at=at,
                size_bytes=_random_size(rng, ties) if transfer else 0,
                duration_ns=0.0 if transfer else _random_durations(rng, recorded, ties),
                after=tuple(f"op{j}" for j in before),
                priority=int(rng.integers(0, 4)),
            )
        )
    free = [op.name for op in ops if not op.after]
    order = [[free[i] for i in rng.permutation(len(free))] for _ in range(recorded)]
    return make_plan(ops, servers=servers, recorded=recorded, sources=order)


def random_join_plan(
    rng: np.random.Generator,
    *,
    tensors: int = 4,
    servers: int = 2,
    recorded: int = 3,
    ties: bool = False,
    rotated: bool = False,
    cores: int | None = None,
) -> StepPlan:
    """A random step of pulls, computations, pushes, and updates that are done once for all.

    Each tensor's push is behind its own pull, or, rotated, its pull behind its update. With `cores`
    messages are parsed where the updates are made; else each worker has a parser of its own.
    """
    server = [int(s) for s in rng.integers(0, servers, tensors)]
    number = {t: [f"push{t}.{i}" for i in range(int(rng.integers(1, 3)))] for t in range(tensors)}

    def takes() -> list[float]:
        return _random_durations(rng, recorded, ties)

    def pull(t: int, after: tuple[str, ...]) -> Op:
        return Op(
            name=f"pull{t}",
            at=down(server[t]),
            size_bytes=_random_size(rng, ties),
            after=after,
            priority=int(rng.integers(0, 4)),
        )

    def compute(name: str, after: Sequence[str]) -> Op:
        capacity = 1 if rng.random() < 0.7 else 2
        at = at_worker(capacity, "worker" if capacity == 1 else "threads")
        return Op(name=name, at=at, duration_ns=takes(), after=tuple(dict.fromkeys(after)))

    def some(names: Sequence[str]) -> list[str]:
        return [name for name in names if rng.random() < 0.4]

    pulls = [pull(t, (f"update{t}",) if rotated else ()) for t in range(tensors)]
    used: list[Op] = []
    for t in rng.permutation(tensors):
        used.append(compute(f"use{t}", [f"pull{t}", *some([op.name for op in used])]))
    gradients: list[Op] = []
    for t in rng.permutation(tensors):
        before = [] if rotated else [f"use{t}"]
        gradients.append(compute(f"gradient{t}", [*before, *some([op.name for op in gradients])]))
    servers_part: list[Op] = []
    for t in range(tensors):
        ends = []
        for name in number[t]:
            servers_part.append(
                Op(
                    name=name,
                    at=up(server[t]),
                    size_bytes=_random_size(rng, ties),
                    after=(f"gradient{t}",),
                    priority=int(rng.integers(0, 4)),
                )
            )
            ends.append(name)
            if rng.random() < 0.6:
                at = (
                    at_server(server[t])
                    if cores is None
                    else at_server(server[t], cores, "cores", shared=True)
                )
                ends[-1] = f"{name}/parse"
                servers_part.append(Op(name=ends[-1], at=at, duration_ns=takes(), after=(name,)))
        where = at_server(server[t], cores or 1, "cores" if cores else "update", shared=True)
        servers_part.append(Op(name=f"update{t}", at=where, duration_ns=takes(), after=tuple(ends)))
    operations = [*gradients, *servers_part, *pulls, *used]
    if not rotated:
        operations = [*pulls, *used, *gradients, *servers_part]
    free = [op.name for op in operations if not op.after]
    plan = make_plan(
        operations,
        servers=servers,
        recorded=recorded,
        sources=[[free[i] for i in rng.permutation(len(free))] for _ in range(recorded)],
        once={f"update{t}": [] if rotated else [f"pull{t}"] for t in range(tensors)},
    )
    assert plan.released is not None
    return replace(plan, released=rng.permuted(plan.released, axis=1))


def random_gated_plan(
    rng: np.random.Generator, *, tensors: int = 5, servers: int = 2, ties: bool = False
) -> StepPlan:
    """Pulls, computations, pushes behind gates, updates; some messages cost their sender work."""
    recorded, ops = 2, []
    gates: dict[int, list[tuple[str, str, int]]] = {}  # by server: what is held, what it ends with
    server = [int(s) for s in rng.integers(0, servers, tensors)]

    def takes() -> list[float]:
        return _random_durations(rng, recorded, ties)

    pulls = [
        Op(name=f"pull{t}", at=down(server[t]), size_bytes=_random_size(rng, ties))
        for t in range(tensors)
    ]
    forward = tuple(op.name for op in pulls)
    costly = rng.random() < 0.5
    for t in range(tensors):
        before = tuple(f"gradient{int(k)}" for k in rng.permutation(t)[: rng.integers(0, 3)])
        after = before or forward
        ops.append(Op(name=f"gradient{t}", at=at_worker(), duration_ns=takes(), after=after))
        held = f"gradient{t}"
        if costly:
            sending = Processor(node=SENDING, server=server[t], resource="sending", capacity=1)
            held = f"send{t}"
            ops.append(Op(name=held, at=sending, duration_ns=takes(), after=(f"gradient{t}",)))
        size = _random_size(rng, ties)
        ops.append(Op(name=f"push{t}", at=up(server[t]), size_bytes=size, after=(held,)))
        ends = f"push{t}"
        if rng.random() < 0.5:
            ends = f"push{t}/parse"
            ops.append(
                Op(name=ends, at=at_server(server[t]), duration_ns=takes(), after=(f"push{t}",))
            )
        updated = at_server(server[t], resource="update")
        ops.append(Op(name=f"update{t}", at=updated, duration_ns=takes(), after=(ends,)))
        gates.setdefault(server[t], []).append((held if costly else f"push{t}", ends, size))
    plan = make_plan([*pulls, *ops], servers=servers, recorded=recorded)
    number = {name: i for i, name in enumerate(plan.names)}
    found = []
    for at, messages in gates.items():
        order = [messages[i] for i in rng.permutation(len(messages))]
        expected = (
            rng.integers(0, 5, len(order)) * 1000 if ties else rng.integers(0, 300_000, len(order))
        )
        found.append(
            Gate(
                channel=plan.channels.index(up(at)),
                operations=tuple(number[held] for held, _, _ in order),
                ended_by=tuple(number[ends] for _, ends, _ in order),
                size_bytes=tuple(size for _, _, size in order),
                generated_ns=tuple(int(ns) for ns in expected),
            )
        )
    return replace(plan, gates=tuple(found))


def random_schedule(rng: np.random.Generator, sending: Sending, name: str | None = None) -> Sending:
    """Any schedule, with a credit of some messages, and a bandwidth that is measured often."""
    chosen = str(rng.choice(schedule_names())) if name is None else name
    given = {"credit_bytes": int(rng.integers(1, 200_000)), "monitor_ns": 150_000}
    options = {k: v for k, v in given.items() if k in load_schedule(chosen).OPTIONS}
    return replace(sending, schedule=chosen, schedule_options=schedule_options(chosen, options))


def _random_size(rng: np.random.Generator, ties: bool) -> int:
    return 1000 * int(rng.integers(1, 4)) if ties else 1 + int(rng.exponential(40_000))


def _random_durations(rng: np.random.Generator, recorded: int, ties: bool) -> list[float]:
    drawn = rng.integers(0, 4, recorded) * 1000 if ties else rng.exponential(40_000, recorded)
    return [float(duration_ns) for duration_ns in drawn]


def random_network(
    rng: np.random.Generator,
    *,
    servers: int = 2,
    workers: int = 3,
    share: str = "equal",
    ties: bool = False,
) -> Network:
    """Ports of different speeds; some runs have delays, some a port that is slower both ways."""
    low, high = BYTE_A_NS // 4, BYTE_A_NS * 2
    return make_network(
        share=share,
        servers=servers,
        workers=workers,
        server_bps=BYTE_A_NS if ties else [int(b) for b in rng.integers(low, high, servers)],
        worker_bps=BYTE_A_NS if ties else [int(b) for b in rng.integers(low, high, workers)],
        delay_ns=[int(d) for d in rng.integers(0, 3, workers) * (1000 if ties else 7919)]
        if rng.random() < 0.5
        else 0,
        both_busy=float(rng.choice([1.0, 0.5 if ties else 0.83])),
    )


def random_sending(
    rng: np.random.Generator, *, discipline: str | None = None, ties: bool = False
) -> Sending:
    """Any discipline; windows and chunks smaller than many streams, or as good as none."""
    name = str(rng.choice(names())) if discipline is None else discipline
    options = dict.fromkeys(("quantum", "grain"), 1000 if ties else 7001)
    if name == "two_visit":
        options["requeue_at_completion"] = int(rng.integers(0, 2))
        options["write"] = int(rng.choice([0, 0, 5000]))
    stream = [None, 1000, 2000] if ties else [None, 9973, 65535]
    window = stream[int(rng.integers(0, 3))]
    chunks = [2**31 - 1, 2**31 - 1, 500 if ties else 4801]
    return make_sending(
        name,
        chunk_bytes=chunks[int(rng.integers(0, 3))],
        window_bytes=window,
        connection_window_bytes=None if rng.random() < 0.6 else 3000 if ties else 20011,
        **{key: value for key, value in options.items() if key in load(name).OPTIONS},
    )


def random_draws(
    rng: np.random.Generator,
    plan: StepPlan,
    *,
    workers: int = 3,
    steps: int = 4,
    ties: bool = False,
) -> Draws:
    """Any recorded step for each; with ties, every worker does the same at the same pace."""
    step = rng.integers(0, plan.steps, (workers, steps))
    if ties:
        return Draws(step=np.repeat(step[:1], workers, axis=0), factor=np.ones((workers, steps)))
    return Draws(step=step, factor=rng.lognormal(0.0, 0.2, (workers, steps)))
