"""Durations out of what an application saw: exact where they are defined, refused elsewhere."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from netcosim.errors import StorageError
from netcosim.training.plan import StepPlan
from sim.engine.engine import Engine
from sim.sealing.dequeue import Recorded, durations
from tests.sim.engines import ran
from tests.sim.fast.shaped import shaped_operations
from tests.sim.naive.plans import Op, at_worker, down, make_plan, make_sending, same_draws

STEPS = 3


def recorded_of(engine: Engine) -> Recorded:
    """Operations of a simulation as a record has them, in whole nanoseconds."""
    rows = engine.operations()
    return Recorded(
        step=rows.step,
        operation=rows.operation,
        ready_ns=np.round(rows.ready_ns).astype(np.int64),
        end_ns=np.round(rows.end_ns).astype(np.int64),
    )


def simulated(plan: StepPlan, *, in_parts: bool) -> Engine:
    """One worker that does every recorded step once."""
    draws = replace(same_draws(steps=plan.steps), step=np.arange(plan.steps).reshape(1, -1))
    sending = make_sending("round_robin")
    return ran(plan, draws, sending=sending, keep_operations=True, in_parts=in_parts)


@pytest.mark.oracle
@given(seed=st.integers(0, 2**32 - 1), servers=st.integers(1, 2), in_parts=st.booleans())
def test_what_the_simulator_computed_comes_back_within_a_nanosecond(seed, servers, in_parts):
    rng = np.random.default_rng(seed)
    plan = make_plan(
        shaped_operations(rng, tensors=6, servers=servers), servers=servers, recorded=STEPS
    )
    found = durations(plan, recorded_of(simulated(plan, in_parts=in_parts)), "record")
    computed = plan.place >= len(plan.channels)
    np.testing.assert_allclose(found[:, computed], plan.duration_ns[:, computed], atol=1, rtol=0)
    assert not found[:, ~computed].any()


def test_what_waited_for_the_processor_is_left_out():
    """Both are ready at 1000 ns; the second ends at 1700 ns and took 400."""
    plan = two_behind_a_pull()
    found = durations(plan, seen(ready_ns=(0, 1000, 1000), end_ns=(1000, 1300, 1700)), "record")
    assert found.tolist() == [[0.0, 300.0, 400.0]]


def test_an_idle_processor_is_not_computing():
    plan = two_behind_a_pull()
    found = durations(plan, seen(ready_ns=(0, 1000, 1500), end_ns=(1000, 1300, 1700)), "record")
    assert found.tolist() == [[0.0, 300.0, 200.0]]


def two_behind_a_pull(capacity: int = 1) -> StepPlan:
    ops = [
        Op(name="pull", at=down(), size_bytes=1000),
        Op(name="first", at=at_worker(), duration_ns=[1], after=("pull",)),
        Op(name="second", at=at_worker(), duration_ns=[1], after=("pull",)),
    ]
    plan = make_plan(ops)
    (processor,) = plan.processors
    return replace(plan, processors=(replace(processor, capacity=capacity),))


def seen(
    *, ready_ns=(0, 10, 10), end_ns=(10, 20, 30), operation=(0, 1, 2), step=(0, 0, 0)
) -> Recorded:
    step, operation, ready_ns, end_ns = (
        np.array(values, dtype=np.int64) for values in (step, operation, ready_ns, end_ns)
    )
    return Recorded(step=step, operation=operation, ready_ns=ready_ns, end_ns=end_ns)


@pytest.mark.parametrize(
    ("plan", "recorded", "line"),
    [
        (
            two_behind_a_pull(capacity=2),
            seen(),
            "record: a processor of 2 places: how long its computations took is not defined",
        ),
        (two_behind_a_pull(), seen(end_ns=(10, 9, 30)), "record: first: ended before it was ready"),
        (two_behind_a_pull(), seen(operation=(0, 1, 1)), "record: step 0: first: is there 2 times"),
        (two_behind_a_pull(), seen(step=(0, 0, 1)), "record: has 2 steps; must be each of 1 once"),
    ],
)
def test_what_is_not_defined_is_refused(plan, recorded, line):
    with pytest.raises(StorageError, match="^" + line + "$"):
        durations(plan, recorded, "record")


def test_a_record_of_nothing_is_refused():
    nothing = seen(ready_ns=(), end_ns=(), operation=(), step=())
    with pytest.raises(StorageError, match="has 0 steps"):
        durations(two_behind_a_pull(), nothing, "record")
