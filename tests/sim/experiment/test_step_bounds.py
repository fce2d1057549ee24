"""Bounds of steps against their definition, against simulated steps, and worked out by hand."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from netcosim.training.plan import DOWN, UP, WORKER, Draws, StepPlan
from sim.experiment.step_bounds import Bounds, bounds_of, load_of, step_bounds, work_of
from sim.plan import Network
from sim.shares import load_share
from tests.sim.engines import ran
from tests.sim.naive.plans import (
    Op,
    at_server,
    at_worker,
    chain_plan,
    down,
    make_network,
    make_plan,
    same_draws,
    up,
)
from tests.sim.naive.random_plans import random_join_plan, random_plan


def naive_bounds(
    plan: StepPlan, network: Network, worker: int, recorded: int, factor: float, *, updates: bool
) -> tuple[float, float]:
    """U and L of one step, an operation at a time."""
    workers = len(network.worker_bps)
    looks = load_share(network.share).USES_WORKER_PORTS
    total, resources = 0.0, dict[object, float]()
    for op in range(plan.operations):
        place = int(plan.place[op])
        if place < len(plan.channels):
            channel, bits = plan.channels[place], 8e9 * int(plan.size_bytes[op])
            at_server_ns = workers * bits / int(network.server_bps[channel.server])
            own_ns = bits / int(network.worker_bps[worker]) if looks else 0.0
            total += max(at_server_ns, own_ns)
            for port, time_ns in (
                (("server", channel.server, channel.direction), at_server_ns),
                (("worker", channel.direction), own_ns),
            ):
                resources[port] = resources.get(port, 0.0) + time_ns
            continue
        processor = plan.processors[place - len(plan.channels)]
        time_ns = float(plan.duration_ns[recorded, op])
        if processor.node == WORKER:
            time_ns *= factor
        elif plan.once is not None and plan.once[op]:
            time_ns *= updates
        elif processor.shared:
            time_ns *= workers
        total += time_ns
        resources[place] = resources.get(place, 0.0) + time_ns / processor.capacity
    return total, max(resources.values(), default=0.0)


def bounds(
    plan: StepPlan, network: Network, draws: Draws, *, updates: bool = False
) -> tuple[Bounds, np.ndarray, np.ndarray]:
    """Bounds of every step of every worker, with the workers and steps that they are of."""
    worker, step = (each.ravel() for each in np.indices(draws.step.shape))
    work = work_of(load_of(plan), network, updates=updates)
    factor = np.broadcast_to(draws.factor, draws.step.shape)[worker, step]
    return bounds_of(work, worker, draws.step[worker, step], factor), worker, step


@given(
    seed=st.integers(0, 2**32 - 1),
    share=st.sampled_from(["equal", "max_min"]),
    joined=st.booleans(),
    updates=st.booleans(),
)
@settings(max_examples=60, deadline=None)
def test_bounds_are_those_of_the_definition(seed, share, joined, updates):
    rng = np.random.default_rng(seed)
    plan = random_join_plan(rng, cores=2) if joined else random_plan(rng)
    workers, steps = 3, 4
    network = make_network(
        share=share,
        servers=2,
        workers=workers,
        server_bps=rng.integers(10**8, 10**10, 2).tolist(),
        worker_bps=rng.integers(10**8, 10**10, workers).tolist(),
    )
    draws = Draws(
        step=rng.integers(0, plan.steps, (workers, steps)),
        factor=rng.uniform(0.5, 3, (workers, steps if seed % 2 else 1)),
    )
    found, worker, step = bounds(plan, network, draws, updates=updates)
    factor = np.broadcast_to(draws.factor, draws.step.shape)
    for i, (w, t) in enumerate(zip(worker, step, strict=True)):
        upper, lower = naive_bounds(
            plan, network, w, int(draws.step[w, t]), float(factor[w, t]), updates=updates
        )
        assert found.upper_ns[i] == pytest.approx(upper, rel=1e-12)
        assert found.lower_ns[i] == pytest.approx(lower, rel=1e-12)


@given(seed=st.integers(0, 2**32 - 1), share=st.sampled_from(["equal", "max_min"]))
@settings(max_examples=40, deadline=None)
def test_steps_of_one_worker_are_between_their_bounds(seed, share):
    rng = np.random.default_rng(seed)
    plan, network = random_plan(rng), make_network(share=share, servers=2)
    draws = Draws(step=np.arange(3)[np.newaxis], factor=np.array([[float(rng.uniform(0.5, 3))]]))
    steps = ran(plan, draws, network=network).steps()
    found, _, _ = bounds(plan, network, draws)
    took_ns = steps.end_ns - steps.start_ns
    assert (took_ns >= found.lower_ns * (1 - 1e-9)).all()
    assert (took_ns <= found.upper_ns * (1 + 1e-9)).all()


@given(
    down_bytes=st.lists(st.integers(1, 10**4), min_size=1, max_size=4),
    up_bytes=st.lists(st.integers(1, 10**4), min_size=1, max_size=4),
    worker_ns=st.floats(0, 1e4),
    workers=st.integers(1, 4),
)
@settings(max_examples=40, deadline=None)
def test_steps_of_workers_alike_in_rounds_are_between_their_bounds(
    down_bytes, up_bytes, worker_ns, workers
):
    """Each has its part of the link; with the time of a transfer alone U would be too small."""
    plan = chain_plan(down_bytes=down_bytes, up_bytes=up_bytes, worker_ns=worker_ns)
    network, draws = make_network(workers=workers), same_draws(workers, 2)
    steps = ran(plan, draws, network=network, staleness=0).steps()
    found, _, _ = bounds(plan, network, draws)
    took_ns = steps.end_ns - steps.start_ns
    assert (took_ns >= found.lower_ns.min() * (1 - 1e-9)).all()
    assert (took_ns <= found.upper_ns.max() * (1 + 1e-9)).all()
    if workers > 1:
        alone_ns = worker_ns + sum(down_bytes) + sum(up_bytes)
        assert (took_ns > alone_ns * (1 - 1e-9)).any()


def test_figures_by_hand():
    """Two runs, three steps; one of them can't be scheduled."""
    one = Bounds(upper_ns=np.array([10.0, 6.0]), lower_ns=np.array([4.0, 6.0]))
    other = Bounds(upper_ns=np.array([9.0]), lower_ns=np.array([3.0]))
    found = step_bounds([one, other], [np.array([7.0, 6.0]), np.array([9.0])])
    assert found.efficiency == pytest.approx((0.5 + 0.0) / 2)
    assert found.speed_up == pytest.approx((1.5 + 0.0 + 2.0) / 3)
    assert found.upper_ns == pytest.approx(25 / 3)
    assert found.lower_ns == pytest.approx(13 / 3)


