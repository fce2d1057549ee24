"""A simulation that is stopped, changed and gone on with."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from h2model import disciplines
from netcosim.training.plan import Draws, StepPlan
from netcosim.training.speed import SpeedTrace
from sim.engine.control import Control
from sim.engine.engine import Engine, Stop
from tests.sim.engines import make_engine
from tests.sim.naive.plans import (
    BYTE_A_NS,
    Op,
    at_worker,
    chain_plan,
    down,
    make_network,
    make_plan,
    make_sending,
    same_draws,
)
from tests.sim.naive.random_plans import random_draws, random_network, random_plan, random_sending


def engine(
    plan: StepPlan,
    workers: int = 1,
    steps: int = 1,
    factor: Sequence[float] | None = None,
    **options: Any,
) -> Engine:
    """One byte a nanosecond, first in first out, a row for every operation."""
    draws = same_draws(workers, steps, factor=factor)
    return make_engine(plan, draws, keep_operations=True, **options)


def ends(e: Engine) -> dict[tuple[int, int, str], float]:
    """End of every operation by worker, step and name."""
    o = e.operations()
    rows = zip(o.worker, o.step, o.operation, o.end_ns, strict=True)
    return {(int(w), int(s), e.plan.names[i]): float(end) for w, s, i, end in rows}


@pytest.mark.parametrize("share", ["equal", "max_min"])
def test_a_run_in_pieces_is_the_uninterrupted_run_to_the_last_bit(share: str) -> None:
    for seed in range(6):
        rng = np.random.default_rng(seed)
        plan = random_plan(rng)
        network = random_network(rng, share=share)
        job = (plan, network, random_sending(rng), random_draws(rng, plan))
        whole, pieces = (
            Engine(*job, Control(keep_operations=True), compiled=False) for _ in range(2)
        )
        whole.run()
        stops = [pieces.run(float(t)) for t in np.linspace(0, whole.now_ns * 0.9, 23)]
        assert Stop.TIME in stops
        assert pieces.run() == Stop.IDLE
        for name in ("worker", "operation", "ready_ns", "start_ns", "end_ns"):
            np.testing.assert_array_equal(
                getattr(pieces.operations(), name), getattr(whole.operations(), name)
            )


def test_boundaries_hand_over_to_whoever_decides() -> None:
    e = engine(chain_plan(), workers=2, steps=3, stop_at_steps=True)
    order = []
    while e.run() == Stop.BOUNDARY:
        order.append(e.ended)
        e.begin([e.ended])
    assert sorted(order) == [0, 0, 0, 1, 1, 1]
    free = engine(chain_plan(), workers=2, steps=3)
    free.run()
    np.testing.assert_array_equal(e.steps().end_ns, free.steps().end_ns)


def test_who_leaves_frees_the_link_at_once() -> None:
    """Both pull at half the rate; alone from 1000 ns on, the other needs 500 more."""
    e = engine(chain_plan(), workers=2)
    assert e.run(1000.0) == Stop.TIME
    e.leave(1)
    e.run()
    assert ends(e)[0, 0, "pull0"] == 1500.0
    assert not [key for key in ends(e) if key[0] == 1]


def test_nobody_waits_for_who_has_left() -> None:
    e = engine(chain_plan(worker_ns=500.0), workers=2, steps=4, staleness=0)
    e.run(2100.0)  # both compute
    e.leave(1)
    e.run()
    assert e.steps().worker.tolist() == [0, 0, 0, 0]


def test_who_joins_begins_with_the_slowest() -> None:
    e = engine(chain_plan(), workers=2, steps=4, staleness=0, absent=[1])
    e.run(3000.0)  # the first worker's step takes 2700
    e.join(1)
    e.run()
    steps = e.steps()
    assert steps.start_ns[steps.worker == 1][0] == 3000.0
    assert steps.step[steps.worker == 1].tolist() == [1, 2, 3]
    assert steps.step[steps.worker == 0].tolist() == [0, 1, 2, 3]


def test_a_dropped_step_leaves_nothing_behind() -> None:
    e = engine(chain_plan(), steps=2)
    e.run(1200.0)
    e.restart(0)
    e.begin([0])
    e.run()
    steps = e.steps()
    assert steps.start_ns.tolist() == [1200.0, 1200.0 + 2700.0]
    assert (steps.end_ns - steps.start_ns).tolist() == [2700.0, 2700.0]


@pytest.mark.parametrize("staleness", [0, 1, None])
def test_nobody_waits_for_a_step_that_was_abandoned(staleness: int | None) -> None:
    """The first worker is far behind when it gives its step up, and goes on with the others."""
    e = engine(chain_plan(), workers=3, steps=4, staleness=staleness, factor=[50.0, 1.0, 1.0])
    e.run(20_000.0)
    before = e.steps()
    assert not (before.worker == 0).any()
    if staleness is not None:
        assert before.step.max() == staleness
    e.abandon(0)
    e.run()
    steps = e.steps()
    assert steps.step[steps.worker == 0].tolist() == [1, 2, 3]
    assert steps.start_ns[steps.worker == 0][0] == 20_000.0
    for worker in (1, 2):
        assert steps.step[steps.worker == worker].tolist() == [0, 1, 2, 3]
    if staleness == 0:
        second = steps.start_ns[(steps.step == 1) & (steps.worker > 0)]
        assert second.tolist() == [20_000.0, 20_000.0]


def test_who_is_between_steps_has_none_to_abandon() -> None:
    e = engine(chain_plan(), workers=2, steps=2, staleness=0, factor=[50.0, 1.0])
    e.run(20_000.0)
    e.abandon(1)  # waits for the first
    e.run()
    assert sorted(zip(e.steps().worker, e.steps().step, strict=True)) == [
        (0, 0),
        (0, 1),
        (1, 0),
        (1, 1),
    ]


def two_pulls() -> StepPlan:
    pulls = [Op(name=name, at=down(), size_bytes=1000) for name in "ab"]
    use = Op(name="use", at=at_worker(), duration_ns=100.0, after=("a", "b"))
    return make_plan([*pulls, use])


def test_a_transfer_ended_early_frees_its_connection() -> None:
    e = engine(two_pulls())
    e.run(400.0)
    assert e.end_early(0, e.plan.names.index("a"))
    e.run()
    assert ends(e) == {(0, 0, "a"): 400.0, (0, 0, "b"): 1400.0, (0, 0, "use"): 1500.0}


def test_a_transfer_that_waits_can_be_ended_early() -> None:
    e = engine(two_pulls())
    e.run(400.0)
    assert e.end_early(0, e.plan.names.index("b"))
    assert not e.end_early(0, e.plan.names.index("b"))
    assert not e.end_early(0, e.plan.names.index("use"))  # not ready
    e.run()
    assert ends(e) == {(0, 0, "b"): 400.0, (0, 0, "a"): 1000.0, (0, 0, "use"): 1100.0}


def two_computations() -> StepPlan:
    return make_plan([Op(name=name, at=at_worker(), duration_ns=1000.0) for name in "ab"])


def test_computations_ended_early_running_or_waiting() -> None:
    e = engine(two_computations())
    e.run(300.0)
    assert e.end_early(0, 0)
    e.run()
    assert ends(e) == {(0, 0, "a"): 300.0, (0, 0, "b"): 1300.0}
    e = engine(two_computations())
    e.run(300.0)
    assert e.end_early(0, 1)
    e.run()
    assert ends(e) == {(0, 0, "b"): 300.0, (0, 0, "a"): 1000.0}


def test_part_of_a_computation_can_be_given_away() -> None:
    """A straggler's work is split in the middle: half of what is left goes to the other worker."""
    e = engine(two_computations(), workers=2)
    e.run(300.0)
    left = e.remaining_ns(0, 0)
    assert left == 700.0
    assert e.set_remaining(0, 0, left / 2)
    assert e.set_remaining(1, 1, 1000.0 + left / 2)
    assert e.remaining_ns(1, 1) is None  # it waits
    e.run()
    assert ends(e)[0, 0, "a"] == 650.0
    assert ends(e)[1, 0, "b"] == 1000.0 + 1350.0


