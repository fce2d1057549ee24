"""Coordinators by what they observe and decide, without an engine."""

import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from netcosim.errors import EnvironmentRefusedError
from netcosim.policies.coordination.asp import Asynchronous
from netcosim.policies.coordination.bsp import BulkSynchronous
from netcosim.policies.coordination.lb_bsp import LoadBalanced, in_proportion
from netcosim.policies.coordination.lb_bsp_gpu import LoadBalancedGpu
from netcosim.policies.coordination.ssp import StaleSynchronous
from netcosim.policies.coordinator.observed import Begin, Coordinator, Ended, Limits, Use
from netcosim.policies.coordinators import predictor_names, predictor_of
from netcosim.policies.prediction.average import MovingAverage
from netcosim.policies.prediction.memoryless import Memoryless
from netcosim.policies.stealing import Help, WorkStealing
from netcosim.scenario import CoordinationSpec
from netcosim.training.batch_curve import BatchCurve


def idle(worker: int) -> Use:
    return Use()


def ended(worker: int, step: int, taken_ns: float = 1.0, batch: int = 32) -> Ended:
    return Ended(worker=worker, step=step, batch=batch, taken_ns=taken_ns)


def round_of(coordinator: Coordinator, step: int, batches, taken_ns, use=idle) -> list[int]:
    """All workers end a step, in turn; batches of the next one."""
    for worker, (batch, taken) in enumerate(zip(batches, taken_ns, strict=True)):
        out = coordinator.ended(ended(worker, step, taken, batch), use)
        assert bool(out) == (worker == len(batches) - 1)
    assert [each.worker for each in out] == list(range(len(batches)))
    return [each.batch for each in out]


def test_everybody_goes_on_at_once():
    coordinator = Asynchronous()
    assert coordinator.begin([8, 16]) == [Begin(0, 8), Begin(1, 16)]
    assert coordinator.ended(ended(1, 0, batch=16), idle) == [Begin(1, 16)]


def test_a_barrier_lets_all_go_on_behind_the_last():
    coordinator = BulkSynchronous()
    coordinator.begin([8, 16])
    assert coordinator.ended(ended(1, 0), idle) == []
    assert coordinator.ended(ended(0, 0), idle) == [Begin(0, 8), Begin(1, 16)]


@given(gap=st.integers(0, 4), order=st.lists(st.integers(0, 2), min_size=1, max_size=60))
def test_nobody_is_further_ahead_than_the_gap_and_nobody_waits_who_is_not(gap, order):
    coordinator = StaleSynchronous(gap)
    coordinator.begin([1, 1, 1])
    done, busy = [0, 0, 0], {0, 1, 2}
    for worker in order:
        if worker not in busy:
            continue
        busy.remove(worker)
        done[worker] += 1
        busy |= {each.worker for each in coordinator.ended(ended(worker, done[worker]), idle)}
        assert busy == {w for w in range(3) if done[w] - min(done) <= gap}


@st.composite
def shares(draw):
    speeds = draw(st.lists(st.floats(-1, 1e6), min_size=1, max_size=40))
    limits = [
        Limits(least, least + draw(st.integers(0, 500)))
        for least in draw(st.lists(st.integers(1, 9), min_size=len(speeds), max_size=len(speeds)))
    ]
    least, most = sum(each.least for each in limits), sum(each.most for each in limits)
    return speeds, draw(st.integers(least, most)), limits


@given(shares())
def test_examples_are_shared_out_to_the_last_one_within_limits(share):
    speeds, examples, limits = share
    parts = in_proportion(speeds, examples, limits)
    assert sum(parts) == examples
    assert all(each.least <= p <= each.most for p, each in zip(parts, limits, strict=True))


@given(speeds=st.lists(st.floats(0.5, 1e3), min_size=1, max_size=40), spare=st.integers(0, 10_000))
def test_parts_are_in_proportion_but_for_whole_numbers_and_who_has_one(speeds, spare):
    """As filling up: speeds times one level, but one example at least."""
    examples = len(speeds) + spare
    low, high = 0.0, examples / min(speeds)
    for _ in range(200):
        level = (low + high) / 2
        if sum(max(1.0, level * speed) for speed in speeds) < examples:
            low = level
        else:
            high = level
    parts = in_proportion(speeds, examples)
    for part, speed in zip(parts, speeds, strict=True):
        assert abs(part - max(1.0, high * speed)) < 1 + 1e-6


def test_equal_workers_beside_one_at_its_limit_have_equal_parts():
    assert in_proportion([3.0, 2.0, *[0.05] * 6], 16) == [6, 4, 1, 1, 1, 1, 1, 1]
    limits = [Limits(1, 100), Limits(1, 4), Limits(1, 100)]
    assert in_proportion([1.0, 1.0, 1.0], 30, limits) == [13, 4, 13]


@pytest.mark.parametrize("examples", [1, 9])
def test_examples_that_limits_do_not_allow_are_refused(examples):
    with pytest.raises(ValueError, match="must be 2 to 8"):
        in_proportion([1.0, 1.0], examples, [Limits(1, 4)] * 2)


@pytest.mark.parametrize("predictor", [Memoryless, MovingAverage])
def test_constant_speeds_are_balanced_behind_one_step(predictor):
    coordinator = LoadBalanced(3, lambda _: predictor())
    batches = [each.batch for each in coordinator.begin([40, 40, 40])]
    for step in range(3):
        batches = round_of(
            coordinator, step, batches, [b / s for b, s in zip(batches, (1, 2, 3), strict=True)]
        )
        assert batches == [20, 40, 60]


