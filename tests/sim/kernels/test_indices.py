"""Kernels never count an array from its end: compiled, they do not look whether they do."""

from typing import Any

import numpy as np
import pytest

from h2model import disciplines
from sim.fast.engine import FastEngine
from tests.sim.engine.test_engine_twin import engine_of, random_job
from tests.sim.engine.test_join_twin import engine_of as engine_of_join
from tests.sim.engine.test_join_twin import random_join
from tests.sim.fast.shaped import shaped_plan
from tests.sim.naive.plans import make_network, make_sending
from tests.sim.naive.random_plans import random_draws


class Watched(np.ndarray[Any, Any]):
    """An array that refuses negative indices; its rows do, too."""

    def __getitem__(self, index: Any) -> Any:
        refuse_negative(index)
        return super().__getitem__(index)

    def __setitem__(self, index: Any, value: Any) -> None:
        refuse_negative(index)
        super().__setitem__(index, value)


def refuse_negative(index: Any) -> None:
    for i in index if isinstance(index, tuple) else (index,):
        if isinstance(i, int | np.integer) and i < 0:
            raise IndexError(f"index {i} counts from the end")


def watched(arrays: Any) -> Any:
    """The same named tuple with its arrays watched."""
    return type(arrays)(
        *(a.view(Watched) if isinstance(a, np.ndarray) else watched(a) for a in arrays)
    )


def test_a_watched_array_refuses() -> None:
    array = np.zeros((2, 2)).view(Watched)
    with pytest.raises(IndexError):
        array[-1, 0] = 1.0
    with pytest.raises(IndexError):
        array[0][np.int64(-1)]


@pytest.mark.oracle
@pytest.mark.parametrize("share", ["equal", "two_servers", "max_min"])
@pytest.mark.parametrize("discipline", disciplines.names())
def test_the_generic_engine_counts_from_the_first(discipline: str, share: str) -> None:
    for seed in range(4):
        job = random_job(seed, discipline, share)
        engine = engine_of(job)
        for name in ("_step", "_net", "_run"):
            setattr(engine, name, watched(getattr(engine, name)))
        engine.run()
        assert len(engine.steps().worker) == job[3].step.size


@pytest.mark.oracle
def test_joins_and_shared_processors_count_from_the_first() -> None:
    for seed in range(30):
        engine = engine_of_join(random_join(seed, share="equal"))
        for name in ("_step", "_net", "_run"):
            setattr(engine, name, watched(getattr(engine, name)))
        engine.run()
        assert len(engine.steps().worker) > 0


@pytest.mark.parametrize("servers", [1, 3])
@pytest.mark.parametrize("discipline", ["fifo", "two_visit"])
def test_the_fast_path_counts_from_the_first(discipline: str, servers: int) -> None:
    for seed in range(4):
        rng = np.random.default_rng(seed)
        plan = shaped_plan(rng, tensors=8, servers=servers)
        draws = random_draws(rng, plan, workers=4, steps=5)
        job = (make_network(servers=servers, workers=4), make_sending(discipline), draws)
        engine = FastEngine(plan, *job, compiled=False)
        for name in ("_shape", "_net", "_run"):
            setattr(engine, name, watched(getattr(engine, name)))
        engine.run()
        assert len(engine.steps().worker) == draws.step.size
