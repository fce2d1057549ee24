"""Throughput of a few steps behind a common start: its definition, from scenario to results."""

import math
import tomllib
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sim
from netcosim.errors import ScenarioError
from netcosim.scenario import build_scenario, with_values
from sim.engine.base import Steps
from sim.experiment.as_measured import measured_steps_per_s
from sim.experiment.checks import checked_cells
from sim.experiment.run import conditions_of, draw_steps, make_tracing_engine, simulate
from tests.sim.cli.started import FAST

JOB: dict[str, Any] = tomllib.loads(FAST)


def logged(rows: list[tuple[int, int, float, float]]) -> Steps:
    """Steps from (worker, step from 0, end, weight), by end."""
    rows = sorted(rows, key=lambda row: row[2])
    worker, step, end_ns, weight = (np.array(column) for column in zip(*rows, strict=True))
    return Steps(worker=worker, step=step, start_ns=end_ns - 1.0, end_ns=end_ns, weight=weight)


def by_hand(rows: list[tuple[int, int, float, float]], first: int, last: int) -> float:
    """Of each worker by itself, as one would read it off its log."""
    rates = 0.0
    for worker in {row[0] for row in rows}:
        log = sorted((step + 1, end, weight) for w, step, end, weight in rows if w == worker)
        counted = [weight for number, _, weight in log if first <= number <= last]
        ends = [end for number, end, _ in log if number <= last]
        begins = [end for number, end, _ in log if number < first]
        if sum(counted) > 0:
            rates += sum(counted) / (max(ends) - max(begins, default=0.0))
    return rates * 1e9


@pytest.mark.oracle
@given(st.data())
def test_it_is_the_sum_of_the_rates_that_each_workers_log_gives(data):
    rows = []
    for worker in range(data.draw(st.integers(1, 4))):
        numbers = data.draw(st.sets(st.integers(0, 8), min_size=1))
        gaps = data.draw(st.lists(st.floats(1, 1e6), min_size=9, max_size=9))
        ends = np.cumsum(gaps)
        weights = data.draw(st.lists(st.sampled_from([0.0, 0.5, 1.0]), min_size=9, max_size=9))
        rows += [(worker, n, float(ends[n]), weights[n]) for n in sorted(numbers)]
    first = data.draw(st.integers(1, 9))
    last = data.draw(st.integers(first, 9))
    assert measured_steps_per_s(logged(rows), first, last) == pytest.approx(
        by_hand(rows, first, last)
    )


def test_two_workers_by_hand():
    """Steps 2 and 3: one worker takes 20 ns for both, the other 40 ns."""
    ends = {0: [100.0, 110.0, 120.0, 500.0], 1: [10.0, 30.0, 50.0, 51.0]}
    rows = [(w, s, end, 1.0) for w, each in ends.items() for s, end in enumerate(each)]
    assert measured_steps_per_s(logged(rows), 2, 3) == pytest.approx((2 / 20 + 2 / 40) * 1e9)
    assert measured_steps_per_s(logged(rows), 1, 1) == pytest.approx((1 / 100 + 1 / 10) * 1e9)


def simulated(**changes: object) -> sim.Result:
    return sim.simulate(JOB, {f"training.{name}": value for name, value in changes.items()})


def test_nothing_else_changes():
    (plain,), (found,) = simulated().summary.series, simulated(measured=[3, 12]).summary.series
    assert all(point.as_measured is None for point in plain.points)
    for before, after in zip(plain.points, found.points, strict=True):
        assert after.model_copy(update={"as_measured": None}) == before
        assert (after.as_measured.first, after.as_measured.last) == (3, 12)


@pytest.mark.parametrize("synchronisation", ["asp", "bsp", "join"])
@pytest.mark.parametrize("last", [12, 20])
def test_it_is_what_the_log_of_every_worker_to_its_last_step_gives(synchronisation, last):
    """A run ends with the fastest worker's last step, and has to go on for the slow one's."""
    slow = [{"kind": "slow", "workers": [0], "options": {"factor": 2.0}}]
    changes = {"training.synchronisation": synchronisation, "training.measured": [3, last]}
    scenario = with_values(build_scenario(JOB), {**changes, "straggler": slow})
    (cell,) = checked_cells(scenario)
    whole = make_tracing_engine(
        cell, 0, conditions_of(cell, 2, 0, math.inf), draw_steps(cell, 2, 0, cell.plans(0).steps)
    )
    whole.run()
    steps = whole.steps()
    assert len(steps.step) == 40
    rows = zip(steps.worker, steps.step, steps.end_ns, steps.weight, strict=True)
    expected = by_hand([(int(w), int(s), float(e), float(p)) for w, s, e, p in rows], 3, last)
    assert simulate(cell, 2, 0).as_measured_steps_per_s == pytest.approx(expected, rel=1e-6)


def test_runs_have_a_spread():
    (series,) = simulated(measured=[3, 12]).summary.series
    measured = series.points[-1].as_measured
    first, second = measured.steps_per_s.values
    assert measured.sd_steps_per_s == pytest.approx(abs(first - second) / 2**0.5)
    assert measured.examples_per_s.mean == pytest.approx(measured.steps_per_s.mean * series.batch)


@pytest.mark.parametrize(
    ("measured", "said"),
    [
        ([3, 21], "training: 'measured' ends with step 21, beyond 'steps' (20)"),
        ([0, 3], "training.measured: must be two steps in their order, from 1"),
        ([4, 3], "training.measured: must be two steps in their order, from 1"),
        ([4], "training.measured: must be a first and a last step, such as [3, 12]"),
        ("3-12", "must be a first and a last step, such as [3, 12]"),
    ],
)
def test_what_is_no_span_of_steps_is_refused(measured, said):
    with pytest.raises(ScenarioError) as refused:
        simulated(measured=measured)
    assert said in str(refused.value)


@pytest.mark.parametrize("kind", ["join", "leave"])
def test_workers_that_come_and_go_are_refused(kind):
    there = [{"kind": kind, "workers": [1], "options": {"at": "1s"}}]
    with pytest.raises(ScenarioError, match=r"training\.measured.*a straggler joins or leaves"):
        sim.simulate(
            JOB, {"training.measured": [3, 12], "training.workers": [2], "straggler": there}
        )
