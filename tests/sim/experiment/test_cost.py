"""Estimates of a simulation: chunks as the engine makes them, costs that grow with the job."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sim.experiment.cost import Estimate, PointCost, StepWork, chunks_of_step, step_ns, step_s
from tests.sim.engines import ran
from tests.sim.naive.plans import chain_plan, make_network, make_sending

DISCIPLINES = [
    ("fifo", {}, 2**31 - 1),
    ("round_robin", {"quantum": 300}, 2**31 - 1),
    ("processor_sharing", {}, 2**31 - 1),
    ("priority", {}, 400),
    ("write_cycle", {"target": 2000, "target_min": 1000}, 2**31 - 1),
]


@pytest.mark.parametrize(("discipline", "options", "chunk_bytes"), DISCIPLINES)
def test_chunks_are_those_of_an_engine(discipline, options, chunk_bytes):
    plan = chain_plan(down_bytes=(1000, 250, 4000), up_bytes=(4000, 10))
    sending = make_sending(discipline, chunk_bytes=chunk_bytes, **options)
    engine = ran(plan, sending=sending, keep_chunks=True, keep_operations=True)
    assert chunks_of_step(plan, make_network(), sending) == len(engine.chunks().worker)


def test_of_many_chunks_the_rest_is_reckoned():
    plan = chain_plan(down_bytes=(10**6,), up_bytes=(1,))
    sending = make_sending("round_robin", quantum=100)
    assert chunks_of_step(plan, make_network(), sending) == pytest.approx(10_001)


@pytest.mark.parametrize("workers", [1, 3])
def test_a_step_is_no_shorter_than_its_estimate_of_the_busiest_port(workers):
    plan = chain_plan(down_bytes=(1000, 9000), worker_ns=500.0, up_bytes=(4000,))
    engine = ran(plan, workers=workers, steps=4)
    expected_ns = step_ns(plan, make_network(workers=workers))
    assert expected_ns / 2 <= engine.now_ns / 4 <= 2 * expected_ns


works = st.builds(
    StepWork,
    operations=st.integers(1, 10**5),
    pushes=st.integers(1, 10**4),
    chunks=st.floats(1, 10**6),
    connections=st.integers(2, 2000),
    fast=st.booleans(),
    how=st.sampled_from(["gathered", "asked", "direct"]),
    clocked=st.booleans(),
)


@given(works, st.integers(1, 60_000), st.integers(1, 5000))
def test_a_step_among_more_workers_costs_no_less(work, workers, more):
    assert 0 < step_s(work, workers) <= step_s(work, workers + more) < math.inf


def cost(*run_s: float, runs: int = 5, processors: int = 2) -> Estimate:
    points = tuple(
        PointCost(cell="c", workers=i + 1, runs=runs, run_s=s, fast=True)
        for i, s in enumerate(run_s)
    )
    return Estimate(points=points, other_s=1.0, processors=processors, memory_bytes=1, disk_bytes=1)


def test_runs_side_by_side():
    assert cost(2.0, 4.0).runs_s == 3 * 2.0 + 3 * 4.0
    assert cost(2.0, processors=8).elapsed_s == 1.0 + 2.0
    assert cost(2.0, 4.0).each_run_s() == {("c", "", 1): 6.0 / 5, ("c", "", 2): 12.0 / 5}
