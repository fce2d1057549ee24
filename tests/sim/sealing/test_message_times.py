"""Times of messages at their senders: as operations of a plan, in the engine and by executors."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from netcosim.results.training.job_summary import MessageTimes
from netcosim.training.job import TrainingJob
from netcosim.training.plan import StepPlan
from netcosim.training.synchronisation import Join
from sim.engine.engine import Operations
from sim.plan import Calls
from sim.sealing.ensemble import Uneven, perturbed_runs
from sim.sealing.message_times import ahead_of, with_message_times
from tests.sim.engines import make_job, ran
from tests.sim.executor.replayed import Replay
from tests.sim.fast.shaped import joined_plan, shaped_operations
from tests.sim.naive.plans import (
    Op,
    at_server,
    at_worker,
    down,
    make_network,
    make_plan,
    same_draws,
    up,
)
from tests.sim.naive.random_plans import random_draws
from tests.sim.sealing.test_ensemble import Made

TIMES = MessageTimes(asking_ns=500, parameter_ns=1_000, gradient_ns=700, spread=0.1)
STEPS = 5


def simulated(job: TrainingJob, *, ahead: tuple[float, ...] = (), compiled: bool = False):
    nothing = (0,) * job.plan.servers
    engine = ran(
        job.plan,
        job.draws,
        staleness=job.staleness,
        join=job.join,
        keep_operations=True,
        in_parts=True,
        calls=Calls(up_bytes=nothing, down_bytes=nothing, ahead=ahead),
        compiled=compiled,
    )
    return engine.operations()


def job_of(plan: StepPlan, workers: int, rng: np.random.Generator) -> TrainingJob:
    return make_job(plan, random_draws(rng, plan, workers=workers, steps=STEPS))


def apart(plan: StepPlan) -> StepPlan:
    """With a sender of its own for each worker at a server, as executors know them."""
    alone = tuple(replace(p, shared=p.shared and p.resource != "messages") for p in plan.processors)
    return replace(plan, processors=alone)


@pytest.mark.oracle
@settings(max_examples=60, deadline=None)
@given(
    seed=st.integers(0, 2**32 - 1),
    workers=st.integers(1, 3),
    servers=st.integers(1, 3),
    joined=st.booleans(),
)
def test_engine_and_executors_hand_over_at_the_same_time(seed, workers, servers, joined):
    """Servers' senders are shared with one worker: there it can make no difference."""
    rng = np.random.default_rng(seed)
    if joined:
        plan = joined_plan(rng, servers=servers, cores=1)
        workers = 1
    else:
        ops = shaped_operations(rng, tensors=6, servers=servers)
        plan = make_plan(ops, recorded=3, servers=servers)
    timed = with_message_times(plan, TIMES)
    job = job_of(timed if workers == 1 else apart(timed), workers, rng)
    if joined:
        job = replace(job, join=Join(by="step", first=1))
    seen = simulated(job)
    replay = Replay(job, seen)
    replay.run()
    replay.assert_handed_over_as(seen)


def chain(workers: int, *, update_ns: float) -> TrainingJob:
    """Two small parameters, a computation of 2 us, a gradient with its update."""
    plan = make_plan(
        [
            Op(name="one", at=down(), size_bytes=10),
            Op(name="two", at=down(), size_bytes=10),
            Op(name="compute", at=at_worker(), duration_ns=2_000, after=("one", "two")),
            Op(name="push", at=up(), size_bytes=10, after=("compute",)),
            Op(name="update", at=at_server(), duration_ns=update_ns, after=("push",)),
        ]
    )
    return make_job(plan, same_draws(workers=workers, steps=2))


def handed_ns(seen: Operations, plan: StepPlan) -> dict[tuple[int, int, str], float]:
    return {
        (int(w), int(s), plan.names[o]): float(ready)
        for w, s, o, ready in zip(
            seen.worker, seen.step, seen.operation, seen.ready_ns, strict=True
        )
    }


def test_a_server_asks_then_hands_over_one_parameter_after_the_other():
    job = chain(2, update_ns=0)
    timed = replace(job, plan=with_message_times(job.plan, TIMES))
    handed = handed_ns(simulated(timed), timed.plan)
    assert [handed[0, 0, name] for name in ("one", "two")] == [1_500, 2_500]
    # The second worker's turn comes behind all of the first one's.
    assert [handed[1, 0, name] for name in ("one", "two")] == [4_000, 5_000]
    assert handed[0, 0, "push"] == 2_500 + 10 + 2_000 + 700


