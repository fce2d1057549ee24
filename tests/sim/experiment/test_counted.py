"""Which part of a run counts, and the rate in it, on tables of steps whose rate is known."""

import numpy as np
import pytest

from sim.engine.answers import Steps
from sim.experiment.steady_state import count_all, count_settled


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
