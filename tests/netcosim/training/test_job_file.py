"""The file of a training job: what was dumped is loaded; what makes no sense is refused."""

import json
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from netcosim.errors import StorageError
from netcosim.scenario import build_scenario
from netcosim.training.coordination import Begun, JobCoordination
from netcosim.training.job import TrainingJob
from netcosim.training.job_file import dump_job, hash_of, load_job
from netcosim.training.speed import SpeedTrace
from netcosim.training.stragglers import Change
from netcosim.training.synchronisation import Join
from netcosim.training.throughput import ends_of_updates, steps_per_s
from tests.sim.fast.shaped import branching_plan, joined_plan
from tests.sim.naive.plans import Op, at_server, at_worker, down, make_plan, same_draws, up
from tests.sim.naive.random_plans import random_draws, random_gated_plan

GATED = {
    "pushed": True,
    "schedule": "p3",
    "schedule_options": (100,),
    "gate_bps": ((8,), (9,), (10,)),
    "link_bps": (1, 2, 3),
}


def job(seed: int, shape=branching_plan, **changes) -> TrainingJob:
    rng = np.random.default_rng(seed)
    plan = shape(rng)
    speed = SpeedTrace(time_ns=np.array([0.0, 7.5]), work_ns=np.array([0.0, 1 / 3]))
    settings = {"staleness": 2, "join": None, "speeds": (None, speed, None), **changes}
    return TrainingJob(plan=plan, draws=random_draws(rng, plan), **settings)


@settings(max_examples=25, deadline=None)
@given(
    seed=st.integers(0, 1000),
    shape=st.sampled_from([branching_plan, joined_plan, random_gated_plan]),
    staleness=st.sampled_from([None, 0, 3]),
)
def test_what_was_dumped_is_loaded(seed, shape, staleness):
    made = job(
        seed,
        shape,
        staleness=staleness,
        join=Join(by="step", first=2) if shape is joined_plan else None,
        absent=(1,),
        presence=(Change(5, 1, True),),
        **GATED if shape is random_gated_plan else {},
    )
    data = dump_job(made)
    again = load_job(data, "job")
    assert dump_job(again) == data
    assert again.plan.channels == made.plan.channels
    assert again.presence == made.presence
    assert (again.plan.duration_ns == made.plan.duration_ns).all()
    assert (again.draws.factor == made.draws.factor).all()
    assert (again.schedule, again.gate_bps) == (made.schedule, made.gate_bps)
    assert hash_of(data) != hash_of(dump_job(job(seed + 1, shape)))


def changed(**values) -> bytes:
    data = json.loads(dump_job(job(1)))
    for path, value in values.items():
        at = data
        *folders, last = path.split("__")
        for folder in folders:
            at = at[folder]
        at[last] = value
    return json.dumps(data).encode()


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"format": "x"}, "format: Input should be 'netcosim-job/1'"),
        ({"plan__place": [0]}, r"plan\.place: must be \d+ numbers"),
        ({"plan__after_start": [0]}, r"plan\.after_start: must be \d+ numbers"),
        ({"plan__duration_ns": [[1.0, "x"]]}, r"plan\.duration_ns: .*must be a list of numbers"),
        ({"plan__duration_ns": [[1.0]]}, r"plan\.duration_ns: must be 1 x \d+ numbers"),
        ({"step": [[99], [0], [0]]}, r"step: must be numbers from 0 to 2"),
        ({"step": [[-1], [0], [0]]}, r"step: must be numbers from 0 to 2"),
        ({"speeds": []}, r"speeds: must be 3, one for each worker"),
        ({"link_bps": [1]}, r"link_bps: must be 3, one for each worker, or none"),
        ({"more": 1}, r"more: Extra inputs"),
        ({"step": [[2.7], [0], [0]]}, r"step: .*must be a list of whole numbers"),
        ({"step": [["1"], [0], [0]]}, r"step: .*must be a list of whole numbers"),
        ({"step": [[], [], []]}, r"step: must have a worker, a step"),
        ({"factor": [[1.0] * 3] * 3}, r"factor: must be 3 x 1 or 3 x \d+ numbers"),
        ({"factor": [[-1.0]] * 3}, r"factor: -1\.0: must be 1e-09 to"),
        ({"link_bps": [0, 1, 1]}, r"link_bps: 0: must be 1 to"),
        ({"more_delay_ns": [0, 0, -5]}, r"more_delay_ns: -5: must be 0 to"),
        ({"absent": [7]}, r"absent: 7: must be 0 to 2"),
        ({"plan__servers": 10**9}, r"plan\.servers: 1000000000: must be 1 to 1024"),
    ],
)
def test_what_makes_no_sense_is_refused(change, said):
    with pytest.raises(StorageError, match=f"^job: {said}"):
        load_job(changed(**change), "job")