def test_a_server_that_may_not_answer_yet_does_ahead_what_it_can():
    """An update takes 5 us: the calls' 500 ns and half of both parameters' us are done by then."""
    job = chain(1, update_ns=5_000)
    timed = replace(job, plan=with_message_times(job.plan, TIMES))
    ahead = ahead_of(job.plan, TIMES)
    assert len(ahead) == timed.plan.operations
    handed = handed_ns(simulated(timed, ahead=ahead), timed.plan)
    answered = handed[0, 0, "update"] + 5_000
    assert [handed[0, 1, name] - answered for name in ("one", "two")] == [500, 1_000]
    # With 600 ns until the answer: the calls, and 100 ns of the first parameter.
    short = chain(1, update_ns=590)
    timed = replace(short, plan=with_message_times(short.plan, TIMES))
    handed = handed_ns(simulated(timed, ahead=ahead), timed.plan)
    answered = handed[0, 0, "update"] + 590
    assert [handed[0, 1, name] - answered for name in ("one", "two")] == [900, 1_900]


@pytest.mark.parametrize("factor", [1.0, 0.999, 0.6, 0.3, 1.5])
def test_what_is_done_ahead_scales_with_what_there_is_to_do(factor: float):
    """All of the calls and half of the parameters are done, whatever a step's factor."""
    job = chain(1, update_ns=5_000)
    plan = with_message_times(job.plan, TIMES)
    duration_ns = plan.duration_ns.copy()
    duration_ns[:, job.plan.operations :] *= factor
    timed = replace(job, plan=replace(plan, duration_ns=duration_ns))
    handed = handed_ns(simulated(timed, ahead=ahead_of(job.plan, TIMES)), timed.plan)
    answered = handed[0, 0, "update"] + 5_000
    found = [handed[0, 1, name] - answered for name in ("one", "two")]
    assert found == pytest.approx([500 * factor, 1_000 * factor])


@pytest.mark.parametrize("workers", [1, 2, 5, 8])
@pytest.mark.parametrize("in_step", [True, False])
def test_a_server_does_no_more_than_its_time_allows(workers: int, in_step: bool):
    """Half of a parameter's time may be its worker's: the rest is the server's alone."""
    times = MessageTimes(asking_ns=4_000, parameter_ns=8_000, gradient_ns=10, spread=0.0)
    job = chain(workers, update_ns=2_000)
    steps = 30
    timed = replace(
        job,
        plan=with_message_times(job.plan, times),
        draws=same_draws(workers=workers, steps=steps),
        staleness=0 if in_step else None,
    )
    handed = handed_ns(simulated(timed, ahead=ahead_of(job.plan, times)), timed.plan)
    last = [max(handed[w, step, "two"] for w in range(workers)) for step in (9, steps - 1)]
    each_step = (last[1] - last[0]) / (steps - 10)
    assert each_step >= workers * (4_000 + 2 * 8_000) - 1


def test_compiled_and_interpreted_text_agree():
    job = chain(2, update_ns=1_000)
    timed = replace(job, plan=with_message_times(job.plan, TIMES))
    ahead = ahead_of(job.plan, TIMES)
    one, two = (simulated(timed, ahead=ahead, compiled=each) for each in (False, True))
    for name in one.__dataclass_fields__:
        assert np.array_equal(getattr(one, name), getattr(two, name)), name


def test_an_ensemble_varies_them_from_step_to_step():
    rng = np.random.default_rng(3)
    plan = make_plan(shaped_operations(rng, tensors=4, servers=1), recorded=3)
    plan = replace(plan, duration_ns=np.tile(plan.duration_ns, (20, 1)))
    timed = with_message_times(plan, TIMES)
    job, first = job_of(timed, 2, rng), plan.operations
    seen: list[np.ndarray] = []

    def run_of(perturbed: TrainingJob, _: object) -> Made:
        found = perturbed.plan.duration_ns
        assert np.array_equal(found[:, :first], timed.duration_ns[:, :first])
        factor = found[:, first:] / timed.duration_ns[:, first:]
        assert np.allclose(factor, factor[:, :1])
        seen.append(factor[:, 0])
        return Made(1.0)

    perturbed_runs(job, make_network(workers=2), 7, run_of, Uneven(operations=first, spread=0.1))
    assert np.array(seen).mean() == pytest.approx(1.0, abs=0.02)
    assert np.array(seen).std() == pytest.approx(0.1, rel=0.1)