def test_an_average_follows_a_jump_slowly():
    average = MovingAverage(0.2)
    for speed in (10.0, 10.0, 20.0):
        average.observe(speed)
    assert average.predict(Use()) == pytest.approx(12.0)


# Algorithm 2.


def gpu(equilibrium: int, example_ns: float) -> BatchCurve:
    """Curve that takes 1.2 s with a batch, and is flat below the smallest ones."""
    full, at_ns = 8 if equilibrium > 32 else 2, 1.2e9
    least_ns = at_ns - example_ns * (equilibrium - full)
    most_ns = at_ns + example_ns * (200 - equilibrium)
    return BatchCurve((0.0, float(full), 200.0), (least_ns, least_ns, most_ns))


CURVES = [gpu(89, 8.8e6), gpu(21, 40e6), gpu(12, 60e6), gpu(6, 77e6)]


@pytest.mark.parametrize("seed", range(5))
def test_batches_find_the_equilibrium_of_their_curves(seed):
    rng = np.random.default_rng(seed)
    coordinator = LoadBalancedGpu()
    batches = [each.batch for each in coordinator.begin([32] * 4)]
    for step in range(60):
        noise = 1 + 0.003 * rng.standard_normal(4)
        taken = [c.of(b) * n for c, b, n in zip(CURVES, batches, noise, strict=True)]
        batches = round_of(coordinator, step, batches, taken)
        assert sum(batches) == 128
    assert np.abs(np.array(batches) - (89, 21, 12, 6)).max() <= 2
    assert coordinator.fine_since is not None


def test_an_answer_is_of_the_step_after_the_next():
    coordinator = LoadBalancedGpu()
    batches = [each.batch for each in coordinator.begin([32, 32])]
    seen = []
    for step in range(8):
        batches = round_of(coordinator, step, batches, [1.0, 2.0])
        seen.append(batches)
    # Five steps are to be observed; what follows from the fifth is there behind the sixth.
    assert seen == [[32, 32]] * 5 + [[37, 27], [42, 22], [47, 17]]


def test_a_worker_without_memory_to_spare_gets_no_more():
    coordinator = LoadBalancedGpu()
    coordinator.begin([32, 32, 32])
    batches = [32, 32, 32]
    memory = [0.96, 0.95, 0.1]
    for step in range(6):
        batches = round_of(
            coordinator, step, batches, [1.0, 2.0, 3.0], lambda w: Use(memory=memory[w])
        )
    assert batches == [32, 37, 27]


def test_nobody_gets_a_batch_beyond_its_limits():
    """A leader has room by what it has now, and not with what it is going to have."""
    coordinator = LoadBalancedGpu()
    coordinator.begin([32, 32], [Limits(1, 50), Limits(20, 100)])
    batches = [32, 32]
    for step in range(30):
        batches = round_of(coordinator, step, batches, [1.0, 2.0])
    assert batches == [42, 22]


def test_a_batch_that_can_t_be_made_smaller_is_warned_of():
    coordinator = LoadBalancedGpu()
    coordinator.begin([5, 32])
    batches = [5, 32]
    for step in range(7):
        batches = round_of(coordinator, step, batches, [3.0, 1.0])
    assert coordinator.warned
    assert batches == [5, 32]


LIBRARY = {"arima": "statsmodels", "lstm": "PyTorch", "narx": "PyTorch", "rnn": "PyTorch"}


def spec(name: str) -> CoordinationSpec:
    return CoordinationSpec(kind="lb_bsp", predictor=name)


@pytest.mark.parametrize("name", [n for n in predictor_names() if n not in LIBRARY])
def test_a_constant_speed_is_predicted(name: str) -> None:
    predictor = predictor_of(spec(name), 1)(0)
    for _ in range(30):
        predictor.observe(7.0)
    assert predictor.predict(Use()) == pytest.approx(7.0)


@pytest.mark.parametrize("name", LIBRARY)
def test_a_library_that_is_not_there_is_named(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for module in ("torch", "statsmodels", "statsmodels.tsa.arima.model"):
        monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(EnvironmentRefusedError, match=f"needs {LIBRARY[name]}: pip install"):
        predictor_of(spec(name), 1)(0)


def test_the_furthest_behind_is_helped_by_the_furthest_ahead_a_little_and_then_more():
    rule = WorkStealing()
    rule.begin()
    assert rule.check([100, 100, 100], [90, 50, 80]) == [Help(0, 1, 2)]
    assert rule.check([100, 100, 100], [90, 50, 80]) == [Help(0, 1, 5)]
    rule.begin()
    assert rule.check([100, 100, 100], [90, 50, 80]) == [Help(0, 1, 2)]


def test_nobody_is_helped_who_is_not_behind():
    assert WorkStealing().check([100, 100], [60, 50]) == []


@given(left=st.lists(st.integers(0, 100), min_size=1, max_size=12), behind=st.floats(0.01, 0.9))
def test_nobody_gives_what_it_has_not_and_nobody_helps_twice(left, behind):
    rule = WorkStealing(behind=behind)
    rule.begin()
    helps = rule.check([100] * len(left), left)
    after = np.array(left)
    for straggler, helper, examples in helps:
        assert left[straggler] - left[helper] >= 100 * behind - 1e-9
        after[straggler] -= examples
        after[helper] += examples
    assert after.min() >= 0
    assert after.sum() == sum(left)
    assert len({each.helper for each in helps}) == len(helps)
