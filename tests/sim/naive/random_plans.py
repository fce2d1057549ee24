"""Step plans, networks and draws at random, for tests.

With `ties`, sizes, times and rates are round, so that much happens at one time.
"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from h2model.disciplines import load, names
from netcosim.policies import load_schedule, schedule_names, schedule_options
from netcosim.training.plan import SENDING, Channel, Draws, Gate, Processor, StepPlan
from sim.plan import Network, Sending
from tests.sim.naive.plans import (
    BYTE_A_NS,
    Op,
    at_server,
    at_worker,
    down,
    make_network,
    make_plan,
    make_sending,
    up,
)


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