def test_without_steps_or_without_choice_there_is_no_efficiency():
    none = np.zeros(0)
    assert step_bounds([Bounds(upper_ns=none, lower_ns=none)], [none]) is None
    alike = Bounds(upper_ns=np.array([5.0]), lower_ns=np.array([5.0]))
    found = step_bounds([alike], [np.array([5.0])])
    assert (found.efficiency, found.speed_up) == (None, 0.0)
    nothing = Bounds(upper_ns=np.array([0.0]), lower_ns=np.array([0.0]))
    found = step_bounds([nothing], [np.array([0.0])])
    assert (found.efficiency, found.speed_up) == (None, None)


def test_processors_with_places_and_processors_that_are_shared():
    cores = at_server(0, 4, "cores", shared=True)
    plan = make_plan(
        [
            Op(name="pull", at=down(), size_bytes=100),
            Op(name="a", at=at_worker(2), duration_ns=700.0, after=("pull",)),
            Op(name="b", at=at_worker(2), duration_ns=500.0, after=("pull",)),
            Op(name="push", at=up(), size_bytes=60, after=("a", "b")),
            Op(name="read", at=cores, duration_ns=900.0, after=("push",)),
        ]
    )
    network = make_network(workers=3)
    found, _, _ = bounds(plan, network, same_draws(workers=3, factor=[1.0, 2.0, 0.1]))
    of_others = 3 * 100 + 3 * 60 + 3 * 900
    assert found.upper_ns.tolist() == pytest.approx(
        [of_others + 1200, of_others + 2400, of_others + 120]
    )
    # Of the worker 600 and 1200; of the server, in each step of all, 675; of the link 300.
    assert found.lower_ns.tolist() == pytest.approx([675, 1200, 675])


def test_a_worker_s_own_port_counts_where_the_share_looks_at_it():
    plan = chain_plan(down_bytes=(100, 200), worker_ns=0.0, up_bytes=(50,), servers=2)
    slow = make_network(share="max_min", servers=2, workers=2, worker_bps=[8 * 10**9, 10**9])
    found, _, _ = bounds(plan, slow, same_draws(workers=2))
    assert found.lower_ns.tolist() == pytest.approx([400, 8 * 300])
    assert found.upper_ns.tolist() == pytest.approx([700 + 200, 8 * 350 + 200])
    alike, _, _ = bounds(plan, replace(slow, share="equal"), same_draws(workers=2))
    assert alike.lower_ns.tolist() == pytest.approx([400, 400])
    assert {channel.direction for channel in plan.channels} == {DOWN, UP}