def test_what_is_left_is_counted_at_full_speed() -> None:
    """At half speed until 1000 ns: by then half of the work is done."""
    slow = SpeedTrace(
        time_ns=np.array([0.0, 1000.0, 2000.0]), work_ns=np.array([0.0, 500.0, 1500.0])
    )
    e = engine(two_computations(), speeds=[slow])
    e.run(600.0)
    assert e.remaining_ns(0, 0) == pytest.approx(700.0)
    e.set_remaining(0, 0, 400.0)
    e.run()
    assert ends(e)[0, 0, "a"] == pytest.approx(1200.0)
    assert ends(e)[0, 0, "b"] == pytest.approx(2200.0)


def test_work_given_in_one_step_is_not_there_in_the_next() -> None:
    e = engine(two_computations(), steps=2)
    e.set_remaining(0, 1, 5.0)
    e.run(1.0)
    e.set_remaining(0, 1, 5.0)
    e.run()
    steps = e.steps()
    assert (steps.end_ns - steps.start_ns).tolist() == [1005.0, 2000.0]


@pytest.mark.parametrize("shape", [(1, 3), (2, 2), (3, 1)])
def test_factors_of_another_shape_are_refused(shape: tuple[int, int]) -> None:
    draws = Draws(step=np.zeros((2, 3), dtype=np.int64), factor=np.ones(shape))
    with pytest.raises(ValueError, match=r"factor: shape .*: must be \(2, 3\) or \(2, 1\)"):
        make_engine(chain_plan(), draws)


