"""Speed processes: what they draw, and the kind of straggler that follows one."""

from importlib import import_module

import numpy as np
import pytest

from netcosim.errors import ScenarioError
from netcosim.scenario import StragglerSpec
from netcosim.training.stragglers import conditions
from netcosim.training.stragglers.kinds.process import process_names

ANNOUNCED = ("announced", "wandering", "daily", "bursts")


def series(name: str, rows: int = 4000, seed: int = 1):
    draw = import_module(f"netcosim.training.speed_processes.{name}").draw
    return draw(rows, np.random.default_rng(seed))


@pytest.mark.parametrize("name", process_names())
def test_speeds_are_above_zero_and_use_is_a_part(name):
    found = series(name)
    assert found.speed.min() > 0
    assert found.speed.max() <= 1.3
    assert np.ptp(found.speed) > 0.3
    for use in (found.processor, found.memory):
        assert 0 <= use.min() <= use.max() <= 1
    again = series(name)
    assert np.array_equal(found.speed, again.speed)
    assert not np.array_equal(found.speed, series(name, seed=2).speed)


def test_there_are_five_and_use_shows_nothing_of_one_of_them():
    assert len(process_names()) == 5
    for name in process_names():
        found = series(name)
        shown = max(
            abs(np.corrcoef(found.speed, use)[0, 1]) for use in (found.processor, found.memory)
        )
        assert (shown > 0.8) == (name in ANNOUNCED), (name, shown)


def of(name: str, horizon_ns: float, workers: int = 2):
    spec = StragglerSpec(kind="process", workers="all", options={"name": name})
    ports = np.full(workers, 10**9, dtype=np.int64)
    return conditions(
        [spec],
        10,
        ports,
        np.zeros(workers, dtype=np.int64),
        np.random.SeedSequence(3),
        horizon_ns=horizon_ns,
    )


def test_a_later_horizon_and_more_workers_leave_what_was_drawn():
    short, long = of("announced", 1e9), of("announced", 9e12, workers=3)
    for worker in range(2):
        one, two = short.speeds[worker], long.speeds[worker]
        assert one is not None
        assert two is not None
        rows = len(one.time_ns) - 1
        assert np.allclose(one.work_ns[:rows], two.work_ns[:rows])
    assert short.drawn_until_ns >= 1e9
    assert long.drawn_until_ns >= 9e12


def test_an_unknown_process_is_refused_by_name():
    with pytest.raises(ScenarioError, match=r"announced, bursts, daily, hidden, wandering"):
        of("nothing", 1e9)
