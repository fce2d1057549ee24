"""Both engines under coordinators against the naive twin, which knows all batches beforehand."""

from collections.abc import Sequence

import numpy as np
import pytest

from netcosim.policies.coordination.asp import Asynchronous
from netcosim.policies.coordination.lb_bsp import LoadBalanced
from netcosim.policies.coordination.ssp import StaleSynchronous
from netcosim.policies.coordinator.barrier import Barrier
from netcosim.policies.coordinator.observed import Coordinator, Use
from netcosim.policies.prediction.memoryless import Memoryless
from netcosim.training.batch_curve import measured, proportional
from netcosim.training.batching import Batching
from netcosim.training.plan import Draws, StepPlan
from sim.coordination.coordinated import CoordinatedRun
from sim.engine.control import Control
from sim.engine.engine import Engine
from sim.fast.engine import FastEngine
from tests.sim.fast.shaped import shaped_plan
from tests.sim.naive.plans import chain_plan, make_network, make_sending, same_draws
from tests.sim.naive.random_plans import random_draws, random_network, random_plan
from tests.sim.naive.twin import simulate

WORKERS, STEPS = 3, 6
FIFO = make_sending("fifo")
CONTROL = Control(stop_at_steps=True)
BATCHING = Batching(
    batches=(32, 32, 16),
    curves=(
        proportional(1000.0, 256),
        measured([(1, 500.0), (8, 700.0), (64, 9000.0)]),
        measured([(1, 5000.0), (64, 9000.0)]),
    ),
)


def idle(worker: int, now_ns: float) -> Use:
    return Use()


def draws(plan: StepPlan, seed: int) -> Draws:
    return random_draws(np.random.default_rng(seed), plan, workers=WORKERS, steps=STEPS)


def with_batches(drawn: Draws, batches: np.ndarray) -> Draws:
    """All that a coordinator decided, known beforehand."""
    factor = drawn.factor.copy()
    for worker, step in np.ndindex(*factor.shape):
        factor[worker, step] *= BATCHING.factor(worker, int(batches[worker, step]))
    return Draws(step=drawn.step, factor=factor)


def rows_of(run: Sequence) -> np.ndarray:
    return np.array(sorted((r.worker, r.step, r.start_ns, r.end_ns) for r in run))


def run_engine(engine, drawn: Draws, coordinator: Coordinator) -> tuple[np.ndarray, np.ndarray]:
    run = CoordinatedRun(engine, drawn, coordinator, BATCHING, idle)
    run.run()
    found = engine.steps()
    rows = np.array(
        sorted(zip(found.worker, found.step, found.start_ns, found.end_ns, strict=True))
    )
    return rows, run.batches


def scripted(seed: int) -> Barrier:
    """A barrier with batches at random."""
    rng = np.random.default_rng(seed)
    return Barrier(lambda batches, taken_ns, use: rng.integers(1, 64, len(batches)).tolist())


def assert_as_the_twin(kind, plan: StepPlan, network, seed: int) -> np.ndarray:
    """Hold a run whose batches are scripted against the twin; the batches."""
    given = draws(plan, seed)
    engine = kind(plan, network, FIFO, given, CONTROL)
    rows, batches = run_engine(engine, given, scripted(seed))
    twin = simulate(plan, network, FIFO, with_batches(draws(plan, seed), batches), 0)
    np.testing.assert_allclose(rows, rows_of(twin.steps), rtol=1e-9)
    return batches


@pytest.mark.parametrize("seed", range(8))
def test_batches_that_change_at_a_barrier(seed):
    rng = np.random.default_rng(seed)
    batches = assert_as_the_twin(
        Engine, random_plan(rng), random_network(rng, workers=WORKERS), seed
    )
    assert len(set(batches.ravel().tolist())) > STEPS


@pytest.mark.parametrize("seed", range(4))
def test_of_the_fast_path_too(seed):
    plan = shaped_plan(np.random.default_rng(seed))
    assert_as_the_twin(FastEngine, plan, make_network(workers=WORKERS), seed)


@pytest.mark.parametrize(("gap", "staleness"), [(None, None), (0, 0), (2, 2)])
def test_coordinators_of_staleness_are_those_of_the_engine(gap, staleness):
    rng = np.random.default_rng(7)
    plan, network = random_plan(rng), random_network(rng, workers=WORKERS)
    coordinator = Asynchronous() if gap is None else StaleSynchronous(gap)
    given = draws(plan, 7)
    rows, _ = run_engine(Engine(plan, network, FIFO, given, CONTROL), given, coordinator)
    twin = simulate(plan, network, FIFO, draws(plan, 7), staleness)
    np.testing.assert_allclose(rows, rows_of(twin.steps), rtol=1e-9)


def test_batches_in_proportion_end_together():
    """A free network: workers that differ by a factor of four end their steps at one time."""
    plan = chain_plan(down_bytes=[1], worker_ns=1_000_000, up_bytes=[1], update_ns=0)
    given = same_draws(2, 4, factor=[1.0, 4.0])
    batching = Batching(batches=(50, 50), curves=(proportional(1.0, 100),) * 2)
    engine = Engine(plan, make_network(workers=2), FIFO, given, CONTROL)
    run = CoordinatedRun(engine, given, LoadBalanced(2, lambda _: Memoryless()), batching, idle)
    run.run()
    assert run.batches.tolist() == [[50, 80, 80, 80], [50, 20, 20, 20]]
    ends = engine.steps().end_ns.reshape(4, 2)
    np.testing.assert_allclose(np.diff(ends[1:], axis=1), 0, atol=10)
