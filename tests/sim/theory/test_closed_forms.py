"""Jobs that can be worked out by hand: one worker, lock step, who waits for whom, full links."""

import math
from collections.abc import Sequence

import numpy as np
import pytest

from netcosim.training.plan import DOWN, UP, Draws, StepPlan
from sim.engine.control import Control
from sim.engine.engine import Engine
from sim.fast.engine import FastEngine
from tests.sim.fast.shaped import shaped_plan
from tests.sim.naive.plans import (
    Op,
    at_worker,
    chain_plan,
    make_network,
    make_plan,
    make_sending,
    same_draws,
    up,
)

EXACT = 1e-12
KINDS = [FastEngine, Engine]
FIFO = make_sending("fifo")
Kind = type[FastEngine] | type[Engine]


def ends_of_steps(engine: FastEngine | Engine) -> np.ndarray:
    """(workers, steps) when each step ended."""
    engine.run()
    steps = engine.steps()
    ends = np.full((steps.worker.max() + 1, steps.step.max() + 1), np.nan)
    ends[steps.worker, steps.step] = steps.end_ns
    assert not np.isnan(ends).any()
    return ends


# One worker.


@pytest.mark.parametrize("kind", KINDS)
def test_a_chain_takes_the_sum_of_its_parts(kind: Kind) -> None:
    plan = chain_plan(down_bytes=(700, 300), worker_ns=500.0, up_bytes=(400,), update_ns=200.0)
    network = make_network(server_bps=2_000_000_000)  # four nanoseconds a byte
    ends = ends_of_steps(kind(plan, network, FIFO, same_draws(steps=5), compiled=False))
    assert ends[0] == pytest.approx([s * (4000 + 500 + 1600 + 200) for s in range(1, 6)], rel=EXACT)


def one_step_by_hand(plan: StepPlan, recorded: int, ns_per_byte: Sequence[float]) -> float:
    """Max-plus: a link, a processor ends the next when it has ended the last and may begin.

    For the fast path's shape under FIFO, where every place serves in the order of hand-over.
    """
    ended = [-math.inf] * plan.operations
    free = [0.0] * (len(plan.channels) + len(plan.processors))
    ready = dict.fromkeys((int(op) for op in plan.sources[recorded]), 0.0)
    waits = plan.waits.copy()
    turn = list(ready)
    while turn:
        # Nothing that is handed over later begins earlier: by time, then by hand-over.
        turn.sort(key=lambda op: max(ready[op], free[plan.place[op]]))
        op = turn.pop(0)
        place = int(plan.place[op])
        takes = float(plan.duration_ns[recorded, op])
        if place < len(plan.channels):
            channel = plan.channels[place]
            assert channel.direction in (DOWN, UP)
            takes = float(plan.size_bytes[op]) * ns_per_byte[channel.server]
        free[place] = ended[op] = max(ready[op], free[place]) + takes
        for dependent in plan.after[plan.after_start[op] : plan.after_start[op + 1]]:
            waits[dependent] -= 1
            if waits[dependent] == 0:
                before = [b for b in range(plan.operations) if dependent in after_of(plan, b)]
                ready[int(dependent)] = max(ended[b] for b in before)
                turn.append(int(dependent))
    return max(ended)


def after_of(plan: StepPlan, op: int) -> np.ndarray:
    return plan.after[plan.after_start[op] : plan.after_start[op + 1]]


@pytest.mark.parametrize("servers", [1, 2])
@pytest.mark.parametrize("kind", KINDS)
def test_one_workers_overlap_is_max_plus(kind: Kind, servers: int) -> None:
    for seed in range(6):
        rng = np.random.default_rng(seed)
        plan = shaped_plan(rng, tensors=7, servers=servers)
        rates = [int(r) for r in rng.integers(10**9, 3 * 10**10, servers)]
        steps = Draws(step=np.array([[0, 2, 1, 1]]), factor=np.ones((1, 4)))
        network = make_network(servers=servers, server_bps=rates)
        ends = ends_of_steps(kind(plan, network, FIFO, steps, compiled=False))
        each = [one_step_by_hand(plan, r, [8e9 / rate for rate in rates]) for r in (0, 2, 1, 1)]
        assert np.diff(ends[0], prepend=0.0) == pytest.approx(each, rel=1e-9)
        alone = plan.duration_ns[0].sum() + plan.size_bytes.sum() * 8e9 / min(rates)
        assert each[0] < 0.95 * alone  # things did overlap


# Several workers.


@pytest.mark.parametrize("staleness", [None, 0, 2])
@pytest.mark.parametrize("kind", KINDS)
def test_equal_workers_go_in_lock_step(kind: Kind, staleness: int | None) -> None:
    plan = chain_plan(down_bytes=(600, 400), worker_ns=700.0, up_bytes=(900,), update_ns=300.0)
    for workers in (2, 3, 5):
        job = (make_network(workers=workers), FIFO, same_draws(workers=workers, steps=4))
        ends = ends_of_steps(kind(plan, *job, Control(staleness=staleness), compiled=False))
        step = workers * 1000 + 700 + workers * 900 + 300
        for worker in range(workers):
            assert ends[worker] == pytest.approx([step, 2 * step, 3 * step, 4 * step], rel=EXACT)


def who_waits_by_hand(durations: np.ndarray, staleness: int | None) -> np.ndarray:
    """Ends of steps where nothing is shared: a step begins when the slowest is near enough."""
    workers, steps = durations.shape
    ends = np.zeros((workers, steps))
    for s in range(steps):
        slowest = 0.0 if staleness is None or s <= staleness else ends[:, s - staleness - 1].max()
        begun = np.maximum(ends[:, s - 1] if s else 0.0, slowest)
        ends[:, s] = begun + durations[:, s]
    return ends


