"""Coordinators named by scenarios: throughput against what is known, and refusals."""

from pathlib import Path
from typing import Any

import pytest

import sim
from netcosim.errors import ScenarioError
from netcosim.scenario import build_scenario, dump_scenario, parse_scenario

PLAIN: dict[str, Any] = {
    "name": "job",
    "repetitions": 1,
    "cluster": {"topology": "star", "workers": 4, "link": {"rate": "100gbit"}},
    "training": {"steps": 60, "warmup": 10, "recorded": 1},
    "workload": [{"name": "alexnet", "profile": "alexnet"}],
    "transport": [{"name": "grpc", "sender": "grpc", "receiver": "grpc"}],
}
SLOW = [{"kind": "slow", "workers": [3], "options": {"factor": 3.0}}]


def throughput(coordination: dict[str, Any] | None, **changes: Any) -> float:
    data = {**PLAIN, **changes} | ({} if coordination is None else {"coordination": coordination})
    (series,) = sim.simulate(build_scenario(data)).summary.series
    return float(series.points[-1].examples_per_s.mean)


@pytest.mark.parametrize(
    ("kind", "options", "training"),
    [
        ("asp", {}, {}),
        ("bsp", {}, {"synchronisation": "bsp"}),
        ("ssp", {"gap": 2}, {"synchronisation": "ssp", "gap": 2}),
    ],
)
def test_coordinators_of_staleness_are_the_synchronisations(kind, options, training):
    without = throughput(None, straggler=SLOW, training={**PLAIN["training"], **training})
    assert throughput({"kind": kind, "options": options}, straggler=SLOW) == pytest.approx(
        without, rel=1e-9
    )


def test_balanced_batches_are_as_fast_as_all_workers_together():
    """Three workers of speed 1 and one of a third: 10/12 of four."""
    many = {**PLAIN["training"], "batch": 60}  # whole examples make hardly a difference
    alone = throughput({"kind": "bsp"}, training=many)
    slowed = throughput({"kind": "bsp"}, straggler=SLOW, training=many)
    assert slowed == pytest.approx(alone / 3, rel=0.02)
    balanced = throughput(
        {"kind": "lb_bsp", "predictor": "memoryless"}, straggler=SLOW, training=many
    )
    assert balanced == pytest.approx(alone * 10 / 12, rel=0.02)


def test_a_decision_is_waited_for_once_a_step():
    free = throughput({"kind": "lb_bsp"})
    (series,) = sim.simulate(build_scenario(PLAIN)).summary.series
    step_s = 4 * series.batch / free
    slower = throughput({"kind": "lb_bsp", "decision": f"{round(step_s * 1e8)}ns"})
    assert slower == pytest.approx(free / 1.1, rel=0.01)


def test_with_spare_workers_a_slow_one_is_not_waited_for():
    three = throughput({"kind": "bsp"}, cluster={**PLAIN["cluster"], "workers": 3})
    spared = throughput({"kind": "redundant", "options": {"spare": 1}}, straggler=SLOW)
    assert spared == pytest.approx(three, rel=0.02)


@pytest.mark.parametrize("kind", ["lb_bsp", "lb_bsp_gpu"])
@pytest.mark.parametrize(
    "curve", [{"points": [[8, 0.1], [40, 1.0]]}, {"most": 34}, {"workers": [0, 1], "most": 32}]
)
def test_nobody_gets_a_batch_that_curves_do_not_know(kind, curve):
    """It would end the run: whatever is decided has a time."""
    training = {**PLAIN["training"], "batch": 32}
    coordination = {"kind": kind, "curve": [curve]}
    assert throughput(coordination, straggler=SLOW, training=training) > 0


@pytest.mark.parametrize("last_gb", [1, 2])
def test_memory_is_a_part_of_the_machine_s_and_not_of_the_future_s(tmp_path, last_gb):
    """A row that is never reached changes nothing; without a size memory is not known."""
    path, plain = tmp_path / "memory.csv", tmp_path / "speed.csv"
    rows = ["time_ns,speed,memory_bytes", "0,1,2e9", f"{10**15},1,{last_gb}e9"]
    path.write_text("\n".join(rows) + "\n")
    plain.write_text(f"time_ns,speed\n0,1\n{10**15},1\n")
    training = {**PLAIN["training"], "batch": 32}

    def with_trace(file: Path, kind: str = "lb_bsp_gpu", **options: Any) -> float:
        trace = {"kind": "trace", "workers": "all", "options": {"file": str(file), **options}}
        return throughput({"kind": kind}, straggler=[*SLOW, trace], training=training)

    assert with_trace(path) == with_trace(path, memory="64GB") == with_trace(plain)
    assert with_trace(path, memory="2GB") == with_trace(plain, "bsp") < with_trace(plain)


