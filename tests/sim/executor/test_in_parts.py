"""Steps by the protocol of real jobs: the engine and the step executor say the same."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from netcosim.errors import ScenarioError
from netcosim.policies import schedule_names
from netcosim.training.job import TrainingJob
from netcosim.training.plan import Channel, StepPlan
from netcosim.training.speed import SpeedTrace
from netcosim.training.synchronisation import Join
from sim.engine.engine import Engine
from sim.plan import Sending
from tests.sim.engines import make_job, ran
from tests.sim.executor.replayed import Replay
from tests.sim.fast.shaped import joined_plan, shaped_operations
from tests.sim.naive.plans import (
    BYTE_A_NS,
    Op,
    at_server,
    at_worker,
    down,
    make_network,
    make_plan,
    make_sending,
    same_draws,
    up,
)
from tests.sim.naive.random_plans import random_draws, random_gated_plan, random_schedule

STEPS = 6
SEEDS = st.integers(0, 2**32 - 1)
JOBS = {"seed": SEEDS, "workers": st.integers(1, 4), "servers": st.integers(1, 3)}
DELAYS_NS = (0, 30_000, 10_000_000)


def drawn_job(
    rng: np.random.Generator, plan: StepPlan, workers: int = 1, steps: int = STEPS, **options: Any
) -> TrainingJob:
    return make_job(plan, random_draws(rng, plan, workers=workers, steps=steps), **options)


def job_of(rng: np.random.Generator, workers: int, servers: int, staleness: int | None):
    ops = shaped_operations(rng, tensors=7, servers=servers)
    plan = make_plan(ops, recorded=3, servers=servers)
    return drawn_job(rng, plan, workers, staleness=staleness)


def joined_job(rng: np.random.Generator, workers: int, servers: int, first: int):
    plan = joined_plan(rng, servers=servers, cores=1 + int(rng.integers(2)))
    return drawn_job(rng, plan, workers, join=Join(by="step", first=first))


def simulated(
    job: TrainingJob, delay_ns: int, sending: Sending | None = None, *, compiled: bool = False
) -> Engine:
    return ran(
        job.plan,
        job.draws,
        network=make_network(workers=job.workers, servers=job.plan.servers, delay_ns=delay_ns),
        sending=sending,
        staleness=job.staleness,
        join=job.join,
        keep_operations=True,
        keep_chunks=True,
        in_parts=True,
        speeds=job.speeds,
        compiled=compiled,
    )


@pytest.mark.oracle
@settings(max_examples=150, deadline=None)
@given(
    **JOBS,
    staleness=st.sampled_from([None, 0, 1, 2]),
    delay_ns=st.sampled_from(DELAYS_NS),
    discipline=st.sampled_from(["fifo", "round_robin", "priority"]),
)
def test_executor_and_engine_agree(seed, workers, servers, staleness, delay_ns, discipline):
    rng = np.random.default_rng(seed)
    job = job_of(rng, workers, servers, staleness)
    engine = simulated(job, delay_ns, make_sending(discipline, chunk_bytes=10_000))
    assert len(engine.operations().worker) == workers * STEPS * job.plan.operations
    assert len(engine.steps().worker) == workers * STEPS
    assert_same(job, engine, delay_ns)


@pytest.mark.oracle
@settings(max_examples=100, deadline=None)
@given(**JOBS, first=st.integers(1, 5), delay_ns=st.sampled_from(DELAYS_NS))
def test_they_agree_where_gradients_are_joined(seed, workers, servers, first, delay_ns):
    rng = np.random.default_rng(seed)
    job = joined_job(rng, workers, servers, first)
    engine = simulated(job, delay_ns, make_sending("round_robin", chunk_bytes=10_000))
    seen = engine.operations()
    joined = int(job.plan.once.sum())
    assert (seen.worker == workers).sum() == STEPS * joined
    if first >= workers:
        own = workers * STEPS * (job.plan.operations - joined)
        assert len(seen.worker) == own + STEPS * joined
        assert len(engine.steps().worker) == workers * STEPS
    replay = assert_same(job, engine, delay_ns)
    updates = {
        (step, ended.what): ended
        for server in replay.servers
        for worker, step, ended in server.computed
        if worker == workers
    }
    for i in np.flatnonzero(seen.worker == workers):
        ended = updates.pop((int(seen.step[i]), int(seen.operation[i])))
        times = (ended.ready_ns, ended.begin_ns, ended.end_ns)
        ours = (seen.ready_ns[i], seen.start_ns[i], seen.end_ns[i])
        assert times == pytest.approx(ours, abs=1)
    assert not updates


@pytest.mark.oracle
@settings(max_examples=150, deadline=None)
@given(
    **JOBS,
    staleness=st.sampled_from([None, 0, 1]),
    delay_ns=st.sampled_from(DELAYS_NS),
    schedule=st.sampled_from(schedule_names()),
)
def test_they_agree_where_a_schedule_holds_gradients_back(
    seed, workers, servers, staleness, delay_ns, schedule
):
    rng = np.random.default_rng(seed)
    plan = random_gated_plan(rng, servers=servers)
    sending = random_schedule(rng, make_sending("fifo"), schedule)
    job = drawn_job(
        rng,
        plan,
        workers,
        staleness=staleness,
        pushed=True,
        schedule=schedule,
        schedule_options=sending.schedule_options,
        gate_bps=((BYTE_A_NS,) * len(plan.gates),) * workers,
    )
    engine = simulated(job, delay_ns, sending)
    seen = engine.operations()
    assert len(seen.worker) == workers * STEPS * plan.operations
    replay = assert_same(job, engine, delay_ns)
    # First in, first out: a message begins when it was handed over, or the one before has left.
    left_ns: dict[tuple[int, int], float] = {}
    held = [op for gate in plan.gates for op in gate.operations if plan.size_bytes[op] > 0]
    for i in sorted(np.flatnonzero(np.isin(seen.operation, held)), key=lambda i: seen.start_ns[i]):
        w, s, o = int(seen.worker[i]), int(seen.step[i]), int(seen.operation[i])
        line = (w, int(plan.place[o]))
        handed_ns = replay.handed_ns[w, s, o]
        begins_ns = max(handed_ns, left_ns.get(line, 0.0))
        assert seen.start_ns[i] == pytest.approx(begins_ns, abs=1)
        left_ns[line] = seen.end_ns[i] - delay_ns


def assert_same(job: TrainingJob, engine: Engine, delay_ns: int) -> Replay:
    """The executor hands over and requests when the engine does."""
    seen, steps = engine.operations(), engine.steps()
    replay = Replay(job, seen, delay_ns)
    replay.run()
    channels = len(job.plan.channels)
    gated = {op for gate in job.plan.gates for op in gate.operations}
    for w, s, o, ready_ns in zip(
        seen.worker, seen.step, seen.operation, seen.ready_ns, strict=True
    ):
        if job.plan.place[o] < channels and o not in gated:
            assert replay.handed_ns[w, s, o] == pytest.approx(ready_ns, abs=1)
    for w, s, start_ns in zip(steps.worker, steps.step, steps.start_ns, strict=True):
        assert replay.requested_ns[w, s] == pytest.approx(start_ns, abs=1)
    return replay


def tiny_joined_job(*, steps: int, slower: float, first: int) -> TrainingJob:
    """Two workers, the second one slower: pulls of 1 us, 10 us of computing, updates of 5 us."""
    ops = [
        Op(name="pull", at=down(), size_bytes=1_000),
        Op(name="compute", at=at_worker(), duration_ns=10_000, after=("pull",)),
        Op(name="push", at=up(), size_bytes=1_000, after=("compute",)),
        Op(name="update", at=at_server(shared=True), duration_ns=5_000, after=("push",)),
    ]
    draws = same_draws(workers=2, steps=steps, factor=[1.0, slower])
    return make_job(
        make_plan(ops, once={"update": ["pull"]}), draws, join=Join(by="step", first=first)
    )


def test_all_workers_go_on_when_the_joined_update_is_made():
    """Two workers, the second three times as slow: pulls of 1 us each, an update of 5 us."""
    job = tiny_joined_job(steps=2, slower=3.0, first=2)
    plan = job.plan
    seen = simulated(job, 0).operations()
    ended = {
        (int(w), int(s), plan.names[o]): float(end)
        for w, s, o, end in zip(seen.worker, seen.step, seen.operation, seen.end_ns, strict=True)
    }
    # Both pulls share the link: 2 us. The slow one computes 30 us, pushes 1 us.
    assert ended[2, 0, "update"] == 2_000 + 30_000 + 1_000 + 5_000
    assert ended[0, 1, "pull"] == ended[1, 1, "pull"] == ended[2, 0, "update"] + 2_000
    assert ended[2, 1, "update"] == 2 * ended[2, 0, "update"]


def test_a_slow_worker_s_gradients_come_too_late_and_it_goes_on_with_the_newest():
    """One of two is enough: the fast one makes all updates, the slow one is never counted."""
    job = tiny_joined_job(steps=6, slower=3.5, first=1)
    engine = simulated(job, 0)
    steps = engine.steps()
    assert (steps.worker == 0).sum() == 6
    assert 1 <= (steps.worker == 1).sum() < 4
    assert_same(job, engine, 0)


@pytest.mark.oracle
@pytest.mark.parametrize(
    "job",
    [
        job_of(np.random.default_rng(1), 3, 1, 1),
        job_of(np.random.default_rng(2), 3, 2, 1),
        joined_job(np.random.default_rng(3), 3, 2, 2),
    ],
    ids=["one server", "two servers", "joined"],
)
def test_compiled_and_interpreted_text_agree_to_the_last_bit(job):
    seen = [simulated(job, 30_000, compiled=compiled) for compiled in (False, True)]
    for table in ("operations", "chunks", "steps"):
        one, two = (getattr(engine, table)() for engine in seen)
        for name in one.__dataclass_fields__:
            assert np.array_equal(getattr(one, name), getattr(two, name)), (table, name)


def test_the_chunks_of_a_push_have_the_number_of_its_step():
    job = job_of(np.random.default_rng(5), 3, 2, None)
    engine = simulated(job, 10_000_000)
    chunks, seen = engine.chunks(), engine.operations()
    ended = {
        key: end
        for *key, end in zip(seen.worker, seen.step, seen.operation, seen.end_ns, strict=True)
        for key in [tuple(map(int, key))]
    }
    sizes: dict[tuple[int, int, int], int] = {}
    for w, s, o, size, end in zip(
        chunks.worker, chunks.step, chunks.operation, chunks.size_bytes, chunks.end_ns, strict=True
    ):
        key = (int(w), int(s), int(o))
        sizes[key] = sizes.get(key, 0) + int(size)
        assert end <= ended[key]
    for (_, _, o), size in sizes.items():
        assert size == job.plan.size_bytes[o]


def test_a_worker_is_a_step_ahead_of_its_servers():
    """1 ms to the worker, 1 ms back, 10 ms of path: it computes on while its push travels."""
    ops = [
        Op(name="pull", at=down(), size_bytes=1_000),
        Op(name="compute", at=at_worker(), duration_ns=[1e6], after=("pull",)),
        Op(name="push", at=up(), size_bytes=1_000, after=("compute",)),
    ]
    job = drawn_job(np.random.default_rng(0), make_plan(ops), steps=3)
    steps = simulated(job, 10_000_000).steps()
    assert np.all(steps.start_ns[1:] == steps.end_ns[:-1])
    # The request of the second step leaves with the push; its answer waits for the push alone.
    assert np.diff(steps.end_ns)[0] == pytest.approx(20e6 + 1e6, rel=0.2)


def test_what_waits_at_another_node_without_a_transfer_is_refused():
    ops = [
        Op(name="pull", at=down(0), size_bytes=1_000),
        Op(name="compute", at=at_worker(), duration_ns=[1e6], after=("pull",)),
        Op(name="other", at=down(1), size_bytes=1_000, after=("compute",)),
        Op(name="push", at=up(0), size_bytes=1_000, after=("compute",)),
    ]
    job = drawn_job(np.random.default_rng(0), make_plan(ops, servers=2), steps=1)
    with pytest.raises(ScenarioError, match="must wait for a transfer from there"):
        simulated(job, 0)
    with pytest.raises(ValueError, match="steps can't be changed"):
        simulated(job_of(np.random.default_rng(1), 2, 1, None), 0).leave(0)


def pulled_plan(rng: np.random.Generator) -> StepPlan:
    """A plan in which nothing is computed before something was pulled.

    What waits for nothing begins with the worker's request, in the simulator with the answer.
    """
    ops = shaped_operations(rng, tensors=7, servers=1)
    first = next(op.name for op in ops if op.name.startswith("pull"))
    waiting = [
        op if op.after or isinstance(op.at, Channel) else replace(op, after=(first,)) for op in ops
    ]
    return make_plan(waiting, recorded=3)


def assert_replayed(job: TrainingJob) -> None:
    control = {"staleness": job.staleness, "keep_operations": True}
    seen = ran(job.plan, job.draws, speeds=job.speeds, **control).operations()
    replay = Replay(job, seen)
    replay.run()
    replay.assert_handed_over_as(seen)


@settings(max_examples=60, deadline=None)
@given(
    seed=st.integers(0, 2**32 - 1),
    workers=st.integers(1, 4),
    staleness=st.sampled_from([None, 0, 1, 2]),
)
@pytest.mark.oracle
def test_it_hands_over_when_the_simulator_does(seed, workers, staleness):
    rng = np.random.default_rng(seed)
    assert_replayed(drawn_job(rng, pulled_plan(rng), workers, staleness=staleness))


@settings(max_examples=30, deadline=None)
@given(seed=st.integers(0, 2**32 - 1), workers=st.integers(1, 3))
def test_at_speeds_that_change(seed, workers):
    rng = np.random.default_rng(seed)
    time_ns = np.concatenate([[0.0], np.cumsum(rng.exponential(100_000, 5) + 1)])
    speed = rng.uniform(0.2, 2.0, 5)
    work_ns = np.concatenate([[0.0], np.cumsum(np.diff(time_ns) * speed)])
    trace = SpeedTrace(time_ns=time_ns, work_ns=work_ns)
    speeds = (trace, *[None] * (workers - 1))
    assert_replayed(drawn_job(rng, pulled_plan(rng), workers, speeds=speeds))
