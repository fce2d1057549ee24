"""Fused operations on random DAGs: branches, several processors, capacities."""

import numpy as np
import pytest

from netcosim.training.plan import StepPlan
from netcosim.training.prepare import fuse
from sim.engine.engine import Engine
from tests.sim.fast.test_fast_path import sorted_ends
from tests.sim.naive.plans import Op, at_worker, down, make_network, make_plan, make_sending, up
from tests.sim.naive.random_plans import random_draws


def branching(rng: np.random.Generator) -> StepPlan:
    """Chains of computations at one worker that branch and join, with transfers among them."""
    ops: list[Op] = []
    for i in range(24):
        kind = rng.random()
        others = rng.permutation(i)[:2]
        after = (f"op{i - 1}",) if i and kind < 0.75 else tuple(f"op{j}" for j in others)
        at = at_worker() if rng.random() < 0.8 else down() if rng.random() < 0.5 else up()
        size = 0 if at == at_worker() else int(rng.exponential(20_000)) + 1
        duration = 0.0 if size else list(rng.exponential(10_000, 2))
        ops.append(Op(name=f"op{i}", at=at, size_bytes=size, duration_ns=duration, after=after))
    return make_plan(ops, recorded=2)


@pytest.mark.oracle
def test_no_step_of_any_random_dag_changes() -> None:
    smaller = 0
    for seed in range(80):
        rng = np.random.default_rng(seed)
        plan = branching(rng)
        fewer = fuse(plan)
        smaller += fewer.operations < plan.operations
        draws = random_draws(rng, plan, workers=2, steps=3)
        ends = []
        for one in (plan, fewer):
            engine = Engine(
                one, make_network(workers=2), make_sending("fifo"), draws, compiled=False
            )
            engine.run()
            ends.append(sorted_ends(engine.steps()))
        np.testing.assert_allclose(ends[0], ends[1], rtol=1e-9)
    assert smaller > 20


def compute(name: str, *after: str) -> Op:
    return Op(name=name, at=at_worker(), duration_ns=5.0, after=after)


def test_a_chain_becomes_one_operation() -> None:
    plan = fuse(make_plan([compute("a"), compute("b", "a"), compute("c", "b")]))
    assert plan.names == ("a",)
    assert plan.duration_ns.tolist() == [[15.0]]
    assert plan.members == ((0, 1, 2),)


def test_a_run_that_another_operation_could_interrupt_stays_as_it_is() -> None:
    """First in, first out: x would run between a and b."""
    plan = make_plan([compute("a"), compute("x"), compute("b", "a")])
    assert fuse(plan).names == ("a", "x", "b")


def test_branches_stay_and_what_comes_before_and_after_them_is_fused() -> None:
    ops = [compute("a"), compute("b", "a"), compute("l", "b"), compute("r", "b")]
    ops += [compute("j", "l", "r"), compute("k", "j")]
    assert fuse(make_plan(ops)).names == ("a", "l", "r", "j")
