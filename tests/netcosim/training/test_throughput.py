"""Throughput of runs, against counting what entered updates by hand."""

from dataclasses import replace

import numpy as np
import pytest

from netcosim.training.job import TrainingJob
from netcosim.training.synchronisation import Join
from netcosim.training.throughput import ends_of_updates, steps_per_s
from tests.sim.naive.plans import (
    Op,
    at_server,
    at_worker,
    down,
    make_plan,
    same_draws,
    up,
)


def job(first: int) -> TrainingJob:
    ops = [
        Op(name="pull", at=down(), size_bytes=1_000),
        Op(name="compute", at=at_worker(), duration_ns=10_000, after=("pull",)),
        Op(name="push", at=up(), size_bytes=1_000, after=("compute",)),
        Op(name="one", at=at_server(shared=True), duration_ns=5_000, after=("push",)),
        Op(name="two", at=at_server(shared=True), duration_ns=5_000, after=("push",)),
    ]
    return TrainingJob(
        plan=make_plan(ops, once={"one": ["pull"], "two": ["pull"]}),
        draws=same_draws(workers=3, steps=4, factor=[1.0, 1.0, 1.0]),
        staleness=None,
        join=Join(by="step", first=first),
        speeds=(None,) * 3,
    )


def test_each_worker_s_steps_count_where_all_do() -> None:
    ends_ns = np.array([[0, 1, 2, 3, 4], [0, 2, 4, 6, 8], [0, 1, 2, 4, 9]], dtype=float) * 1e9
    by_hand = 3 / (4 - 1) + 3 / (8 - 2) + 3 / (9 - 1)
    assert steps_per_s(job(3), ends_ns, 1) == pytest.approx(by_hand)
    alone = replace(job(3), join=None)
    assert steps_per_s(alone, ends_ns, 1) == pytest.approx(by_hand)


def test_an_update_is_as_many_steps_as_it_counts() -> None:
    some = job(2)
    operation = {name: op for op, name in enumerate(some.plan.names)}
    one, two = operation["one"], operation["two"]
    made = [(0, one, 1.0), (0, two, 2.0), (1, two, 3.0), (1, one, 5.0), (2, one, 6.0)]
    step, ops, ends = (np.array(values) for values in zip(*made, strict=True))
    ends_ns = ends_of_updates(some, step, ops, ends)
    # The last update of a step is its end; the third step has one that was not made.
    assert ends_ns.tolist() == [pytest.approx([0, 2, 5, np.nan, np.nan], nan_ok=True)]
    ends_ns[0, 3:] = 8.0, 12.0
    assert steps_per_s(some, ends_ns * 1e9, 1) == pytest.approx(2 * 3 / (12 - 2))


def test_a_step_counts_by_its_batch() -> None:
    ends_ns = np.array([[0, 1, 2, 3, 4], [0, 2, 4, 6, 8], [0, 1, 2, 4, 9]], dtype=float) * 1e9
    parts = np.array([[9, 1, 1, 2], [9, 0.5, 0.5, 1], [9, 1, 1.5, 0.5]])
    by_hand = 2 / (3 - 1) + 1 / (6 - 2) + 2.5 / (4 - 1)
    assert steps_per_s(job(3), ends_ns, 1, parts) == pytest.approx(by_hand)
