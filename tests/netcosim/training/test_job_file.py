"""The file of a training job: what was dumped is loaded; what makes no sense is refused."""

import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from netcosim.errors import StorageError
from netcosim.training.job import TrainingJob
from netcosim.training.job_file import dump_job, hash_of, load_job
from netcosim.training.speed import SpeedTrace
from netcosim.training.stragglers import Change
from netcosim.training.synchronisation import Join
from tests.sim.fast.shaped import branching_plan, joined_plan
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
