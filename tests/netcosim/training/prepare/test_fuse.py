"""Fused operations on random DAGs: branches, several processors, capacities."""

from dataclasses import fields
from random import Random
from typing import Any

import hypothesis.strategies as st
import numpy as np
from hypothesis import given, settings

from netcosim.training.plan import StepPlan
from netcosim.training.prepare import fuse
from netcosim.training.prepare.graph import decisive, graph_of
from sim.engine.engine import Engine
from tests.sim.fast.test_fast_path import sorted_ends
from tests.sim.naive import plans
from tests.sim.naive.plans import (
    Op,
    at_server,
    at_worker,
    down,
    make_network,
    make_plan,
    make_sending,
    up,
)
from tests.sim.naive.prepare import fuse as naive_fuse
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


RANDOM = st.randoms(use_true_random=False)


def assert_same_plans(one: StepPlan, twin: StepPlan) -> None:
    for field in fields(StepPlan):
        assert_same(getattr(one, field.name), getattr(twin, field.name), field.name)


def assert_same(one: Any, twin: Any, name: str) -> None:
    if isinstance(twin, np.ndarray):
        assert (one.dtype, one.shape) == (twin.dtype, twin.shape), name
        assert one.flags.c_contiguous, name
        np.testing.assert_array_equal(one, twin, name)
    else:
        assert one == twin, name


def random_dag(random: Random) -> StepPlan:
    """Chains that branch and join, on few or many places, with edges that others imply."""
    places = [at_worker(), at_worker(3, "threads"), at_server(), down(), up()]
    weights = [random.choice([1, 3, 12]), *(random.choice([0, 0, 1, 3]) for _ in places[1:])]
    along, joins = random.random(), random.random()
    ops: list[Op] = []
    for i in range(random.randrange(1, 26)):
        before = {i - 1} if i and random.random() < along else set()
        if i and random.random() < joins:
            before |= {random.randrange(i) for _ in range(random.randrange(5))}
        at = random.choices(places, weights)[0]
        work = [random.random() * 1e6, random.random() * 1e6]
        after = tuple(f"op{j}" for j in sorted(before))
        if at in places[3:]:
            size = random.randrange(1, 10**6)
            ops.append(Op(name=f"op{i}", at=at, size_bytes=size, after=after))
        else:
            ops.append(Op(name=f"op{i}", at=at, duration_ns=work, after=after))
    return plans.make_plan(ops, recorded=2)


@given(random=RANDOM)
@settings(max_examples=200, deadline=None)
def test_fused_operations_are_the_twins(random: Random) -> None:
    plan = random_dag(random)
    assert_same_plans(fuse(plan), naive_fuse.fuse(plan))


@given(random=RANDOM)
@settings(max_examples=100, deadline=None)
def test_decisive_operations_come_before_or_after_all_others(random: Random) -> None:
    plan = random_dag(random)
    graph = graph_of(plan)
    before, behind = naive_fuse.relatives(plan)
    members = [op for op in graph.order if random.random() < 0.5]
    found = decisive(graph, members)
    for op, alone in zip(members, found, strict=True):
        compared = before[op] | behind[op] | 1 << op
        assert alone == all(compared >> other & 1 for other in members)
