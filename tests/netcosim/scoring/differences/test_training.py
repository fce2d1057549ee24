"""Two simulations compared: throughput run by run, what is in one only, the scenario's fields."""

import math
from dataclasses import replace
from typing import Any

import pytest

from netcosim.results.training.summary import Estimate, TrainingSummary
from netcosim.scenario import Scenario, build_scenario
from netcosim.scoring.differences.fields import field_changes, scenario_changes
from netcosim.scoring.differences.records import FieldChange
from netcosim.scoring.differences.training import training_changes
from tests.netcosim.results.synthetic_training import Job, training_summary

JOB = Job(counts=(1, 2), runs=3, steps=6, traced_steps=2)


@pytest.fixture(scope="module")
def made() -> TrainingSummary:
    return training_summary((JOB, replace(JOB, transport="other")))


def with_throughput(summary: TrainingSummary, *values: float, seed: int = 1) -> TrainingSummary:
    """The summary with these examples per second in the runs of every point."""
    estimate = Estimate(mean=math.fsum(values) / len(values), half_width=None, values=values)
    changed = {"examples_per_s": estimate, "runs": len(values)}
    return summary.model_copy(
        update={
            "seed": seed,
            "series": tuple(
                series.model_copy(
                    update={"points": tuple(p.model_copy(update=changed) for p in series.points)}
                )
                for series in summary.series
            ),
        }
    )


def test_a_simulation_does_not_differ_from_itself(made: TrainingSummary) -> None:
    for series in training_changes(made, made).series:
        assert (series.workers_only_a, series.workers_only_b) == ((), ())
        for point in series.points:
            change = point.examples_per_s
            assert (change.difference, change.half_width, change.beyond) == (0, 0, False)


def test_runs_of_one_seed_are_paired(made: TrainingSummary) -> None:
    a = with_throughput(made, 10.0, 20.0, 30.0)
    b = with_throughput(made, 11.0, 21.1, 30.9)
    change = training_changes(a, b).series[0].points[0].examples_per_s
    assert (change.method, change.beyond) == ("paired", True)
    # Differences 1, 1.1, 0.9 of variance 0.01; t of 2 degrees is 4.30265.
    assert change.half_width == pytest.approx(4.30265 * math.sqrt(0.01 / 3))
    assert change.share == pytest.approx(0.05)
    assert change.share_half_width == pytest.approx(4.30265 * math.sqrt(0.01 / 3) / 20)


@pytest.mark.parametrize(("values", "seed"), [((11.0, 21.1, 30.9), 2), ((11.0, 21.1), 1)])
def test_runs_of_other_seeds_or_numbers_are_not(made, values, seed) -> None:
    a = with_throughput(made, 10.0, 20.0, 30.0)
    b = with_throughput(made, *values, seed=seed)
    change = training_changes(a, b).series[0].points[0].examples_per_s
    assert (change.method, change.beyond) == ("welch", False)


def test_a_single_run_has_no_interval(made: TrainingSummary) -> None:
    a, b = with_throughput(made, 10.0), with_throughput(made, 10.5)
    change = training_changes(a, b).series[0].points[0].examples_per_s
    assert (change.method, change.half_width, change.beyond) == ("none", None, True)


def test_swapped_simulations_give_mirrored_changes(made: TrainingSummary) -> None:
    other = training_summary((replace(JOB, slow=2.0, counts=(2, 3)),))
    [there], [back] = training_changes(made, other).series, training_changes(other, made).series
    assert (there.workers_only_a, there.workers_only_b) == ((1,), (3,))
    assert (back.workers_only_a, back.workers_only_b) == ((3,), (1,))
    for point, mirrored in zip(there.points, back.points, strict=True):
        one, two = point.examples_per_s, mirrored.examples_per_s
        assert (one.a, one.b, one.difference) == (two.b, two.a, -two.difference)
        assert (one.half_width, one.method, one.beyond) == (two.half_width, two.method, two.beyond)
        assert (point.bottleneck_a, point.bottleneck_b) == (
            mirrored.bottleneck_b,
            mirrored.bottleneck_a,
        )
    assert (there.saturation_a, there.saturation_b) == (back.saturation_b, back.saturation_a)


def test_a_slower_worker_shows(made: TrainingSummary) -> None:
    slow = training_summary((replace(JOB, slow=2.0),))
    alone = training_changes(made, slow).series[0].points[0].examples_per_s
    assert alone.beyond
    assert alone.b < alone.a


def parts(**changed: Any) -> Scenario:
    return build_scenario(
        {
            "name": "one",
            "cluster": {"link": {"rate": "100mbit"}},
            "workload": [{"name": "mixed8", "set": "mixed8"}],
            "transport": [{"name": "h2", "sender": "h2", "receiver": "h2", "window": "1MiB"}],
            **changed,
        }
    )


def test_fields_are_named_as_a_person_writes_them() -> None:
    other = parts(
        description="for people",
        seed=7,
        cluster={"link": {"rate": "1gbit"}},
        transport=[
            {"name": "h2", "sender": "h2", "receiver": "h2"},
            {"name": "new", "sender": "grpc", "receiver": "grpc"},
        ],
        training={"workers": [1, 2], "steps": 100},
    )
    found = {change.field: (change.a, change.b) for change in scenario_changes(parts(), other)}
    assert found["seed"] == ("1", "7")
    assert found["cluster.link.rate"] == ("100mbit", "1gbit")
    assert found["transport[h2].window"] == ("1MiB", None)
    assert found["transport[new].sender"] == (None, "grpc")
    assert found["training.workers"] == (None, "1, 2")
    assert found["training.steps"][1] == "100"
    assert "training.warmup" not in found
    assert "description" not in found
    assert scenario_changes(other, other) == ()


def test_leaves_of_any_kind_are_told() -> None:
    a = {"t": {"on": True, "n": []}, "s": [{"kind": "slow"}, {"kind": "late"}]}
    b = {"t": {"on": False, "n": [1, 2]}, "s": [{"kind": "slow"}]}
    assert field_changes(a, b) == (
        FieldChange(field="t.on", a="true", b="false"),
        FieldChange(field="t.n", a="none", b="1, 2"),
        FieldChange(field="s[1].kind", a="late", b=None),
    )
    swapped = {(c.field, c.b, c.a) for c in field_changes(b, a)}
    assert swapped == {(c.field, c.a, c.b) for c in field_changes(a, b)}
