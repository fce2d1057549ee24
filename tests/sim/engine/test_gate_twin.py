"""Gates before connections: the engine against the naive twin."""

from dataclasses import replace

import numpy as np
import pytest

from netcosim.policies import schedule_names
from netcosim.training.plan import Draws, StepPlan
from sim.engine.control import Control
from sim.engine.engine import Engine
from sim.plan import Network, Sending
from tests.sim.engine.test_engine_twin import assert_equal_bits, assert_same
from tests.sim.engines import make_engine
from tests.sim.naive.random_plans import (
    random_draws,
    random_gated_plan,
    random_network,
    random_schedule,
    random_sending,
)
from tests.sim.naive.twin import simulate

Job = tuple[StepPlan, Network, Sending, Draws]


def random_job(seed: int, *, schedule: str, share: str, ties: bool = False) -> Job:
    rng = np.random.default_rng(seed)
    servers = 2 if share == "two_servers" else int(rng.integers(1, 4))
    workers = int(rng.integers(1, 5))
    plan = random_gated_plan(rng, tensors=int(rng.integers(1, 9)), servers=servers, ties=ties)
    return (
        plan,
        random_network(rng, servers=servers, workers=workers, share=share, ties=ties),
        random_schedule(rng, random_sending(rng, ties=ties), schedule),
        random_draws(rng, plan, workers=workers, steps=4, ties=ties),
    )


def assert_gated_alike(job: Job, staleness: int | None) -> None:
    engine = Engine(*job, Control(staleness=staleness, keep_operations=True), compiled=False)
    engine.run()
    assert len(engine.steps().worker) == job[3].step.size
    assert_same(engine, simulate(*job, staleness))


@pytest.mark.oracle
@pytest.mark.parametrize("share", ["equal", "two_servers", "max_min"])
@pytest.mark.parametrize("schedule", schedule_names())
def test_the_text_agrees_with_the_twin(schedule: str, share: str) -> None:
    for seed in range(18):
        job = random_job(seed, schedule=schedule, share=share)
        assert_gated_alike(job, [None, 0, 1][seed % 3])


@pytest.mark.oracle
@pytest.mark.parametrize("schedule", schedule_names())
def test_what_happens_at_one_time_happens_in_the_twins_order(schedule: str) -> None:
    for seed in range(40):
        plan, network, *rest = random_job(500 + seed, schedule=schedule, share="equal", ties=True)
        assert_gated_alike((plan, replace(network, both_busy=1.0), *rest), None)


@pytest.mark.oracle
def test_compiled_and_interpreted_text_agree_to_the_last_bit() -> None:
    for seed in range(20):
        job = random_job(seed, schedule="prophet", share="equal")
        sending = replace(job[2], discipline="fifo", options=())
        control = Control(keep_operations=True)
        assert_equal_bits(
            *(Engine(*job[:2], sending, job[3], control, compiled=how) for how in (True, False))
        )


@pytest.mark.parametrize("seed", range(12))
def test_a_worker_that_leaves_and_comes_back_finds_its_gates_empty(seed):
    """All that it had handed over is lost, and its next step goes through as any other."""
    schedule = schedule_names()[seed % len(schedule_names())]
    plan, network, sending, draws = random_job(seed, schedule=schedule, share="equal")
    engine = make_engine(plan, draws, network=network, sending=sending)
    engine.run(float(np.random.default_rng(seed).uniform(0, 300_000)))
    engine.leave(0)
    engine.join(0)
    engine.run()
    steps = engine.steps()
    for worker in range(draws.step.shape[0]):
        assert sorted(steps.step[steps.worker == worker]) == list(range(draws.step.shape[1]))
