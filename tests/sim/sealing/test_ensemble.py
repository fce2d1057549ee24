"""Ensembles: what is varied, and by how much."""

from dataclasses import dataclass, field, replace

import numpy as np
import pytest

from netcosim.training.job import TrainingJob
from netcosim.training.plan import Draws, Gate, StepPlan
from sim.plan import Network
from sim.sealing.ensemble import RUNS, Ensemble, perturbed_runs
from tests.sim.engines import make_job
from tests.sim.naive.plans import Op, make_network, make_plan, up

WORKERS = 3
FRAME_NS = 1448 * WORKERS
"""Of every worker, at a byte a nanosecond."""


@dataclass(frozen=True)
class Made:
    """A run that is given."""

    examples_per_s: float
    lengths_ns: np.ndarray = field(default_factory=lambda: np.array([1e6]))


def plan(gates: int) -> StepPlan:
    pushes = [Op(name=f"push{i}", at=up(), size_bytes=100) for i in range(max(1, gates))]
    found = make_plan(pushes)
    held = tuple(range(gates))
    gate = Gate(
        channel=0, operations=held, ended_by=held, size_bytes=(100,) * gates, generated_ns=held
    )
    return replace(found, gates=(gate,)) if gates else found


def job(gates: int) -> TrainingJob:
    step = np.zeros((WORKERS, 500), dtype=np.int32)
    return make_job(plan(gates), Draws(step=step, factor=np.full((WORKERS, 1), 2.0)))


@pytest.mark.parametrize(("gates", "messages"), [(0, 1), (40, 40)])
def test_paths_are_longer_by_a_frame_of_every_worker_over_a_step(gates: int, messages: int) -> None:
    seen: list[np.ndarray] = []
    network = replace(make_network(workers=WORKERS), delay_ns=np.full(WORKERS, 1_000))

    def run_of(perturbed: TrainingJob, found: Network) -> Made:
        factor = perturbed.draws.factor
        assert factor.mean() == pytest.approx(2.0, abs=2e-3)
        assert factor.std() == pytest.approx(2e-3, rel=0.1)
        seen.append(found.delay_ns - 1_000)
        return Made(1.0 + len(seen) % 2)

    spread = perturbed_runs(job(gates), network, 7, run_of).spread
    more = np.array(seen)
    assert more.shape == (RUNS, WORKERS)
    assert more.min() >= 0
    assert 0.9 * FRAME_NS / messages < more.max() <= FRAME_NS / messages + 1
    assert spread.low < 1.0 < 2.0 < spread.high
    assert spread.bimodal


def test_ranges_hold_95_of_100_further_runs() -> None:
    rng = np.random.default_rng(5)
    held, tried = 0, 0
    for _ in range(100):
        found = Ensemble.of([drawn(rng) for _ in range(RUNS)]).spread
        for other in [drawn(rng) for _ in range(20)]:
            median_ns, p95_ns = np.quantile(other.lengths_ns, (0.5, 0.95))
            held += found.low <= other.examples_per_s <= found.high
            held += found.step_median_ns.low <= median_ns <= found.step_median_ns.high
            held += found.step_p95_ns.low <= p95_ns <= found.step_p95_ns.high
            tried += 3
    assert 0.93 < held / tried < 0.97  # 6000, of 100 ranges each: sd below 0.006


def drawn(rng: np.random.Generator) -> Made:
    lengths_ns = 1e6 * rng.lognormal(0.0, 0.05, 80)
    return Made(1e9 / lengths_ns.mean(), lengths_ns)


def test_steps_are_those_of_all_runs() -> None:
    """Half of the runs have their steps at 1 ms, half at 3 ms."""
    runs = [Made(1000.0, np.full(9, 1e6)), Made(333.0, np.full(9, 3e6))] * 10
    found = Ensemble.of(runs)
    assert found.examples_per_s == pytest.approx(666.5)
    assert sorted(set(found.lengths_ns)) == [1e6, 3e6]
    assert not found.is_steady
    assert found.spread.bimodal
    assert Ensemble.of([Made(1000.0 + i % 2) for i in range(RUNS)]).is_steady