@pytest.mark.parametrize("discipline", disciplines.names())
def test_a_connection_that_was_emptied_serves_as_a_new_one(discipline: str) -> None:
    """Every discipline begins anew: the second worker's later steps are as if nothing had been."""
    plan = chain_plan(down_bytes=(1000, 700), up_bytes=(900,))
    ends_of = {}
    for leaves in (True, False):
        e = make_engine(plan, sending=make_sending(discipline), steps=3)
        if leaves:
            e.run(1100.0)
            e.leave(0)
            e.run(2000.0)
            e.join(0)
        e.run()
        steps = e.steps()
        ends_of[leaves] = (steps.end_ns - steps.start_ns).tolist()
    assert ends_of[True] == ends_of[False]


def test_who_joins_when_nobody_is_there_begins_then() -> None:
    e = engine(chain_plan(), steps=2)
    e.run(100.0)
    e.leave(0)
    assert e.run(5000.0) == Stop.IDLE
    e.join(0)
    e.run()
    assert e.steps().start_ns.tolist() == [5000.0, 5000.0 + 2700.0]


def ported(share: str, workers: int = 1, **network: float) -> Engine:
    """One pull of 1000 bytes, one push of 1000, at a byte a nanosecond; computing takes 500 ns."""
    ports = make_network(share=share, workers=workers, worker_bps=BYTE_A_NS * 100, **network)
    return make_engine(chain_plan(update_ns=0.0), network=ports, workers=workers)


@pytest.mark.parametrize("share", ["equal", "max_min"])
@pytest.mark.parametrize("workers", [1, 2])
def test_what_is_left_takes_longer_at_a_part_of_the_rate(share: str, workers: int) -> None:
    """400 ns at full rate, then all at a quarter: (W * 2000 - 400) * 4."""
    one = ported(share, workers)
    one.run(400.0)
    one.set_port(0, 0.25)
    one.run()
    ends = one.steps().end_ns
    assert ends.max() == pytest.approx(400 + 4 * (2000 * workers - 400) + 500, rel=1e-12)


@pytest.mark.parametrize("share", ["equal", "max_min"])
def test_a_port_gets_its_rate_back(share: str) -> None:
    one = ported(share)
    one.run(400.0)
    one.set_port(0, 0.5)
    one.run(800.0)
    one.set_port(0, 1.0)
    one.run()
    assert one.steps().end_ns.max() == pytest.approx(2500 + 200, rel=1e-12)


@pytest.mark.parametrize("share", ["equal", "max_min"])
def test_a_change_while_nothing_is_sent_is_of_what_comes(share: str) -> None:
    one = ported(share)
    one.run(1200.0)
    one.set_port(0, 0.1)
    one.run()
    assert one.steps().end_ns.max() == pytest.approx(1500 + 10_000, rel=1e-12)


def test_a_part_of_nothing_is_refused() -> None:
    with pytest.raises(ValueError, match="must be above 0"):
        ported("equal").set_port(0, 0.0)
    with pytest.raises(ValueError, match="both_busy 1"):
        ported("equal", both_busy=0.5).set_port(0, 0.5)
