"""Figures of a run from what its nodes logged."""

import random
from pathlib import Path

import numpy as np
import pytest

from emu.remote.training.roles import DELIVERED, HANDED, REQUESTED, Row
from emu.training.rows import Measured
from netcosim.training.job import TrainingJob
from netcosim.training.job_file import load_job

KEPT = Path(__file__).parents[3] / "bench/results/crosscheck/googlenet-two_visit-bsp-0.5-w1_4/run"
WARMUP = 2


@pytest.fixture(scope="module")
def job() -> TrainingJob:
    (path,) = (KEPT / "jobs").glob("*.json")
    return load_job(path.read_bytes(), path.name)


def measured(job: TrainingJob, transfers: list[tuple[int, int, int, int, int]]) -> Measured:
    """A run of these: worker, step, operation, handed over, delivered; each step is finished."""
    rows: list[Row] = [
        (REQUESTED, worker, step, 0, step)
        for worker in range(job.workers)
        for step in range(job.steps + 1)
    ]
    rows += [(HANDED, w, step, op, handed) for w, step, op, handed, _ in transfers]
    rows += [(DELIVERED, w, step, op, end) for w, step, op, _, end in reversed(transfers)]
    return Measured.so_far("cell", job, {"w0": rows})


def transfers_of(job: TrainingJob) -> list[int]:
    return np.flatnonzero(job.plan.place < len(job.plan.channels)).tolist()


@pytest.mark.parametrize("seed", range(20))
def test_the_share_of_overtaken_transfers_is_that_of_a_naive_count(job, seed) -> None:
    draw = random.Random(seed)
    operations = draw.sample(transfers_of(job), 12)
    transfers = [
        (worker, step, op, draw.randrange(4), draw.randrange(4, 30))
        for worker in range(2)
        for step in range(1, WARMUP + 2)
        for op in operations
    ]
    transfers.sort(key=lambda each: each[3])  # as a sender tells them
    counted = [each for each in transfers if each[1] >= WARMUP]
    late = sum(
        any(
            (w, step, job.plan.place[op]) == (v, stage, job.plan.place[other]) and sooner < end
            for v, stage, other, _, sooner in counted[place + 1 :]
        )
        for place, (w, step, op, _, end) in enumerate(counted)
    )
    found = measured(job, transfers).overtaken_share(WARMUP)
    assert found == late / len(counted)


def test_in_order_none_is_overtaken_and_without_transfers_nothing_is_known(job) -> None:
    in_order = [(0, WARMUP, op, n, 100 + n) for n, op in enumerate(transfers_of(job))]
    assert measured(job, in_order).overtaken_share(WARMUP) == 0
    assert measured(job, []).overtaken_share(WARMUP) is None
