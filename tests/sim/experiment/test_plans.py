"""Plans that runs and transports share: the same as if each was made by itself."""

from collections.abc import Sequence
from dataclasses import fields, replace

import numpy as np
import pytest

from netcosim.errors import ScenarioError
from netcosim.job import resolve_cells
from netcosim.scenario import parse_scenario
from netcosim.step_graph import StepGraph
from netcosim.training.plan import WORKER, StepPlan
from netcosim.training.prepare import fuse, make_plan
from netcosim.training.prepare.build import tensors_of
from netcosim.training.workload_plan import ORDERS, RECORDED
from netcosim.workload import Transfer
from netcosim.workload.durations import recorded_steps
from sim.experiment.cell import TrainingCell, training_cells
from sim.experiment.kept_plans import Plans
from sim.experiment.run import simulate
from sim.fast.shape import fast_shape

SCENARIO = """
name = "two-transports"
[cluster]
topology = "star"
servers = 2
[cluster.link]
rate = "1gbit"
[policy]
order = "{order}"
[training]
steps = 4
warmup = 0
recorded = 6
share = "equal"
[[workload]]
name = "alexnet"
profile = "alexnet"
[[transport]]
name = "whole"
sender = "grpc"
receiver = "grpc"
flow_control = false
whole_messages = true
[[transport]]
name = "turns"
sender = "h2"
receiver = "h2"
discipline = "round_robin"
"""


def cells_of(order: str) -> tuple[TrainingCell, ...]:
    return training_cells(parse_scenario(SCENARIO.format(order=order), "job"))


def plan_by_itself(cell: TrainingCell, run: int) -> StepPlan:
    durations = recorded_steps(
        cell.profile,
        rng=np.random.default_rng(cell.stream(run, RECORDED)),
        batch=cell.batch,
        count=cell.scenario.training.recorded,
    )
    rng = np.random.default_rng(cell.stream(run, ORDERS))
    return make_plan(cell.profile, durations, cell.assignment(), rng)


def assert_same(one: StepPlan, other: StepPlan) -> None:
    for field in fields(StepPlan):
        np.testing.assert_array_equal(
            np.array(getattr(one, field.name), dtype=object),
            np.array(getattr(other, field.name), dtype=object),
            field.name,
        )


@pytest.mark.parametrize("kept_bytes", [0, 10**9])
@pytest.mark.parametrize("order", ["as_listed", "random", "tac"])
def test_every_run_of_every_transport_has_the_plans_that_are_its_own(
    order, kept_bytes, monkeypatch
):
    monkeypatch.setattr("sim.experiment.plans.KEPT_BYTES", kept_bytes)
    cells = cells_of(order)
    for run in (0, 2, 1, 0):
        for cell in cells:
            plan = plan_by_itself(cell, run)
            prepared = cell.plans(run)
            assert_same(prepared.plan, plan)
            assert_same(prepared.fused, fuse(plan))
            shape = fast_shape(fuse(plan), cell.network(1), cell.sending)
            assert prepared.shape is not None
            for name, one, other in zip(shape._fields, prepared.shape, shape, strict=True):
                np.testing.assert_array_equal(one, other, name)
            assert prepared.longest_step_ns == plan.duration_ns.sum(axis=1).max()


def test_plans_beyond_the_bound_are_not_kept_but_the_first_is(monkeypatch):
    cell = cells_of("as_listed")[0]
    assert cell.plans(1).plan is cell.plans(1).plan
    monkeypatch.setattr("sim.experiment.plans.KEPT_BYTES", 0)
    assert cell.plans(2).plan is not cell.plans(2).plan
    assert cell.plans(1).plan is cell.plans(1).plan


def test_a_cell_of_other_settings_does_not_take_shared_plans():
    cell = cells_of("as_listed")[0]
    before = cell.plans(0).plan
    scenario = cell.scenario.model_copy(update={"seed": cell.scenario.seed + 1})
    other = replace(cell, scenario=scenario, prepared={})
    assert_same(other.plans(0).plan, plan_by_itself(other, 0))
    assert (other.plans(0).plan.duration_ns != before.duration_ns).any()
    assert_same(cell.plans(0).plan, before)


def test_plans_are_kept_where_the_scenario_gives_the_cost_of_messages():
    kept = Plans()

    def plan_of(cost: str) -> StepPlan:
        given = f'server_messages = {{ message = "{cost}" }}\nshare = "equal"'
        text = SCENARIO.format(order="as_listed").replace('share = "equal"', given)
        return training_cells(parse_scenario(text, "job"), kept)[0].plans(0).plan

    assert plan_of("1ms") is plan_of("1ms")
    assert (plan_of("2ms").duration_ns != plan_of("1ms").duration_ns).any()


