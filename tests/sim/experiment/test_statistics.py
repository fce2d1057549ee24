"""Figures of a training summary against ones worked out by hand."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from netcosim.results.training.bottleneck import bottleneck
from netcosim.results.training.summary import LinkUse, Point
from sim.engine.base import Steps
from sim.experiment.statistics import (
    estimate,
    overlap,
    saturation,
    step_times,
    straggler_ns,
    t_95,
    time_shares,
    worker_utilisation,
)
from sim.experiment.steady_state import count_all, count_settled, steady_from


@pytest.mark.parametrize("freedom", [1, 2, 3, 5, 9, 10, 11, 30, 100, 1000])
def test_the_quantiles_are_student_s(freedom: int) -> None:
    """Integrate the density from -t to t, by the trapezium rule, after t = tan(u) sqrt(n)."""
    edge = math.atan(t_95(freedom) / math.sqrt(freedom))
    u = np.linspace(-edge, edge, 200_001)
    density = np.cos(u) ** (freedom - 1)
    whole = math.sqrt(math.pi) * math.exp(math.lgamma(freedom / 2) - math.lgamma((freedom + 1) / 2))
    inside = float(np.sum((density[1:] + density[:-1]) / 2) * (u[1] - u[0])) / whole
    assert inside == pytest.approx(0.95, abs=2e-5)


def test_the_interval_of_three_runs_by_hand() -> None:
    made = estimate([9.0, 10.0, 11.0])
    assert made.mean == 10
    assert made.half_width == pytest.approx(4.30265 / math.sqrt(3))
    assert made.values == (9, 10, 11)
    assert estimate([7.0]).half_width is None


def test_the_interval_holds_the_truth_in_95_of_100_cases() -> None:
    rng = np.random.default_rng(4)
    tries = 4000
    held = 0
    for sample in rng.normal(3.0, 1.0, (tries, 5)):
        made = estimate(sample.tolist())
        held += abs(made.mean - 3.0) <= (made.half_width or 0.0)
    error = 4 * math.sqrt(0.95 * 0.05 / tries)
    assert held / tries == pytest.approx(0.95, abs=error)


def test_percentiles_of_steps() -> None:
    times = step_times(np.arange(101.0))
    assert (times.mean, times.median, times.p95, times.p99, times.max) == (50, 50, 95, 99, 100)


def test_time_shares_follow_the_modes() -> None:
    shares = time_shares([[1.0, 2, 3, 4, 5, 6, 7, 8, 9], [0.0] * 9])
    assert shares.idle == pytest.approx(1 / 45)
    assert shares.receiving == pytest.approx(2 / 45)
    assert shares.computing == pytest.approx(3 / 45)
    assert shares.receiving_computing == pytest.approx(4 / 45)
    assert shares.sending == pytest.approx(5 / 45)
    assert shares.receiving_sending == pytest.approx(6 / 45)
    assert shares.computing_sending == pytest.approx(7 / 45)
    assert shares.all_three == pytest.approx(8 / 45)
    assert shares.waiting == pytest.approx(9 / 45)
    assert worker_utilisation(shares) == pytest.approx((3 + 4 + 7 + 8) / 45)
    assert overlap(shares) == pytest.approx((4 + 7 + 8) / (2 + 4 + 5 + 6 + 7 + 8))
    with pytest.raises(ValueError, match="no worker spent any time"):
        time_shares(np.zeros((3, 9)))


def test_without_communication_there_is_no_overlap() -> None:
    assert overlap(time_shares([1.0, 0, 2, 0, 0, 0, 0, 0, 3])) is None


@given(st.lists(st.floats(0, 1e15), min_size=9, max_size=9).filter(lambda v: sum(v) > 0))
def test_shares_add_up_to_one(spent: list[float]) -> None:
    shares = time_shares(spent)
    assert sum(value for _, value in shares) == pytest.approx(1)
    assert 0 <= worker_utilisation(shares) <= 1 + 1e-9


def test_straggling_is_how_long_the_first_of_a_round_waits_for_the_last() -> None:
    step = np.array([0, 1, 0, 1, 0, 1, 2, 2])
    ends = np.array([10.0, 57, 12, 58, 30, 51, 90, 99])
    assert straggler_ns(step, ends, 3) == (30 - 10 + 58 - 51) / 2  # the third never ended step 2
    assert straggler_ns(step[:1], ends[:1], 1) == 0
    assert straggler_ns(step, ends, 4) is None
    assert straggler_ns(step[:0], ends[:0], 1) is None


def test_straggling_of_two_workers_is_all_that_they_differ_by() -> None:
    assert straggler_ns(np.array([7, 7]), np.array([3.0, 5.0]), 2) == 2


def point(workers: int, rate: float, **changes: object) -> Point:
    time = changes.pop("time", time_shares([0.5, 0, 0.5, 0, 0, 0, 0, 0, 0]))
    links = changes.pop("links", {(0, "down"): 0.5, (0, "up"): 0.4})
    assert isinstance(links, dict)
    return Point(
        workers=workers,
        runs=1,
        steps=10,
        warmup=1,
        engine="fast",
        steps_per_s=estimate([rate]),
        examples_per_s=estimate([rate]),
        step_ns=step_times([1.0]),
        time=time,  # type: ignore[arg-type]
        overlap=None,
        link_utilisation=tuple(
            LinkUse(server=k, direction=way, utilisation=u) for (k, way), u in links.items()
        ),
        worker_utilisation=worker_utilisation(time),  # type: ignore[arg-type]
        straggler_ns=None,
        baselines={},
    )


@pytest.mark.parametrize(
    ("rates", "found"),
    [
        ({1: 10, 2: 20, 3: 20.4, 4: 20.7}, 2),
        ({1: 10, 2: 20, 4: 21, 8: 22}, 4),  # 0.5 a worker is 5 %, which is not less
        ({1: 10, 2: 20, 4: 20.9, 8: 22}, 2),
        ({1: 10, 2: 10.1, 3: 20, 4: 20.1}, 3),  # a dip is no end
        ({1: 10, 2: 20, 3: 30}, None),
        ({5: 9.3, 6: 5.5, 7: 8, 8: 5.7}, 5),  # fewer that do more are enough
        ({5: 9.3, 6: 5.5, 8: 11}, None),
        ({1: 10, 2: 9}, 1),
        ({2: 20, 4: 40, 8: 40}, 4),
        ({2: 20, 4: 21.2, 8: 22.4}, 4),  # of what one alone does, not of half of two: 0.6, 0.3
        ({2: 8, 4: 8.9}, 2),
        ({1: 10}, None),
        ({}, None),
    ],
)
def test_saturation_by_hand(rates: dict[int, float], found: int | None) -> None:
    made = saturation([point(w, rate) for w, rate in reversed(rates.items())], 10.0)
    assert (None if made is None else made.workers) == found


def test_what_is_short() -> None:
    computing = time_shares([0.05, 0, 0.95, 0, 0, 0, 0, 0, 0])
    waiting = time_shares([0.0, 0.1, 0.5, 0, 0, 0, 0, 0, 0.4])
    network = time_shares([0.0, 0.1, 0.4, 0, 0.1, 0.1, 0, 0, 0.3])
    idle = time_shares([0.26, 0.24, 0.5, 0, 0, 0, 0, 0, 0])
    down = {(0, "down"): 0.97, (0, "up"): 0.99, (1, "down"): 0.96, (1, "up"): 0.2}
    both = {(0, "down"): 0.97, (1, "down"): 0.99}
    cases = {
        "workers": (point(1, 1, time=computing), "the workers compute nearly all the time (95 %)"),
        "waiting": (point(1, 1, time=waiting), "workers wait for one another (40 % of their time)"),
        "network": (
            point(1, 1, time=network),
            "workers only send or receive for 30 % of their time, though even the fullest link"
            " of a server is used to no more than 50 %",
        ),
        "none": (point(1, 1, time=idle), "nothing is used up: workers compute for 50 % of"),
        "server 0 up": (point(1, 1, links=down), "the uplink of server 0 is full (99 %)"),
        "all servers down": (
            point(1, 1, links=both),
            "the downlinks of all servers are full (99 %)",
        ),
    }
    for name, (one, text) in cases.items():
        found = bottleneck(one)
        assert found.name == name
        assert found.text.startswith(text)
    assert bottleneck(point(1, 1, links={})).share == 0


def table(*ends_ns: list[float], starts_ns: list[float] | None = None) -> Steps:
    """Each worker's ends of steps, which follow on each other; rows by end, then by worker."""
    rows = []
    for worker, ends in enumerate(ends_ns):
        before = [starts_ns[worker] if starts_ns else 0.0, *ends[:-1]]
        rows += [(e, worker, i, b) for i, (b, e) in enumerate(zip(before, ends, strict=True))]
    rows.sort()
    return Steps(
        worker=np.array([r[1] for r in rows]),
        step=np.array([r[2] for r in rows]),
        start_ns=np.array([r[3] for r in rows]),
        end_ns=np.array([r[0] for r in rows]),
        weight=np.ones(len(rows)),
    )


