"""Schedules of gradients from a scenario to its figures."""

import tomllib
from itertools import pairwise
from typing import Any

import pytest

import sim
from netcosim.errors import ScenarioError
from netcosim.policies import schedule_names
from tests.sim.cli.started import FAST

JOB: dict[str, Any] = tomllib.loads(FAST)
SCHEDULED = {
    "training.workers": [1],
    "training.synchronisation": "join",
    "training.join": "tensor",
    "training.overlap": True,
}


def series_of(changes: dict[str, object]) -> Any:
    return sim.simulate(JOB, {**SCHEDULED, **changes}).summary.series[0]


def rate(changes: dict[str, object]) -> float:
    mean: float = series_of(changes).points[-1].examples_per_s.mean
    return mean


def test_fifo_without_cost_is_as_good_as_no_gate() -> None:
    """Where the connection's own discipline is first in, first out."""
    assert rate({"policy.schedule": "fifo"}) == pytest.approx(rate({}), rel=1e-9)


def test_a_cost_for_each_message_is_what_slices_pay() -> None:
    """On a slow link; nobody is faster for a cost, and small slices lose most."""
    slow = {"cluster.link.rate": "1gbit", "training.sent_messages": {"message": "20ms"}}
    small = {"policy.schedule": "p3", "policy.schedule_options": {"partition_bytes": 500_000}}
    large = {"policy.schedule": "p3", "policy.schedule_options": {"partition_bytes": 20_000_000}}
    assert rate({**slow, **small}) < 0.9 * rate({**slow, **large})


def test_results_say_which_schedule_it_was() -> None:
    options = {"policy.schedule_options": {"credit_bytes": 5_000_000}}
    found = series_of({"policy.schedule": "bytescheduler", **options})
    assert found.schedule == "bytescheduler (credit_bytes 5000000)"
    assert series_of({}).schedule is None


@pytest.mark.parametrize("schedule", schedule_names())
def test_a_trace_has_every_slice_behind_its_gradient(schedule: str) -> None:
    changes = {**SCHEDULED, "policy.schedule": schedule, "training.workers": [2]}
    rows = sim.simulate(JOB, changes, trace=[2]).operations.to_pylist()
    pushes = [row for row in rows if row["place"] == "server 0 up" and row["worker"] == 0]
    ready = {(r["step"], r["operation"].partition("#")[0]): r["ready_ns"] for r in pushes}
    assert len(ready) > 10
    for row in pushes:
        assert row["ready_ns"] == ready[row["step"], row["operation"].partition("#")[0]]
        assert row["start_ns"] >= row["ready_ns"]
    if schedule == "p3":
        ordered = sorted(pushes, key=lambda row: row["start_ns"])
        for before, after in pairwise(ordered):
            assert before["end_ns"] <= after["start_ns"]


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"policy.schedule": "p4"}, "policy.schedule"),
        ({"policy.schedule_options": {"credit_bytes": 1}}, "has no effect without policy.schedule"),
        ({"training.sent_messages": {"message": "1ms"}}, "has no effect without policy.schedule"),
        (
            {"policy.schedule": "p3", "policy.schedule_options": {"credit_bytes": 1}},
            "p3 has no such option",
        ),
        (
            {
                "policy.schedule": "p3",
                "workload": [{"name": "burst", "tensors": [{"name": "a", "size": "1MB"}]}],
            },
            "workloads with a profile",
        ),
    ],
)
def test_what_does_not_fit_is_refused_in_a_line(changes: dict[str, object], said: str) -> None:
    with pytest.raises(ScenarioError, match=said) as refused:
        sim.simulate(JOB, changes)
    assert "\n" not in str(refused.value)
