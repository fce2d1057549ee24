"""The step executor, on the simulator's own links, hands over when the simulator does."""

from dataclasses import replace

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from netcosim.training.job import TrainingJob
from netcosim.training.plan import Channel, StepPlan
from netcosim.training.speed import SpeedTrace
from sim.engine.control import Control
from sim.engine.engine import Engine
from tests.sim.executor.replayed import Replay
from tests.sim.fast.shaped import shaped_operations
from tests.sim.naive.plans import make_network, make_plan, make_sending
from tests.sim.naive.random_plans import random_draws

STEPS = 6


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


def simulated(job: TrainingJob) -> Engine:
    control = Control(staleness=job.staleness, keep_operations=True)
    network = make_network(workers=job.workers, servers=job.plan.servers)
    engine = Engine(
        job.plan, network, make_sending(), job.draws, control, speeds=job.speeds, compiled=False
    )
    engine.run()
    return engine


def job_of(
    plan: StepPlan,
    rng: np.random.Generator,
    workers: int,
    staleness: int | None,
    speed: SpeedTrace | None = None,
) -> TrainingJob:
    return TrainingJob(
        plan=plan,
        draws=random_draws(rng, plan, workers=workers, steps=STEPS),
        staleness=staleness,
        join=None,
        speeds=(speed, *[None] * (workers - 1)),
    )


def assert_same(job: TrainingJob) -> None:
    seen = simulated(job).operations()
    replay = Replay(job, seen)
    replay.run()
    replay.assert_handed_over_as(seen)


@settings(max_examples=60, deadline=None)
@given(
    seed=st.integers(0, 2**32 - 1),
    workers=st.integers(1, 4),
    staleness=st.sampled_from([None, 0, 1, 2]),
)
def test_it_hands_over_when_the_simulator_does(seed, workers, staleness):
    rng = np.random.default_rng(seed)
    assert_same(job_of(pulled_plan(rng), rng, workers, staleness))


@settings(max_examples=30, deadline=None)
@given(seed=st.integers(0, 2**32 - 1), workers=st.integers(1, 3))
def test_at_speeds_that_change(seed, workers):
    rng = np.random.default_rng(seed)
    time_ns = np.concatenate([[0.0], np.cumsum(rng.exponential(100_000, 5) + 1)])
    speed = rng.uniform(0.2, 2.0, 5)
    work_ns = np.concatenate([[0.0], np.cumsum(np.diff(time_ns) * speed)])
    trace = SpeedTrace(time_ns=time_ns, work_ns=work_ns)
    assert_same(job_of(pulled_plan(rng), rng, workers, None, trace))