def even(period_ns: float, count: int, phase_ns: float = 0.0) -> list[float]:
    return [phase_ns + period_ns * (i + 1) for i in range(count)]


@pytest.mark.parametrize("workers", [1, 2, 8])
def test_workers_in_step_that_all_end_at_one_time(workers: int) -> None:
    """The run stops at the first one's last step: the others' is not there."""
    ends = [even(100.0, 60), *(even(100.0, 59) for _ in range(workers - 1))]
    counted = count_settled(table(*ends), workers, 10)
    assert counted.steps_per_s == pytest.approx(workers * 1e7, rel=1e-12)
    assert counted.left_out == 0


@pytest.mark.parametrize("warmup", [0, 1, 7])
def test_steps_count_in_part_whoever_ends_first(warmup: int) -> None:
    ends = [even(100.0, 60), even(130.0, 46, 17.0), even(700.0, 8, 80.0)]
    counted = count_settled(table(*ends, starts_ns=[0.0, 17.0, 80.0]), 3, warmup)
    if warmup:
        assert counted.steps_per_s == pytest.approx(1e9 / 100 + 1e9 / 130 + 1e9 / 700, rel=1e-12)
    else:  # two of them begin later than the time that counts
        least = 1e9 / 100 + 1e9 / 130 * 0.99 + 1e9 / 700 * 0.98
        assert counted.steps_per_s == pytest.approx(least, rel=0.01)


