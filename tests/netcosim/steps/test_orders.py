"""TIC and TAC against their algorithms with sets, and against the paper's own examples."""

import numpy as np
import pytest
from hypothesis import given

from netcosim.policies import load_order, order_names, order_needs_step, release_order
from netcosim.policies.order.tac import before
from netcosim.policies.order_input import OrderInput
from netcosim.policies.receive_order import Receive
from netcosim.scenario import PolicySpec
from netcosim.step_graph import StepGraph, topological_order
from tests.netcosim.steps import naive_tictac
from tests.netcosim.steps.random_steps import step_of, steps
from tests.snapshots import refusal

BY_STEP = [name for name in order_names() if order_needs_step(name)]


def arranged(name, step, tensors=9):
    told = OrderInput(sizes_bytes=[1] * tensors, step=step)
    found = load_order(name)(told, np.random.default_rng(0))
    assert all(type(i) is int for i in found)
    return found


def with_the_rest(order, tensors=9):
    return order + [t for t in range(tensors) if t not in order]


@given(step=steps())
def test_tic_is_algorithm_2(step):
    assert arranged("tic", step) == with_the_rest(naive_tictac.tic(step))


@given(step=steps())
def test_tac_is_algorithm_3_with_equation_6(step):
    assert arranged("tac", step) == with_the_rest(naive_tictac.tac(step, printed=False))


@given(step=steps())
def test_tac_printed_is_algorithm_3(step):
    assert arranged("tac_printed", step) == with_the_rest(naive_tictac.tac(step, printed=True))


def test_case_1_of_the_paper():
    """What it derives: M_A + max(P_A, M_B) + P_B is less than the other way round."""
    step = step_of(("pull", 3, ()), ("pull", 2, ()), ("compute", 1, (0,)), ("compute", 9, (1,)))
    assert arranged("tac", step, 2) == [1, 0]  # 2 + max(9, 3) + 1 = 12, not 3 + max(1, 2) + 9 = 14
    assert arranged("tac_printed", step, 2) == [0, 1]


@pytest.mark.parametrize("name", ["tac", "tic"])
def test_case_2_of_the_paper(name):
    """Of four receives, D first as listed: A and B, which the first computation needs, lead."""
    d, c, a, b = range(4)
    pulls = [("pull", 1, ())] * 4
    step = step_of(*pulls, ("compute", 5, (a, b)), ("compute", 5, (4, c)), ("compute", 5, (5, d)))
    assert arranged(name, step, 4) == [a, b, c, d]


def test_figure_1_of_the_paper():
    step = step_of(
        ("pull", 4, (), 1), ("pull", 4, (), 0), ("compute", 4, (0,)), ("compute", 4, (1, 2))
    )
    for name in ("tac", "tac_printed"):
        assert arranged(name, step, 2) == ([1, 0] if name == "tac" else [0, 1])


def test_the_comparator_has_cycles():
    """The paper says that it is easy to prove transitive."""
    a = Receive(own=1, load=1, impending=4)
    b = Receive(own=1, load=2, impending=5)
    c = Receive(own=2, load=1, impending=3)
    assert before(a, b)
    assert before(b, c)
    assert before(c, a)


def test_what_is_only_pushed_goes_last_as_listed():
    step = step_of(("pull", 1, (), 3), ("compute", 1, (0,)), ("push", 1, (1,), 1))
    for name in BY_STEP:
        assert arranged(name, step, 4) == [3, 0, 1, 2]


def test_a_burst_is_refused():
    rng = np.random.default_rng(0)
    assert refusal(release_order, PolicySpec(order="tac"), ["a"], [1], rng) == (
        'policy.order: "tac": looks at the step of a training job, which a burst has not;'
        " take as_listed, given, random, reverse, smallest_first"
    )


def test_an_order_by_step_without_one_is_an_error():
    with pytest.raises(ValueError, match="needs a worker's step"):
        arranged("tic", None)


def test_operations_in_a_cycle():
    step = StepGraph(
        kind=("compute", "compute"),
        tensor=(-1, -1),
        size_bytes=(0, 0),
        duration_ns=(1.0, 1.0),
        predecessors=((1,), (0,)),
        processor=(0, 0),
        capacity=(1,),
    )
    with pytest.raises(ValueError, match="wait for each other"):
        topological_order(step)
