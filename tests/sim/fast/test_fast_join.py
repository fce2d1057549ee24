"""Gradients of all workers joined by step on the fast path, against the generic engine."""

from dataclasses import replace

import numpy as np
import pytest

from netcosim.training.synchronisation import Join
from sim.engine.control import Control
from sim.engine.engine import Engine
from sim.fast.engine import FastEngine
from sim.fast.shape import fast_shape
from sim.fast.step_roles import NotOfThisShapeError
from sim.plan import Sending
from tests.sim.fast.shaped import joined_plan, shaped_plan
from tests.sim.fast.test_fast_path import (
    asked_sendings,
    assert_same,
    network_and_draws,
    sendings,
    sorted_ends,
)
from tests.sim.naive.plans import make_network, make_sending
from tests.sim.naive.random_plans import random_draws, random_join_plan

pytestmark = pytest.mark.oracle


@pytest.mark.parametrize("servers", [1, 3])
@pytest.mark.parametrize("sending", [*sendings(), *asked_sendings()], ids=str)
def test_steps_and_times_are_those_of_the_generic_engine(sending: Sending, servers: int) -> None:
    for seed in range(8):
        rng = np.random.default_rng(seed)
        tensors = int(rng.integers(servers, 12))
        plan = joined_plan(rng, tensors=tensors, servers=servers, cores=1 + seed % 3)
        network, draws = network_and_draws(rng, plan)
        join = Join(by="step", first=len(draws.step) + seed % 2)
        assert_same(plan, network, sending, draws, seed, join)


def test_nobody_begins_before_the_slowest_gradients_were_used() -> None:
    rng = np.random.default_rng(2)
    plan = joined_plan(rng)
    draws = random_draws(rng, plan, workers=3, steps=4)
    draws.factor[1] *= 3.0
    control = Control(join=Join(by="step", first=3))
    job = (plan, make_network(workers=3), make_sending("fifo"), draws)
    engine = FastEngine(*job, control, compiled=False)
    engine.run()
    rows = sorted_ends(engine.steps())
    begins, ends = (rows[:, i].reshape(3, 4) for i in (2, 3))
    assert (begins == begins[0]).all()
    took = plan.duration_ns[:, np.flatnonzero(plan.once)]
    updates = took[draws.step[ends.argmax(axis=0), np.arange(4)]].sum(axis=1)
    np.testing.assert_allclose(begins[0, 1:], ends.max(axis=0)[:-1] + updates[:-1], rtol=1e-9)


def test_compiled_and_in_pieces_it_is_what_the_text_says() -> None:
    rng = np.random.default_rng(7)
    plan = joined_plan(rng, tensors=9, servers=2, cores=2)
    network, sending = make_network(servers=2, workers=4), make_sending("fifo")
    draws = random_draws(rng, plan, workers=4, steps=7)
    control = Control(join=Join(by="step", first=4))
    compiled, pieces = (
        FastEngine(plan, network, sending, draws, control, compiled=how) for how in (True, False)
    )
    compiled.run()
    for until in np.linspace(0, compiled.now_ns, 41):
        pieces.run(float(until))
    pieces.run()
    np.testing.assert_array_equal(sorted_ends(compiled.steps()), sorted_ends(pieces.steps()))
    np.testing.assert_array_equal(compiled.spent_ns, pieces.spent_ns)


@pytest.mark.parametrize("join", [Join(by="step", first=2), Join(by="tensor", first=3)])
def test_other_joins_are_left_to_the_generic_engine(join: Join) -> None:
    rng = np.random.default_rng(1)
    plan = joined_plan(rng)
    job = (plan, make_network(workers=3), make_sending("fifo"), random_draws(rng, plan, workers=3))
    with pytest.raises(NotOfThisShapeError, match="not all gradients"):
        FastEngine(*job, Control(join=join), compiled=False)
    Engine(*job, Control(join=join), compiled=False).run()


def test_a_join_needs_updates_to_join() -> None:
    rng = np.random.default_rng(1)
    for plan, join in ((shaped_plan(rng), Join(by="step", first=1)), (joined_plan(rng), None)):
        job = (plan, make_network(), make_sending("fifo"), random_draws(rng, plan))
        with pytest.raises(ValueError, match="once for all"):
            FastEngine(*job, Control(join=join), compiled=False)


def test_other_joined_shapes_are_refused_with_the_reason() -> None:
    rng = np.random.default_rng(3)
    fifo = make_sending("fifo")
    rotated = random_join_plan(rng, rotated=True, servers=1)
    with pytest.raises(NotOfThisShapeError, match="goes on behind joined updates"):
        fast_shape(rotated, make_network(), fifo)
    plan = joined_plan(rng)
    assert plan.pulled_after is not None
    unpulled = replace(plan, pulled_after=np.full_like(plan.pulled_after, -1))
    with pytest.raises(NotOfThisShapeError, match="nothing is pulled"):
        fast_shape(unpulled, make_network(), fifo)