def test_rounds_with_a_barrier_have_the_rate_of_the_barriers() -> None:
    """Workers end at other times in each round, and wait; the slowest says when the next begins."""
    rng = np.random.default_rng(4)
    rates = []
    for _ in range(200):
        took = rng.uniform(50.0, 100.0, (41, 4))
        begins = np.concatenate([[0.0], np.cumsum(took.max(axis=1))])
        ends = begins[:-1, None] + took
        last = ends[-1].min()
        steps = table(*([e for e in ends[:, w] if e <= last] for w in range(4)))
        counted = count_settled(steps, 4, 5)
        rates.append(counted.steps_per_s * (50 + 50 * 4 / 5) / 1e9)
    error = np.std(rates) / np.sqrt(len(rates))
    assert abs(np.mean(rates) - 4) < 4 * error
    assert error < 0.01


def test_someone_who_hardly_ends_anything_counts_for_nothing_but_does_no_harm() -> None:
    counted = count_settled(table(even(100.0, 60), [300.0]), 2, 10)
    assert counted.steps_per_s == pytest.approx(1e7)


def test_what_changes_counts_whole() -> None:
    ends = [*even(100.0, 20), *even(200.0, 20, 2000.0)]
    counted = count_all(table(ends), 10)
    assert counted.steps_per_s == pytest.approx(30 / 5000e-9)
    assert counted.steps.sum() == 30


def test_steady_values_are_kept_but_for_little() -> None:
    """Of 200 runs of noise hardly one loses more than a fifth."""
    lost = [steady_from(np.random.default_rng(seed).normal(10, 1, 400))[0] for seed in range(200)]
    assert np.mean(lost) < 40
    assert np.quantile(lost, 0.9) <= 160


def test_a_beginning_of_another_kind_is_left_out() -> None:
    for seed in range(50):
        rng = np.random.default_rng(seed)
        values = rng.normal(10, 0.2, 400)
        values[:120] += 4
        first, steady = steady_from(values)
        assert 115 <= first <= 200
        assert steady


def test_what_never_settles_is_said_not_to_be_steady() -> None:
    assert not steady_from(np.linspace(1, 2, 400))[1]


def test_a_few_values_are_taken_as_they_are() -> None:
    assert steady_from(np.array([9.0, 1.0, 1.0])) == (0, True)


def test_the_error_is_the_standard_error_of_the_batches_that_are_left() -> None:
    """The sums from behind give what the definition gives."""
    values = np.random.default_rng(1).exponential(1.0, 100)
    means = values.reshape(20, 5).mean(axis=1)
    by_definition = [np.var(means[d:]) / (20 - d) for d in range(11)]
    assert steady_from(values)[0] == 5 * int(np.argmin(by_definition))


def test_rounding_alone_leaves_nothing_out() -> None:
    noise = np.random.default_rng(2).normal(0, 1e-13, 400)
    assert steady_from(10 * (1 + noise)) == (0, True)
