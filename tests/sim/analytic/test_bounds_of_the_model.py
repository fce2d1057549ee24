"""The bounds hold for the model itself, run by its plain twin."""

from dataclasses import replace

import numpy as np
import pytest

from netcosim.training.plan import SERVER, WORKER, Draws, StepPlan
from sim.analytic import OneWorker, one_worker, predict
from sim.plan import Network
from tests.sim.naive.plans import (
    Op,
    at_server,
    at_worker,
    chain_plan,
    down,
    make_network,
    make_plan,
    make_sending,
    same_draws,
    up,
)
from tests.sim.naive.random_plans import random_network, random_plan, random_sending
from tests.sim.naive.twin import simulate

CLOSE = 1 + 1e-9
RECORDED = 3
SHARES = ("equal", "two_servers", "max_min")


def each_once(rng: np.random.Generator, workers: int) -> Draws:
    """Every worker repeats every recorded step once, so that means are those of the profile."""
    step = np.array([rng.permutation(RECORDED) for _ in range(workers)])
    return Draws(step=step, factor=np.ones(step.shape))


@pytest.mark.parametrize("seed", range(25))
@pytest.mark.parametrize("staleness", [None, 0])
@pytest.mark.parametrize("share", SHARES)
def test_no_job_is_faster_than_perfect_overlap(share, staleness, seed):
    rng = np.random.default_rng(seed)
    workers = int(rng.integers(1, 6))
    plan = random_plan(rng, recorded=RECORDED, ties=seed % 3 == 0)
    network = random_network(rng, workers=workers, share=share, ties=seed % 3 == 0)
    run = simulate(plan, network, random_sending(rng), each_once(rng, workers), staleness)
    steps_per_s = len(run.steps) * 1e9 / run.steps[-1].end_ns
    assert len(run.steps) == RECORDED * workers
    assert steps_per_s <= predict("perfect_overlap", one_worker(plan, network, 1), workers) * CLOSE


@pytest.mark.parametrize("seed", range(25))
@pytest.mark.parametrize("share", SHARES)
def test_one_worker_is_not_slower_than_without_overlap(share, seed):
    rng = np.random.default_rng(seed)
    plan = random_plan(rng, recorded=RECORDED, ties=seed % 3 == 0)
    network = random_network(rng, workers=1, share=share, ties=seed % 3 == 0)
    fastest_bps = network.server_bps.max(keepdims=True)
    network = replace(network, delay_ns=np.zeros(1, dtype=np.int64), worker_bps=fastest_bps)
    run = simulate(plan, network, random_sending(rng), each_once(rng, 1), None)
    steps_per_s = RECORDED * 1e9 / run.steps[-1].end_ns
    assert steps_per_s * CLOSE >= predict("no_overlap", one_after_the_other(plan, network), 1)


def one_after_the_other(plan: StepPlan, network: Network) -> OneWorker:
    """Totals in which processors do nothing at one time: how they overlap hangs on the network."""
    found = one_worker(plan, network, 1)
    work_ns = plan.duration_ns.mean(axis=0)
    of_node = dict.fromkeys((WORKER, SERVER), 0.0)
    for place, ns in zip(plan.place - len(plan.channels), work_ns, strict=True):
        if place >= 0:
            of_node[plan.processors[place].node] += float(ns)
    servers_ns = (of_node[SERVER], *[0.0] * (plan.servers - 1))
    assert found.worker_ns <= of_node[WORKER] * CLOSE
    return replace(found, worker_ns=of_node[WORKER], server_ns=servers_ns)


def test_one_worker_in_a_chain_reaches_the_lower_bound():
    plan = chain_plan()
    run = simulate(plan, make_network(), make_sending(), same_draws(steps=4), None)
    found = 4e9 / run.steps[-1].end_ns
    assert found == pytest.approx(predict("no_overlap", one_worker(plan, make_network(), 1), 1))


def test_independent_operations_reach_the_upper_bound():
    plan = make_plan(
        [
            Op(name="pull", at=down(), size_bytes=700),
            Op(name="push", at=up(), size_bytes=900),
            *(Op(name=f"w{i}", at=at_worker(2), duration_ns=1000.0) for i in range(4)),
            Op(name="update", at=at_server(), duration_ns=300.0),
        ]
    )
    network = make_network(workers=2)
    run = simulate(plan, network, make_sending(), same_draws(2, 4), None)
    found = 8e9 / run.steps[-1].end_ns
    assert found == pytest.approx(predict("perfect_overlap", one_worker(plan, network, 1), 2))


def test_identical_steps_stay_in_lockstep_and_below_lin():
    plan = chain_plan(update_ns=0.0)
    network = make_network(workers=3)
    run = simulate(plan, network, make_sending(), same_draws(3, 5), None)
    found = 15e9 / run.steps[-1].end_ns
    assert found == pytest.approx(3e9 / (3 * 2000 + 500))
    assert found < predict("lin", one_worker(plan, network, 1), 3)
