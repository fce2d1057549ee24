"""Jobs without communication: against the engine with next to none, and against sums by hand."""

import numpy as np
import pytest

from netcosim.policies.coordinator.observed import Use
from netcosim.policies.coordinators import coordinator_names, make_coordinator
from netcosim.policies.stealing import WorkStealing
from netcosim.scenario import CoordinationSpec
from netcosim.training.batch_curve import proportional
from netcosim.training.batching import Batching
from netcosim.training.stragglers.speeds import Speeds
from sim.coordination.computing import Machine, StealingCosts, run_coordinated, run_stealing
from sim.coordination.coordinated import CoordinatedRun
from tests.sim.engines import make_engine
from tests.sim.naive.plans import chain_plan, same_draws

WORKERS, STEPS, BATCH = 4, 12, 16
EXAMPLE_NS = 1_000_000.0


def speeds(seed: int) -> list[Speeds]:
    rng = np.random.default_rng(seed)
    times = np.concatenate([[0.0], np.cumsum(rng.uniform(5e6, 3e7, 60))])
    return [Speeds(time_ns=times, speed=rng.uniform(0.2, 1.0, 61)) for _ in range(WORKERS)]


def idle(*_: object) -> Use:
    return Use()


def machines(found: list[Speeds]) -> list[Machine]:
    return [Machine(speed=each.trace(), use=idle) for each in found]


@pytest.mark.parametrize("kind", coordinator_names())
def test_the_engine_says_the_same_where_messages_are_tiny(kind):
    found = speeds(3)
    spec = CoordinationSpec(kind=kind)
    work_ns = round(BATCH * EXAMPLE_NS)
    plan = chain_plan(down_bytes=[1], worker_ns=work_ns, up_bytes=[1], update_ns=0)
    draws = same_draws(WORKERS, STEPS)
    traces = [each.trace() for each in found]
    engine = make_engine(plan, draws, stop_at_steps=True, speeds=traces)
    batching = Batching(
        batches=(BATCH,) * WORKERS, curves=(proportional(EXAMPLE_NS, BATCH * WORKERS),) * WORKERS
    )
    simulated = CoordinatedRun(engine, draws, make_coordinator(spec, WORKERS, 1), batching, idle)
    simulated.run(until_first=True)
    steps = engine.steps()
    counted = (simulated.batches * simulated.counted)[steps.worker, steps.step]
    computed = run_coordinated(
        make_coordinator(spec, WORKERS, 1),
        machines(found),
        [BATCH] * WORKERS,
        EXAMPLE_NS,
        examples=int(counted.sum()),
    )
    # Steps that count in the order of their ends, up to as many examples.
    last = steps.end_ns[counted > 0].max()
    assert computed.examples == counted.sum()
    assert computed.end_ns == pytest.approx(last, rel=1e-4)


def test_decisions_are_waited_for():
    spec = CoordinationSpec(kind="bsp")
    even = [Speeds(time_ns=np.zeros(1), speed=np.ones(1))] * WORKERS
    for decision_ns in (0.0, 1e6):
        found = run_coordinated(
            make_coordinator(spec, WORKERS, 1),
            machines(even),
            [BATCH] * WORKERS,
            EXAMPLE_NS,
            examples=5 * WORKERS * BATCH,
            decision_ns=decision_ns,
        )
        assert found.end_ns == pytest.approx(5 * BATCH * EXAMPLE_NS + 4 * decision_ns)


def test_stolen_work_ends_a_step_sooner_and_never_sooner_than_all_machines_can():
    uneven = [Speeds(time_ns=np.zeros(1), speed=np.array([s])) for s in (0.25, 1.0, 1.0, 1.0)]
    args = (machines(uneven), [100] * WORKERS, EXAMPLE_NS)
    found = run_stealing(WorkStealing(), *args, steps=6, costs=StealingCosts())
    alone_ns, together_ns = 6 * 400 * EXAMPLE_NS, 6 * 400 / 3.25 * EXAMPLE_NS
    assert together_ns <= found.end_ns < 0.6 * alone_ns
    dear = StealingCosts(check_ns=2e5, help_ns=5e6)
    assert run_stealing(WorkStealing(), *args, steps=6, costs=dear).end_ns > found.end_ns


def test_without_anything_to_steal_a_step_takes_what_its_slowest_worker_does():
    even = [Speeds(time_ns=np.zeros(1), speed=np.array([s])) for s in (0.9, 1.0, 1.0, 1.0)]
    found = run_stealing(
        WorkStealing(), machines(even), [100] * WORKERS, EXAMPLE_NS, steps=3, costs=StealingCosts()
    )
    assert found.end_ns == pytest.approx(3 * 100 / 0.9 * EXAMPLE_NS)


def test_looks_that_take_all_of_the_time_are_refused():
    slow = [Speeds(time_ns=np.zeros(1), speed=np.array([0.01])).trace()] * 2
    costs = StealingCosts(check_ns=1e-2 * 100 * EXAMPLE_NS)
    both = [Machine(speed=trace, use=lambda _: Use()) for trace in slow]
    with pytest.raises(ValueError, match="all of the time between"):
        run_stealing(WorkStealing(), both, [100] * 2, EXAMPLE_NS, steps=1, costs=costs)
