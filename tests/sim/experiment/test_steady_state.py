"""The part of a run that counts, the rate in it, and where it becomes steady."""

import numpy as np
import pytest

from sim.engine.base import Steps
from sim.experiment.steady_state import count_all, count_settled, steady_from


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
