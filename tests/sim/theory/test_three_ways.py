"""Long runs of three programs that round differently: equal in distribution.

A last bit grows from step to step where workers contend, so no two programs agree on a long run;
what they say of throughput and of the times of steps must be the same all the same.
"""

import math

import numpy as np
import pytest

from netcosim.training.plan import StepPlan
from sim.engine.engine import Engine
from sim.fast.engine import FastEngine
from sim.plan import Network
from tests.sim.fast.shaped import shaped_plan
from tests.sim.naive.plans import make_network, make_sending
from tests.sim.naive.random_plans import random_draws
from tests.sim.naive.twin import simulate

WORKERS, WARM_UP = 4, 10
SENDING = make_sending("two_visit", window_bytes=20_000)
FAST, GENERIC, TWIN = "fast", "generic", "twin"


def plan() -> StepPlan:
    return shaped_plan(np.random.default_rng(3), tensors=5)


def ends(how: str, seed: int, steps: int, network: Network | None = None) -> np.ndarray:
    """(workers, steps) when each step ended."""
    job = plan()
    draws = random_draws(np.random.default_rng(seed), job, workers=WORKERS, steps=steps)
    rest = (network or make_network(workers=WORKERS), SENDING, draws)
    found = np.full((WORKERS, steps), np.nan)
    if how == TWIN:
        for worker, step, _, end_ns in simulate(job, *rest, None).steps:
            found[worker, step] = end_ns
    else:
        engine = (FastEngine if how == FAST else Engine)(job, *rest)
        engine.run()
        rows = engine.steps()
        found[rows.worker, rows.step] = rows.end_ns
    assert not np.isnan(found).any()
    return found


def throughput(found: np.ndarray) -> float:
    """Steps a second after the warm-up, while all workers are there."""
    begin, end = found[:, WARM_UP - 1].min(), found[:, -1].min()
    return float(((found > begin) & (found <= end)).sum() / (end - begin) * 1e9)


def times(found: np.ndarray) -> np.ndarray:
    """Every fifth step after the warm-up, so that they are almost independent."""
    return np.diff(found, axis=1)[:, WARM_UP::5].ravel()


def smirnov(first: np.ndarray, second: np.ndarray) -> float:
    """Kolmogorov's and Smirnov's distance of two samples, in units of its scale.

    Beyond 1.95 once in a thousand times, if both are of one distribution.
    """
    both = np.sort(np.concatenate([first, second]))
    shares = [np.searchsorted(np.sort(x), both, side="right") / len(x) for x in (first, second)]
    scale = math.sqrt(len(first) * len(second) / (len(first) + len(second)))
    return float(np.abs(shares[0] - shares[1]).max()) * scale


def error(values: np.ndarray) -> float:
    return float(values.std(ddof=1)) / math.sqrt(len(values))


@pytest.mark.oracle
def test_fast_and_generic_part_ways_and_agree_in_the_mean():
    """The same draws, so that what differs is what a last bit grew to."""
    runs = [[ends(how, seed, 1500) for how in (FAST, GENERIC)] for seed in range(80)]
    parted = [np.abs(fast[:, -1] / generic[:, -1] - 1).max() for fast, generic in runs]
    together = [np.abs(fast[:, :5] / generic[:, :5] - 1).max() for fast, generic in runs]
    assert np.median(parted) > 1e-4
    assert max(together) < 1e-9
    fast, generic = (np.array([throughput(run[i]) for run in runs]) for i in (0, 1))
    assert 4 * error(fast - generic) < 0.01 * generic.mean()
    assert abs((fast - generic).mean()) <= 4 * error(fast - generic)


@pytest.fixture(scope="module")
def samples() -> dict[str, list[np.ndarray]]:
    """Runs with draws of their own each: nothing but the distribution can be the same."""
    counts = {FAST: (1000, 60), GENERIC: (2000, 60), TWIN: (3000, 12)}
    return {
        how: [ends(how, first + k, 60) for k in range(count)]
        for how, (first, count) in counts.items()
    }


@pytest.mark.oracle
@pytest.mark.parametrize(("one", "other"), [(FAST, GENERIC), (FAST, TWIN), (GENERIC, TWIN)])
def test_each_two_agree_with_draws_of_their_own(samples, one, other):
    rates = [np.array([throughput(run) for run in samples[how]]) for how in (one, other)]
    allowed = 4 * math.hypot(*(error(r) for r in rates))
    assert allowed < (0.08 if TWIN in (one, other) else 0.05) * rates[0].mean()
    assert abs(rates[0].mean() - rates[1].mean()) <= allowed
    took = [np.concatenate([times(run) for run in samples[how]]) for how in (one, other)]
    assert smirnov(took[0], took[1]) < 1.95


def test_a_link_a_tenth_slower_would_be_seen(samples):
    """Differences that the tests above can tell."""
    slower = make_network(workers=WORKERS, server_bps=7_200_000_000)
    runs = [ends(FAST, 4000 + k, 60, slower) for k in range(12)]
    took = [np.concatenate([times(run) for run in part]) for part in (runs, samples[GENERIC])]
    assert smirnov(took[0], took[1]) > 1.95
    rates = [np.array([throughput(run) for run in part]) for part in (runs, samples[GENERIC])]
    difference = abs(rates[0].mean() - rates[1].mean())
    assert difference > 4 * math.hypot(*(error(r) for r in rates))