@pytest.mark.parametrize("staleness", [None, 0, 1, 4])
def test_who_waits_for_whom_without_a_network_is_max_plus(staleness: int | None) -> None:
    rng = np.random.default_rng(8)
    recorded = rng.exponential(1000.0, 40)
    plan = make_plan([Op(name="think", at=at_worker(), duration_ns=list(recorded))], recorded=40)
    draws = Draws(step=rng.integers(0, 40, (6, 50)), factor=rng.lognormal(0.0, 0.3, (6, 50)))
    job = (make_network(workers=6), FIFO, draws)
    ends = ends_of_steps(Engine(plan, *job, Control(staleness=staleness), compiled=False))
    by_hand = who_waits_by_hand(recorded[draws.step] * draws.factor, staleness)
    np.testing.assert_allclose(ends, by_hand, rtol=1e-9)


def test_a_barrier_costs_the_slowest_of_each_step() -> None:
    """Of W exponential times the longest is, in the mean, H_W times the mean of one."""
    rng = np.random.default_rng(2)
    workers, steps = 8, 400
    recorded = rng.exponential(1000.0, 5000)
    plan = make_plan([Op(name="think", at=at_worker(), duration_ns=list(recorded))], recorded=5000)
    chosen = rng.integers(0, 5000, (workers, steps))
    job = (make_network(workers=workers), FIFO, Draws(step=chosen, factor=np.ones(chosen.shape)))
    took = np.diff(
        ends_of_steps(Engine(plan, *job, Control(staleness=0), compiled=False)).max(axis=0)
    )
    harmonic = sum(1 / k for k in range(1, workers + 1))
    error = took.std(ddof=1) / math.sqrt(len(took))
    assert took.mean() == pytest.approx(harmonic * recorded.mean(), abs=4 * error)
    assert 4 * error < 0.1 * took.mean()


def test_a_bounded_lead_is_between_lock_step_and_none() -> None:
    """With a shared link, so that being out of step pays; means over runs."""
    spread = []
    for seed in range(6):
        rng = np.random.default_rng(seed)
        plan = chain_plan(
            down_bytes=(1000,),
            worker_ns=list(rng.exponential(3000.0, 200)),
            up_bytes=(1000,),
            update_ns=0.0,
            recorded=200,
        )
        draws = Draws(step=rng.integers(0, 200, (4, 600)), factor=np.ones((4, 600)))
        rates = []
        for staleness in (0, 1, 4, 16, None):
            engine = FastEngine(
                plan, make_network(workers=4), FIFO, draws, Control(staleness=staleness)
            )
            ends = ends_of_steps(engine)
            rates.append(4 * 600 / ends[:, -1].mean())
        spread.append(rates)
    gains = np.diff(np.array(spread), axis=1)
    error = gains.std(axis=0, ddof=1) / math.sqrt(len(gains))
    assert (gains.mean(axis=0) > 4 * error)[:3].all()
    assert gains.mean(axis=0)[3] > -4 * error[3]


# Full links.


@pytest.mark.parametrize("direction", ["down", "up"])
def test_a_full_link_moves_its_rate_and_no_more(direction: str) -> None:
    """Within the whole run all but one step of each worker's bytes are accounted for."""
    rng = np.random.default_rng(4)
    workers, size = 12, 5000
    small, large = (100,), (size - 100, 100)
    plan = chain_plan(
        down_bytes=large if direction == "down" else small,
        worker_ns=list(rng.exponential(1000.0, 100)),
        up_bytes=small if direction == "down" else large,
        update_ns=list(rng.exponential(100.0, 100)),
        recorded=100,
    )
    draws = Draws(step=rng.integers(0, 100, (workers, 400)), factor=np.ones((workers, 400)))
    engine = FastEngine(plan, make_network(workers=workers), FIFO, draws)
    warm_up_ns, until_ns = 1e6, 15e6
    for time_ns in (warm_up_ns, until_ns):
        engine.run(time_ns)
    ends = engine.steps().end_ns
    moved = size * ((ends > warm_up_ns) & (ends <= until_ns)).sum()
    assert moved == pytest.approx(until_ns - warm_up_ns, abs=workers * size)
    assert workers * size < 0.01 * moved


def test_a_link_never_moves_more_than_its_rate_nor_idles_with_work() -> None:
    """Busy from the first hand-over to the last end: bytes at the link's rate; exactly."""
    rng = np.random.default_rng(6)
    operations = [
        Op(name=f"push{i}", at=up(), size_bytes=int(s))
        for i, s in enumerate(rng.integers(1, 9000, 12))
    ]
    plan = make_plan(operations)
    for discipline in ("fifo", "round_robin", "two_visit", "processor_sharing"):
        sending = make_sending(discipline, window_bytes=4000)
        job = (make_network(workers=3, server_bps=3_000_000_000), sending, same_draws(workers=3))
        engine = Engine(plan, *job, Control(keep_chunks=True), compiled=False)
        ends = ends_of_steps(engine)
        total = 3 * int(plan.size_bytes.sum())
        assert ends.max() == pytest.approx(total * 8 / 3, rel=1e-9)
        chunks = engine.chunks()
        assert chunks.size_bytes.sum() == total
        for worker in range(3):
            mine = chunks.worker == worker
            begun, ended = chunks.start_ns[mine], chunks.end_ns[mine]
            assert begun[1:] == pytest.approx(ended[:-1], rel=1e-9)  # no gap, no overlap