@pytest.mark.parametrize("data", [b"", b"{", b"[]", b"\xff"])
def test_what_is_no_job_is_refused(data):
    with pytest.raises(StorageError, match=r"^job: "):
        load_job(data, "job")


def test_the_first_workers_of_a_job_keep_their_draws():
    made = job(3, absent=(0, 2), presence=(Change(5, 2, True), Change(9, 0, True)))
    first = made.first(2)
    assert (first.draws.step == made.draws.step[:2]).all()
    assert (first.workers, first.absent, len(first.speeds)) == (2, (0,), 2)
    assert first.presence == (Change(9, 0, True),)


def test_a_plan_with_gates_needs_a_schedule():
    gated = dump_job(job(1, random_gated_plan, **GATED | {"schedule": None}))
    with pytest.raises(StorageError, match=r"^job: schedule: None: must be one of bytescheduler, "):
        load_job(gated, "job")


JOB: dict[str, Any] = {
    "name": "job",
    "cluster": {"topology": "star", "workers": 2, "link": {"rate": "1gbit"}},
    "workload": [{"name": "alexnet", "profile": "alexnet"}],
    "transport": [{"name": "h2", "sender": "h2", "receiver": "h2"}],
    "coordination": {"kind": "lb_bsp", "predictor": "memoryless"},
}


def coordination(servers: int) -> JobCoordination:
    ops = [Op(name="compute", at=at_worker(), duration_ns=100, after=("pull0",))]
    for server in range(servers):
        ops += [
            Op(name=f"pull{server}", at=down(server), size_bytes=10),
            Op(name=f"push{server}", at=up(server), size_bytes=10, after=("compute",)),
        ]
    job = TrainingJob(
        plan=make_plan(ops, servers=servers),
        draws=same_draws(workers=2, steps=3, factor=[1.0, 1.0]),
        staleness=None,
        join=None,
        speeds=(None, None),
    )
    return JobCoordination.of(build_scenario(JOB), 30, job)


def test_a_step_has_ended_with_the_last_of_its_parts() -> None:
    found = coordination(servers=2)
    assert found.begin() == [Begun(0, 0, 30, 1.0), Begun(1, 0, 30, 1.0)]
    # A worker and two servers: three parts each, in any order.
    for worker, at_ns in ((0, 1000.0), (1, 500.0), (0, 2000.0), (1, 900.0), (1, 1000.0)):
        assert found.over(worker, at_ns) == []
    begun = found.over(0, 1500.0)
    # The first took 2000 ns, the second 1000: 60 examples in proportion to their speeds.
    assert begun == [Begun(0, 1, 20, pytest.approx(2 / 3)), Begun(1, 1, 40, pytest.approx(4 / 3))]
    assert found.batches.tolist() == [[30, 20, 0], [30, 40, 0]]


def test_nobody_begins_behind_the_last_step() -> None:
    found = coordination(servers=1)
    begun = found.begin()
    for at_ns in (1e4, 2e4):
        for worker in (0, 0, 1, 1):
            begun = found.over(worker, at_ns)
        assert len(begun) == 2
    for worker in (0, 0, 1, 1):
        begun = found.over(worker, 3e4)
    assert begun == []


def counted_job(first: int) -> TrainingJob:
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
    assert steps_per_s(counted_job(3), ends_ns, 1) == pytest.approx(by_hand)
    alone = replace(counted_job(3), join=None)
    assert steps_per_s(alone, ends_ns, 1) == pytest.approx(by_hand)


def test_an_update_is_as_many_steps_as_it_counts() -> None:
    some = counted_job(2)
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
    assert steps_per_s(counted_job(3), ends_ns, 1, parts) == pytest.approx(by_hand)
