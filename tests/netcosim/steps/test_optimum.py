"""The best order against all orders, and a step's makespan against the simulator's."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from netcosim.policies.makespan import makespan_ns
from netcosim.policies.optimum import MOST_RECEIVES, best_order
from netcosim.step_graph import pulled_tensors
from sim.engine.engine import Engine
from tests.netcosim.steps.random_steps import step_of, steps
from tests.sim.naive.plans import (
    Op,
    at_worker,
    down,
    make_network,
    make_plan,
    make_sending,
    same_draws,
    up,
)

FIFO = make_sending("fifo")


@pytest.mark.oracle
@given(step=steps(most_pulls=5, most_others=12))
@settings(max_examples=200, deadline=None)
def test_no_order_is_better(step):
    orders = itertools.permutations(pulled_tensors(step))
    best = min(makespan_ns(step, order) for order in orders)
    assert makespan_ns(step, best_order(step)) == pytest.approx(best, rel=1e-9)


@given(step=steps(most_pulls=8, most_others=25, slices=False), seed=st.integers(0, 2**32 - 1))
@settings(max_examples=10, deadline=None)
def test_no_drawn_order_of_many_is_better(step, seed):
    rng, best = np.random.default_rng(seed), makespan_ns(step, best_order(step))
    for _ in range(100):
        drawn = rng.permutation(pulled_tensors(step)).tolist()
        assert makespan_ns(step, drawn) >= best * (1 - 1e-12)


def test_too_many_receives():
    step = step_of(*[("pull", 1, ())] * (MOST_RECEIVES + 1))
    with pytest.raises(ValueError, match=r"^9 tensors are pulled; must be <= 8$"):
        best_order(step)


def simulated_ns(step, order):
    """One worker's first step on the generic engine; a nanosecond a byte, one connection."""

    def place(op):
        kind = step.kind[op]
        if kind == "compute":
            i = step.processor[op]
            return at_worker(capacity=step.capacity[i], resource=str(i))
        return down() if kind == "pull" else up()

    rank = {tensor: i for i, tensor in enumerate(order)}
    sends = {op for op, kind in enumerate(step.kind) if kind == "push"}

    def released(op):
        return -1 if step.kind[op] == "compute" else rank.get(step.tensor[op], len(rank)), op

    # Dependents are handed over in the order of the list: pushes go last, by release.
    listed = [op for op in range(len(step)) if op not in sends] + sorted(sends, key=released)
    plan = make_plan(
        [
            Op(
                name=str(op),
                at=place(op),
                size_bytes=step.size_bytes[op],
                duration_ns=0.0 if step.size_bytes[op] else step.duration_ns[op],
                after=tuple(map(str, step.predecessors[op])),
            )
            for op in listed
        ],
        sources=[[str(op) for op in sorted(listed, key=released) if not step.predecessors[op]]],
    )
    engine = Engine(plan, make_network(), FIFO, same_draws(steps=1), compiled=False)
    engine.run()
    return engine.steps().end_ns[0]


@given(
    step=steps(most_pulls=5, most_others=12, slices=False, most_ns=10**6),
    random=st.randoms(use_true_random=False),
)
@settings(max_examples=60, deadline=None)
def test_makespan_is_the_simulators(step, random):
    order = pulled_tensors(step)
    random.shuffle(order)
    assert makespan_ns(step, order) == pytest.approx(simulated_ns(step, order), rel=1e-9)


def test_makespan_by_hand():
    """Both places are busy from 2 on; the first to be ready waits for the first to be free."""
    step = step_of(
        ("pull", 2, ()),
        ("pull", 1, ()),
        ("compute", 5, (0,)),
        ("compute", 4, (0,)),
        ("compute", 1, (1,)),
        ("push", 3, (4,), 1),
        ("push", 2, (2,), 0),
        capacity=(2,),
    )
    assert makespan_ns(step, [0, 1]) == 12  # 2 + 4 + 1 = 7, and the pushes until 10 and 12
    assert makespan_ns(step, [1, 0]) == 10  # the short one is over by then: 3 + 5 + 2


@pytest.mark.parametrize(
    ("step", "order", "why"),
    [
        (step_of(("pull", 1, ()), ("pull", 1, ())), [1], "tensor 0 is pulled, and not in"),
        (step_of(("compute", 1, ()), ("pull", 1, (0,))), [0], "pull 1 of the step waits"),
    ],
)
def test_what_has_no_makespan(step, order, why):
    with pytest.raises(ValueError, match=why):
        makespan_ns(step, order)
