"""From where on a run has settled."""

import numpy as np

from sim.experiment.steady_state import steady_from


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