@pytest.mark.parametrize(
    ("coordination", "changes", "said"),
    [
        ({"kind": "lbbsp"}, {}, r'coordination.kind: "lbbsp": .*lb_bsp'),
        ({"kind": "ssp", "options": {"gab": 1}}, {}, r"coordination.options.gab: 1.* no such"),
        ({"kind": "bsp", "predictor": "average"}, {}, r"coordination.predictor: .* lb_bsp"),
        ({"kind": "lb_bsp", "predictor": "oracle"}, {}, r'coordination.predictor: "oracle"'),
        ({"kind": "bsp", "decision": "1ms"}, {}, r'coordination.decision: "1ms": .* lb_bsp'),
        ({"kind": "ssp", "options": {"gap": 0.5}}, {}, r"options.gap: 0.5: must be a whole number"),
        (
            {"kind": "redundant", "options": {"first": 3, "spare": 1}},
            {},
            r"options.spare: 1.*: has no effect beside first",
        ),
        (
            {"kind": "lb_bsp", "predictor_options": {"newest": 5}},
            {},
            r"predictor_options.newest: 5.*: must be 1e-06 to 1",
        ),
        (
            {"kind": "bsp", "predictor_options": {"newest": 0.5}},
            {},
            r'coordination.predictor_options: "newest": has no effect with bsp',
        ),
        (
            {"kind": "bsp", "curve": [{"workers": [7], "saturated": 4}]},
            {},
            r"coordination.curve\[0\].workers: 7: must be below 4",
        ),
        (
            {"kind": "bsp", "curve": [{"most": 4}]},
            {},
            r"coordination.curve\[0\]: .*0 to 4 examples.* the \d+ that all begin with",
        ),
        (
            {"kind": "bsp", "curve": [{"points": [[0, 0], [1000, 0], [2000, 1]]}]},
            {},
            r"coordination.curve\[0\]: .* above 0",
        ),
        (
            {"kind": "bsp"},
            {"training": {**PLAIN["training"], "synchronisation": "ssp"}},
            r'training.synchronisation: "ssp": does not go with \[coordination\]',
        ),
        (
            {"kind": "bsp"},
            {"straggler": [{"kind": "leave", "workers": [0], "options": {"at": "1s"}}]},
            r"straggler\[0\].kind",
        ),
        (
            {"kind": "bsp"},
            {"workload": [{"name": "x", "tensors": [{"name": "t", "size": "1MB"}]}]},
            r"coordination.kind: .* not for bursts",
        ),
    ],
)
def test_refusals_name_the_field(coordination, changes, said):
    data = {**PLAIN, **changes, "coordination": coordination}
    with pytest.raises(ScenarioError, match=said):
        sim.simulate(build_scenario(data))


def test_a_curve_has_one_form():
    for curve, said in (
        ({"saturated": 4, "points": [[1, 1], [2, 2]]}, "not both"),
        ({"points": [[2, 1], [1, 2]]}, "rise"),
        ({"points": [[1, 1]]}, "points"),
        ({"points": [[8, float("nan")], [32, 1]]}, "must be finite"),
        ({"points": [[8, 0.1], [32, 1]], "most": 8}, "above the first batch"),
        ({"points": [[8, 0.1], [32, 1]], "most": 64}, "not beyond the last"),
    ):
        with pytest.raises(ScenarioError, match=said):
            build_scenario({**PLAIN, "coordination": {"kind": "bsp", "curve": [curve]}})


def test_a_scenario_reads_back_as_it_was_written():
    coordination = {
        "kind": "lb_bsp",
        "predictor": "average",
        "predictor_options": {"newest": 0.5},
        "decision": "5ms",
        "curve": [{"workers": [1], "saturated": 8, "most": 100}],
    }
    scenario = build_scenario({**PLAIN, "coordination": coordination})
    assert parse_scenario(dump_scenario(scenario)) == scenario


def test_operations_that_are_kept_are_those_of_the_coordinated_job():
    """Ends of the traced steps are the ends of the simulated ones."""
    training = {**PLAIN["training"], "warmup": 0, "trace_steps": 6, "batch": 32}
    data = {**PLAIN, "training": training, "straggler": SLOW, "coordination": {"kind": "lb_bsp"}}
    found = sim.simulate(build_scenario(data), trace=[4])
    steps, operations = found.steps.to_pandas(), found.operations.to_pandas()
    last = operations.groupby(["worker", "step"])["end_ns"].max()
    ends = steps.groupby(["worker", "step"])["end_ns"].first()
    for (worker, step), end_ns in last.items():
        assert end_ns == ends[worker, step]
    assert len(last) == 4 * 6


def test_a_decision_is_waited_for_by_one_worker_too():
    one = {**PLAIN["cluster"], "workers": 1}
    free = throughput({"kind": "lb_bsp"}, cluster=one)
    assert throughput({"kind": "lb_bsp", "decision": "10s"}, cluster=one) < free / 2


def test_what_late_workers_send_fills_links():
    """All send in every step, whatever counts."""
    data = {**PLAIN, "cluster": {**PLAIN["cluster"], "link": {"rate": "2500mbit"}}}

    def use(coordination: dict[str, Any]) -> float:
        scenario = build_scenario({**data, "coordination": coordination})
        (series,) = sim.simulate(scenario).summary.series
        return max(each.utilisation for each in series.points[-1].link_utilisation)

    first = use({"kind": "redundant", "options": {"first": 1}})
    assert first == pytest.approx(use({"kind": "asp"}), rel=0.05)


def test_leads_are_those_of_the_synchronisations():
    def lead(**changes: Any) -> int | None:
        (series,) = sim.simulate(build_scenario({**PLAIN, **changes})).summary.series
        return series.lead

    assert lead(coordination={"kind": "lb_bsp"}) == 0
    assert lead(coordination={"kind": "ssp", "options": {"gap": 3}}) == 3
    assert lead(coordination={"kind": "asp"}) is None
