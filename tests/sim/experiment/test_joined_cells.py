"""Joined gradients, overlapping steps and servers' cores from a scenario to its figures."""

import tomllib
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

import sim
from netcosim.errors import ScenarioError
from netcosim.policies import schedule_names
from netcosim.results.training.summary import Joined
from sim.experiment.joined import joined_of
from tests.sim.cli.started import FAST

pytestmark = pytest.mark.oracle

JOB: dict[str, Any] = tomllib.loads(FAST)
FASTER = {"cluster.link.rate": "10gbit"}


def rate(changes: dict[str, object]) -> float:
    (series,) = sim.simulate(JOB, {"training.workers": [4], **changes}).summary.series
    return series.points[-1].examples_per_s.mean


def test_steps_that_overlap_are_faster() -> None:
    """Where pulling and pushing take about as long as computing."""
    joined = {**FASTER, "training.synchronisation": "join", "training.join": "tensor"}
    assert rate({**joined, "training.overlap": True}) > 1.02 * rate(joined)


def test_a_servers_cores_bound_the_messages_that_it_can_read() -> None:
    """Two milliseconds and a nanosecond a byte for each message: one core is too little."""
    costs = {
        "cluster.link.rate": "100gbit",
        "training.server_messages": {"message": "2ms", "ns_per_byte": 1.0},
    }
    one, four, own = (rate({**costs, "training.server_cores": cores}) for cores in (1, 4, None))
    assert one < 0.6 * four
    assert four == pytest.approx(own, rel=0.05)


def test_backup_workers_count_as_examples_only_if_they_do() -> None:
    """Of four workers, one far too slow, three count: as many examples as of three workers."""
    slow = [{"kind": "slow", "workers": [0], "options": {"factor": 20}}]
    joined = {**FASTER, "training.synchronisation": "join"}
    backed = rate({**joined, "training.first": 3, "straggler": slow})
    assert backed == pytest.approx(rate({**joined, "training.workers": [3]}), rel=0.05)
    assert rate({**joined, "straggler": slow}) < 0.3 * backed


def joined(changes: dict[str, object]) -> Joined:
    settings = {"training.workers": [4], "training.synchronisation": "join"}
    (series,) = sim.simulate(JOB, {**settings, **changes}).summary.series
    found = series.points[-1].joined
    assert sum(found.weights) == pytest.approx(1.0)
    return found


def test_all_workers_weigh_the_same_where_all_count() -> None:
    found = joined({})
    assert found.weights == pytest.approx([0.25] * 4, rel=0.05)
    assert (found.ignored, found.partly) == (0.0, 0.0)


def test_who_comes_too_late_weighs_nothing() -> None:
    """Of four workers, one far too slow, three count; whoever of these is late now and then."""
    slow = [{"kind": "slow", "workers": [2], "options": {"factor": 20}}]
    found = joined({**FASTER, "training.first": 3, "straggler": slow})
    assert found.weights[2] == 0.0
    assert 0.0 < found.ignored < 0.2
    assert found.partly == 0.0


def test_each_update_may_have_its_own_first_workers() -> None:
    """Two runs of three steps: one counted by all updates, two by half, two by a quarter."""
    who = [np.array([0, 1, 2]), np.array([0, 1, 2])]
    parts = [np.array([1.0, 0.5, 0.5]), np.array([0.0, 0.25, 0.25])]
    found = joined_of(who, parts, 4)
    assert found.weights == pytest.approx([0.4, 0.3, 0.3, 0.0])
    assert (found.ignored, found.partly) == pytest.approx((1 / 6, 4 / 6))
    assert joined_of([np.array([0])], [np.array([0.0])], 1) is None


def test_each_workers_gradients_are_no_join() -> None:
    (series,) = sim.simulate(JOB, {"training.workers": [2]}).summary.series
    assert all(point.joined is None for point in series.points)


def test_all_of_a_step_joined_takes_the_fast_path_and_says_why_not_otherwise() -> None:
    for first, engine in ((4, "fast"), (3, "generic")):
        changes = {"training.synchronisation": "join", "training.first": first}
        (series,) = sim.simulate(JOB, {"training.workers": [4], **changes}).summary.series
        assert series.points[-1].engine == engine


def test_a_trace_tells_updates_for_all_from_workers_work() -> None:
    found = sim.simulate(
        JOB, {"training.workers": [2], "training.synchronisation": "join"}, trace=[2]
    ).operations.to_pylist()
    updates = [row for row in found if row["worker"] == 2]
    assert updates
    assert {row["place"] for row in updates} == {"server 0 ps"}
    assert not any("update" in row["operation"] for row in found if row["worker"] < 2)
    steps, count = np.unique([row["step"] for row in updates], return_counts=True)
    assert len(set(count.tolist())) == 1
    assert steps.tolist() == list(range(len(steps)))


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        (
            {"training.join": "tensor"},
            'training.join: "tensor": has no effect with synchronisation asp; it is of join',
        ),
        ({"training.first": 2}, "training.first: 2: has no effect with synchronisation asp"),
        (
            {"training.synchronisation": "bsp", "training.overlap": True},
            "training.overlap: True: steps can't overlap with synchronisation bsp,"
            " which counts whole steps; it is for asp and join",
        ),
        ({"training.synchronisation": "join", "training.first": 0}, "training.first"),
        ({"training.server_cores": 0}, "training.server_cores"),
        ({"training.server_messages": {"message": "2 days"}}, "training.server_messages.message"),
    ],
)
def test_what_has_no_effect_or_no_meaning_is_refused(changes: dict[str, object], said: str) -> None:
    with pytest.raises(ScenarioError) as refused:
        sim.simulate(JOB, changes)
    assert said in str(refused.value)
    assert "\n" not in str(refused.value)


SCHEDULED = {
    "training.workers": [1],
    "training.synchronisation": "join",
    "training.join": "tensor",
    "training.overlap": True,
}


def series_of(changes: dict[str, object]) -> Any:
    return sim.simulate(JOB, {**SCHEDULED, **changes}).summary.series[0]


def scheduled_rate(changes: dict[str, object]) -> float:
    mean: float = series_of(changes).points[-1].examples_per_s.mean
    return mean


def test_fifo_without_cost_is_as_good_as_no_gate() -> None:
    """Where the connection's own discipline is first in, first out."""
    assert scheduled_rate({"policy.schedule": "fifo"}) == pytest.approx(
        scheduled_rate({}), rel=1e-9
    )


def test_a_cost_for_each_message_is_what_slices_pay() -> None:
    """On a slow link; nobody is faster for a cost, and small slices lose most."""
    slow = {"cluster.link.rate": "1gbit", "training.sent_messages": {"message": "20ms"}}
    small = {"policy.schedule": "p3", "policy.schedule_options": {"partition_bytes": 500_000}}
    large = {"policy.schedule": "p3", "policy.schedule_options": {"partition_bytes": 20_000_000}}
    assert scheduled_rate({**slow, **small}) < 0.9 * scheduled_rate({**slow, **large})


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
