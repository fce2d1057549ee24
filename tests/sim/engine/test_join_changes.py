"""Joined gradients while workers leave, come back and drop steps: nobody waits for ever."""

from collections import Counter

import numpy as np
import pytest

from netcosim.training.synchronisation import Join
from sim.engine.engine import Engine, Stop
from tests.sim.engine.test_join_twin import random_join
from tests.sim.engines import make_engine
from tests.sim.naive.plans import same_draws
from tests.sim.naive.test_join import tensors_plan
from tests.sim.theory.test_joins_and_cores import job


def engine(workers: int, steps: int, by: str, first: int, factor: list[float]) -> Engine:
    draws = same_draws(workers=workers, steps=steps, factor=factor)
    return make_engine(job(worker_ns=10_000.0), draws, join=Join(by=by, first=first))


def ended(found: Engine) -> Counter[int]:
    """How many steps each worker has ended."""
    return Counter(found.steps().worker.tolist())


@pytest.mark.parametrize("by", ["step", "tensor"])
def test_nobody_waits_for_the_gradients_of_one_who_left(by: str) -> None:
    found = engine(3, 5, by, 3, [1.0, 1.0, 50.0])
    assert found.run(100_000.0) == Stop.TIME
    assert ended(found)[0] == 1
    found.leave(2)
    assert found.run() == Stop.IDLE
    assert ended(found) == {0: 5, 1: 5}
    assert set(found.steps().weight.tolist()) == {1.0}


@pytest.mark.parametrize("by", ["step", "tensor"])
def test_who_comes_back_begins_the_newest_step_and_counts_again(by: str) -> None:
    found = engine(3, 12, by, 3, [1.0, 1.0, 1.0])
    found.run(20_000.0)
    found.leave(2)
    found.run(80_000.0)
    before = ended(found)
    assert before[2] < before[0]
    found.join(2)
    assert found.run() == Stop.IDLE
    steps = found.steps()
    assert ended(found)[0] == 12
    late = steps.step[steps.worker == 2]
    assert (np.diff(late) > 0).all()
    assert late[-1] == 11
    assert (np.diff(late) > 1).any()
    assert steps.weight[steps.worker == 2][-1] == 1.0


def test_a_gradient_that_was_counted_is_not_counted_twice() -> None:
    """Worker 0 drops its step when one of its gradients was counted, and sends it once more."""
    plan = tensors_plan(tensors=2, worker_ns=10_000.0)
    draws = same_draws(workers=2, steps=1, factor=[1.0, 9.0])
    found = make_engine(plan, draws, join=Join(by="tensor", first=2), keep_operations=True)
    found.run(13_500.0)  # one of its two pushes has arrived, at 13,000
    found.restart(0)
    found.begin([0])
    assert found.run() == Stop.IDLE
    rows = found.operations()
    names = np.array(plan.names)[rows.operation]
    again = (names == "push0") & (rows.worker == 0)
    assert again.sum() == 2
    (slow,) = rows.end_ns[(names == "push0") & (rows.worker == 1)]
    assert rows.end_ns[again].max() < slow
    (update,) = rows.start_ns[names == "update0"]
    assert update == slow
    assert found.steps().weight.tolist() == [1.0, 1.0]


def test_a_step_whose_gradients_are_joined_is_not_abandoned() -> None:
    plan = tensors_plan(tensors=2, worker_ns=10_000.0)
    found = make_engine(plan, workers=2, join=Join(by="step", first=2))
    with pytest.raises(ValueError, match="restart it"):
        found.abandon(0)


@pytest.mark.oracle
def test_whatever_workers_do_those_who_stay_reach_the_end() -> None:
    for seed in range(60):
        plan, network, sending, draws, join = random_join(seed, share="equal")
        workers, steps = draws.step.shape
        found = make_engine(plan, draws, network=network, sending=sending, join=join)
        rng = np.random.default_rng(seed)
        away: set[int] = set()
        for _ in range(12):
            if found.run(found.now_ns + float(rng.exponential(60_000.0))) == Stop.IDLE:
                break
            worker = int(rng.integers(0, workers))
            what = rng.random()
            if worker in away:
                found.join(worker)
                away.remove(worker)
            elif what < 0.3:
                found.restart(worker)
                found.begin([worker])
            elif len(away) < workers - 1:
                found.leave(worker)
                away.add(worker)
        assert found.run() == Stop.IDLE
        table = found.steps()
        for worker in set(range(workers)) - away:
            assert found._run.done[worker] >= steps
        assert table.step.max() == steps - 1
        assert ((table.weight >= 0) & (table.weight <= 1)).all()
        pairs = list(zip(table.worker.tolist(), table.step.tolist(), strict=True))
        assert len(pairs) == len(set(pairs))
