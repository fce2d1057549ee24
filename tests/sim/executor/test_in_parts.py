"""Steps by the protocol of real jobs: the engine and the step executor say the same."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from netcosim.errors import ScenarioError
from netcosim.training.job import TrainingJob
from netcosim.training.plan import StepPlan
from sim.engine.control import Control
from sim.engine.engine import Engine
from sim.plan import Sending
from tests.sim.executor.replayed import Replay
from tests.sim.fast.shaped import shaped_operations
from tests.sim.naive.plans import (
    Op,
    at_worker,
    down,
    make_network,
    make_plan,
    make_sending,
    random_draws,
    up,
)

STEPS = 6
DELAYS_NS = (0, 30_000, 10_000_000)


def job_of(rng: np.random.Generator, workers: int, servers: int, staleness: int | None):
    ops = shaped_operations(rng, tensors=7, servers=servers)
    plan = make_plan(ops, recorded=3, servers=servers)
    return TrainingJob(
        plan=plan,
        draws=random_draws(rng, plan, workers=workers, steps=STEPS),
        staleness=staleness,
        join=None,
        speeds=(None,) * workers,
    )


def simulated(
    job: TrainingJob, delay_ns: int, sending: Sending | None = None, *, compiled: bool = False
) -> Engine:
    engine = Engine(
        job.plan,
        network(job, delay_ns),
        make_sending() if sending is None else sending,
        job.draws,
        Control(staleness=job.staleness, keep_operations=True, keep_chunks=True, in_parts=True),
        speeds=job.speeds,
        compiled=compiled,
    )
    engine.run()
    return engine


def network(job: TrainingJob, delay_ns: int):
    found = make_network(workers=job.workers, servers=job.plan.servers)
    return replace(found, delay_ns=np.full(job.workers, delay_ns, dtype=np.int64))


@settings(max_examples=150, deadline=None)
@given(
    seed=st.integers(0, 2**32 - 1),
    workers=st.integers(1, 4),
    servers=st.integers(1, 3),
    staleness=st.sampled_from([None, 0, 1, 2]),
    delay_ns=st.sampled_from(DELAYS_NS),
    discipline=st.sampled_from(["fifo", "round_robin", "priority"]),
)
def test_executor_and_engine_agree(seed, workers, servers, staleness, delay_ns, discipline):
    rng = np.random.default_rng(seed)
    job = job_of(rng, workers, servers, staleness)
    engine = simulated(job, delay_ns, make_sending(discipline, chunk_bytes=10_000))
    seen, steps = engine.operations(), engine.steps()
    assert len(seen.worker) == workers * STEPS * job.plan.operations
    replay = Replay(job, seen, delay_ns)
    replay.run()
    channels = len(job.plan.channels)
    for w, s, o, ready_ns in zip(
        seen.worker, seen.step, seen.operation, seen.ready_ns, strict=True
    ):
        if job.plan.place[o] < channels:
            assert replay.handed_ns[w, s, o] == pytest.approx(ready_ns, abs=1)
    assert len(steps.worker) == workers * STEPS
    for w, s, start_ns in zip(steps.worker, steps.step, steps.start_ns, strict=True):
        assert replay.requested_ns[w, s] == pytest.approx(start_ns, abs=1)


@pytest.mark.parametrize("servers", [1, 2])
def test_compiled_and_interpreted_text_agree_to_the_last_bit(servers):
    job = job_of(np.random.default_rng(servers), 3, servers, 1)
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
    plan = make_plan(ops)
    job = TrainingJob(
        plan=plan,
        draws=random_draws(np.random.default_rng(0), plan, workers=1, steps=3),
        staleness=None,
        join=None,
        speeds=(None,),
    )
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
    plan: StepPlan = make_plan(ops, servers=2)
    job = TrainingJob(
        plan=plan,
        draws=random_draws(np.random.default_rng(0), plan, workers=1, steps=1),
        staleness=None,
        join=None,
        speeds=(None,),
    )
    with pytest.raises(ScenarioError, match="must wait for a transfer from there"):
        simulated(job, 0)
    with pytest.raises(ValueError, match="steps can't be changed"):
        simulated(job_of(np.random.default_rng(1), 2, 1, None), 0).leave(0)
