"""Ensembles: what is varied, and by how much."""

from dataclasses import replace

import numpy as np
import pytest

from netcosim.training.job import TrainingJob
from netcosim.training.plan import Draws, Gate, StepPlan
from sim.plan import Network
from sim.sealing.ensemble import RUNS, spread_of
from tests.sim.naive.plans import Op, make_network, make_plan, up

WORKERS = 3
FRAME_NS = 1448 * WORKERS
"""Of every worker, at a byte a nanosecond."""


def plan(gates: int) -> StepPlan:
    pushes = [Op(name=f"push{i}", at=up(), size_bytes=100) for i in range(max(1, gates))]
    found = make_plan(pushes)
    held = tuple(range(gates))
    gate = Gate(
        channel=0, operations=held, ended_by=held, size_bytes=(100,) * gates, generated_ns=held
    )
    return replace(found, gates=(gate,)) if gates else found


def job(gates: int) -> TrainingJob:
    return TrainingJob(
        plan=plan(gates),
        draws=Draws(
            step=np.zeros((WORKERS, 500), dtype=np.int32), factor=np.full((WORKERS, 1), 2.0)
        ),
        staleness=None,
        join=None,
        speeds=(None,) * WORKERS,
    )


@pytest.mark.parametrize(("gates", "messages"), [(0, 1), (40, 40)])
def test_paths_are_longer_by_a_frame_of_every_worker_over_a_step(gates: int, messages: int) -> None:
    seen: list[np.ndarray] = []
    network = replace(make_network(workers=WORKERS), delay_ns=np.full(WORKERS, 1_000))

    def rate_of(perturbed: TrainingJob, found: Network) -> float:
        factor = perturbed.draws.factor
        assert factor.mean() == pytest.approx(2.0, abs=2e-3)
        assert factor.std() == pytest.approx(2e-3, rel=0.1)
        seen.append(found.delay_ns - 1_000)
        return 1.0 + len(seen) % 2

    spread = spread_of(job(gates), network, 7, rate_of)
    more = np.array(seen)
    assert more.shape == (RUNS, WORKERS)
    assert more.min() >= 0
    assert 0.9 * FRAME_NS / messages < more.max() <= FRAME_NS / messages + 1
    assert spread.low < 1.0 < 2.0 < spread.high
    assert spread.bimodal
