"""The C++ twin against the fast path: every step ends at the same time, to the last bit."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from bench.peers import fast_twin
from bench.sim.peers import ends_ns
from bench.sim.reference_job import RATES_BPS, Job
from netcosim.errors import EnvironmentRefusedError
from netcosim.training.plan import Draws, StepPlan
from sim.engine.control import Control
from sim.fast.engine import FastEngine
from sim.plan import Network, Sending
from tests.sim.fast.shaped import shaped_plan
from tests.sim.fast.test_fast_path import network_and_draws
from tests.sim.naive.plans import make_network, make_sending
from tests.sim.naive.random_plans import random_draws


@pytest.fixture(scope="module")
def build(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("twin")
    fast_twin.install(folder)
    return folder


def same(
    build: Path,
    dump: Path,
    job: tuple[StepPlan, Network, Sending, Draws],
    staleness: int | None = None,
) -> None:
    fast_twin.write_dump(dump, *job, staleness=staleness)
    run = fast_twin.run(build, dump, ends=True)
    engine = FastEngine(*job, Control(staleness=staleness), compiled=False)
    expected = ends_ns(engine, job[3])
    assert np.isfinite(expected).all()
    assert run.ends_ns is not None
    assert run.steps == expected.size
    np.testing.assert_array_equal(run.ends_ns, expected)


@pytest.mark.soak
@pytest.mark.parametrize("servers", [1, 3])
@pytest.mark.parametrize(
    "sending",
    [
        make_sending("fifo"),
        make_sending("two_visit", window_bytes=30_000),
        make_sending("two_visit", window_bytes=3000),
    ],
    ids=str,
)
def test_random_jobs(build, tmp_path, sending, servers):
    for seed in range(6):
        rng = np.random.default_rng(seed)
        plan = shaped_plan(rng, tensors=int(rng.integers(servers, 12)), servers=servers)
        network, draws = network_and_draws(rng, plan)
        same(build, tmp_path / "d", (plan, network, sending, draws), [None, 0, 1][seed % 3])


def test_recorded_steps_with_orders_of_their_own(build, tmp_path):
    rng = np.random.default_rng(5)
    plan = shaped_plan(rng, tensors=9)
    plan = replace(plan, sources=rng.permuted(plan.sources, axis=1))
    draws = random_draws(rng, plan, workers=3, steps=6)
    same(build, tmp_path / "d", (plan, make_network(workers=3), make_sending("fifo"), draws))


def test_factors_that_differ_from_step_to_step(build, tmp_path):
    rng = np.random.default_rng(6)
    plan = shaped_plan(rng, tensors=9, servers=2)
    draws = random_draws(rng, plan, workers=4, steps=6)
    draws = replace(draws, factor=rng.lognormal(0, 0.5, (4, 6)))
    network = make_network(servers=2, workers=4)
    same(build, tmp_path / "d", (plan, network, make_sending("fifo"), draws))


@pytest.mark.parametrize("staleness", [None, 0])
@pytest.mark.parametrize("rate_bps", RATES_BPS)
@pytest.mark.parametrize(("workers", "steps"), [(1, 10), (4, 1000), (64, 10)])
def test_the_reference_job(build, tmp_path, rate_bps, workers, steps, staleness):
    job = Job(rate_bps=rate_bps, workers=workers, staleness=staleness)
    draws = job.draws(steps)
    job.write_dump(tmp_path / "d", draws)
    run = fast_twin.run(build, tmp_path / "d", ends=True)
    np.testing.assert_array_equal(run.ends_ns, ends_ns(job.fast(draws), draws))


@pytest.mark.parametrize("kept", [0, 7, 100])
def test_a_dump_that_is_cut_is_refused_in_one_line(build, tmp_path, kept):
    job = Job(rate_bps=10**9, workers=1)
    whole, cut = tmp_path / "whole", tmp_path / "cut"
    job.write_dump(whole, job.draws(2))
    cut.write_bytes(whole.read_bytes()[:kept])
    with pytest.raises(EnvironmentRefusedError, match=r"^[^\n]*dump: ends too soon$"):
        fast_twin.run(build, cut)