def test_phases_of_preparing_are_told_once():
    told: list[str] = []
    for cell in cells_of("as_listed"):
        cell.plans(0, told.append)
    operations = len(cells_of("as_listed")[0].profile.step.operations)
    assert [phase for phase in told if phase == f"fusing {operations} operations"] == [
        f"fusing {operations} operations"
    ]


def test_a_run_is_simulated_the_same_with_plans_that_are_not_kept(monkeypatch):
    kept = simulate(cells_of("as_listed")[0], 2, 1)
    monkeypatch.setattr("sim.experiment.plans.KEPT_BYTES", 0)
    again = simulate(cells_of("as_listed")[0], 2, 1)
    np.testing.assert_array_equal(kept.steps.end_ns, again.steps.end_ns)


@pytest.mark.parametrize(("order", "shared"), [("as_listed", True), ("tic", True), ("tac", False)])
def test_plans_are_kept_across_rates_unless_the_order_looks_at_them(order, shared):
    text = SCENARIO.format(order=order).replace(
        "[training]", '[training]\nrates = ["1gbit", "8gbit"]'
    )
    slow, fast = training_cells(parse_scenario(text, "job"))[:2]
    assert slow.plans(0).plans is slow.plans(1).plans
    assert (slow.plans(0).plans is fast.plans(0).plans) == shared


def test_an_order_that_looks_at_a_step_is_given_the_worker_s_at_the_rate_of_its_link():
    cell = cells_of("tac")[0]
    seen: list[StepGraph | None] = []

    def kept(sizes: Sequence[int], rng: np.random.Generator, step: StepGraph | None) -> list[int]:
        seen.append(step)
        return list(range(len(sizes)))

    durations = np.array([[1.0] * len(cell.profile.step.computes)] * 2)
    durations[1] *= 3
    assignment = replace(cell.assignment(), arrange=kept)
    plan = make_plan(cell.profile, durations, assignment, np.random.default_rng(0))
    [step] = seen
    at_worker = [op for op in cell.profile.step.operations if cell.profile.step.phase(op) != "ps"]
    assert len(step) == len(at_worker) < plan.operations
    names = list(tensors_of(cell.profile))
    index = {op.name: i for i, op in enumerate(at_worker)}
    parsing_ns = 0.0
    for i, op in enumerate(at_worker):
        assert sorted(step.predecessors[i]) == sorted(index[n] for n in op.after if n in index)
        if isinstance(op, Transfer):
            rate_bps = 1e9 * 1448 / 1514
            assert step.kind[i] == ("pull" if op.source == "server" else "push")
            assert names[step.tensor[i]] == op.tensor
            assert step.duration_ns[i] == pytest.approx(op.size_bytes * 8e9 / rate_bps)
        else:
            assert (step.kind[i], step.tensor[i]) == ("compute", -1)
            parsing_ns += step.duration_ns[i] - 2.0
    worker = [i for i, p in enumerate(plan.processors) if p.node == WORKER]
    places = [len(plan.channels) + i for i in worker]
    at = np.isin(plan.place, places)
    assert parsing_ns == pytest.approx(plan.duration_ns[:, at].sum(axis=1).mean() - 2.0 * at.sum())
    assert step.capacity == tuple(plan.processors[i].capacity for i in worker)


def test_pulls_are_released_as_the_order_says():
    cell = cells_of("tac")[0]
    plan = cell.plans(0).plan
    durations = recorded_steps(cell.profile, rng=np.random.default_rng(0), count=6)
    seen: list[list[int]] = []

    def noted(sizes: Sequence[int], rng: np.random.Generator, step: StepGraph | None) -> list[int]:
        seen.append(cell.assignment().arrange(sizes, rng, step))
        return seen[-1]

    assignment = replace(cell.assignment(), arrange=noted)
    make_plan(cell.profile, durations, assignment, np.random.default_rng(0))
    names = list(tensors_of(cell.profile))
    for row in plan.sources:
        assert [plan.names[op] for op in row] == [f"{names[t]}/pull" for t in seen[0]]


@pytest.mark.parametrize("order", ["tic", "tac", "tac_printed"])
def test_a_burst_has_no_step_to_order_by(order):
    text = SCENARIO.format(order=order)
    burst = text.replace('profile = "alexnet"', 'set = "alexnet"')
    with pytest.raises(ScenarioError, match=f'^policy.order: "{order}": looks at the step of a'):
        training_cells(parse_scenario(burst, "job"))
    with pytest.raises(ScenarioError, match=f'^policy.order: "{order}": looks at the step of a'):
        resolve_cells(parse_scenario(burst, "job"))
