"""Joined gradients and shared processors: the engine against the naive twin."""

from dataclasses import replace

import numpy as np
import pytest

from h2model import disciplines
from netcosim.training.plan import Draws, StepPlan
from netcosim.training.synchronisation import Join
from sim.engine.control import Control
from sim.engine.engine import Engine
from sim.plan import Network, Sending
from tests.sim.engine.test_engine_twin import assert_equal_bits, assert_same
from tests.sim.engine.test_engine_twin import engine_of as plain_engine
from tests.sim.naive.random_plans import (
    random_draws,
    random_join_plan,
    random_network,
    random_plan,
    random_sending,
)
from tests.sim.naive.twin import simulate

Job = tuple[StepPlan, Network, Sending, Draws, Join]


def random_join(seed: int, *, share: str, ties: bool = False, rotated: bool | None = None) -> Job:
    rng = np.random.default_rng(seed)
    servers = 2 if share == "two_servers" else int(rng.integers(1, 4))
    workers = int(rng.integers(1, 6))
    plan = random_join_plan(
        rng,
        tensors=int(rng.integers(1, 6)),
        servers=servers,
        ties=ties,
        rotated=bool(rng.integers(0, 2)) if rotated is None else rotated,
        cores=[None, 1, 2][int(rng.integers(0, 3))],
    )
    by = "step" if rng.random() < 0.5 else "tensor"
    draws = random_draws(rng, plan, workers=workers, steps=5, ties=ties)
    if rng.random() < 0.5:  # one is so late that it skips steps
        draws.factor[int(rng.integers(0, workers))] *= 20
    return (
        plan,
        random_network(rng, servers=servers, workers=workers, share=share, ties=ties),
        random_sending(rng, ties=ties),
        draws,
        Join(by=by, first=int(rng.integers(1, workers + 2))),
    )


def engine_of(job: Job, *, compiled: bool = False) -> Engine:
    plan, network, sending, draws, join = job
    control = Control(join=join, keep_operations=True)
    return Engine(plan, network, sending, draws, control, compiled=compiled)


def assert_joined_alike(job: Job) -> None:
    plan, network, sending, draws, join = job
    engine = engine_of(job)
    engine.run()
    twin = simulate(plan, network, sending, draws, None, join=join)
    assert_same(engine, twin)
    steps = engine.steps()
    for worker, step, weight in zip(steps.worker, steps.step, steps.weight, strict=True):
        assert weight == twin.weights[worker, step]


@pytest.mark.oracle
@pytest.mark.parametrize("share", ["equal", "two_servers", "max_min"])
def test_the_text_agrees_with_the_twin(share: str) -> None:
    for seed in range(60):
        assert_joined_alike(random_join(seed, share=share))


@pytest.mark.oracle
def test_what_happens_at_one_time_happens_in_the_twins_order() -> None:
    for seed in range(150):
        plan, network, *rest = random_join(1000 + seed, share="equal", ties=True)
        assert_joined_alike((plan, replace(network, both_busy=1.0), *rest))


@pytest.mark.oracle
def test_shared_processors_without_a_join_agree_with_the_twin() -> None:
    for seed in range(60):
        rng = np.random.default_rng(seed)
        plan = random_plan(rng, operations=18)
        shared = tuple(
            replace(p, shared=True) if p.node == 1 and rng.random() < 0.7 else p
            for p in plan.processors
        )
        plan = replace(plan, processors=shared)
        network = random_network(rng, workers=4)
        discipline = disciplines.names()[seed % len(disciplines.names())]
        sending = random_sending(rng, discipline=discipline)
        job = (plan, network, sending, random_draws(rng, plan, workers=4), [None, 0, 2][seed % 3])
        engine = plain_engine(job)
        engine.run()
        assert_same(engine, simulate(*job))


@pytest.mark.oracle
def test_compiled_and_interpreted_text_agree_to_the_last_bit() -> None:
    for seed in range(20):
        plan, network, _, draws, join = random_join(seed, share="equal")
        sending = random_sending(np.random.default_rng(seed), discipline="write_cycle")
        job = (plan, network, sending, draws, join)
        assert_equal_bits(*(engine_of(job, compiled=how) for how in (True, False)))
