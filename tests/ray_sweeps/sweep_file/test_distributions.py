"""Distributions against SciPy's, draws of a seed, strata of a Latin hypercube."""

import pytest
from scipy import stats

from ray_sweeps.space import Space
from ray_sweeps.sweep_file.distributions import Distribution
from ray_sweeps.sweep_file.sampling import quantiles
from tests.ray_sweeps.sweeps import ALONE, numbered, points_of


def drawn(text: str, count: int = 40, method: str = "random", seed: int = 1) -> Space:
    head = f"seed = {seed}\n{ALONE}"
    return numbered(
        f'{head}[[draw]]\nmethod = "{method}"\ncount = {count}\n[draw.factors]\n{text}\n'
    )


DELAY = 'delay = { distribution = "uniform", low = 1, high = 9, unit = "ms" }'


@pytest.mark.parametrize(
    ("given", "law"),
    [
        ({"distribution": "uniform", "low": -1, "high": 4.0}, stats.uniform(-1, 5)),
        ({"distribution": "log-uniform", "low": 0.1, "high": 40}, stats.loguniform(0.1, 40)),
        ({"distribution": "normal", "mean": 3, "sigma": 0.5}, stats.norm(3, 0.5)),
        ({"distribution": "lognormal", "median": 2, "sigma": 0.7}, stats.lognorm(0.7, scale=2)),
        ({"distribution": "exponential", "mean": 2.5}, stats.expon(scale=2.5)),
        ({"distribution": "pareto", "shape": 1.5, "least": 2}, stats.pareto(1.5, scale=2)),
    ],
)
def test_draws_follow_their_law(given, law) -> None:
    distribution = Distribution.model_validate(given)
    values = [distribution.value(float(u)) for u in quantiles(1, "x", "random", 4000)]
    assert stats.kstest(values, law.cdf).pvalue > 0.01
    assert stats.kstest(values, stats.norm(3.1, 0.52).cdf).pvalue < 0.01  # the test can tell
    at = [0.001, 0.25, 0.5, 0.99]
    assert [distribution.value(u) for u in at] == pytest.approx(list(law.ppf(at)), rel=1e-9)


def test_all_quantiles_have_a_finite_value() -> None:
    for given in (
        {"distribution": "normal", "mean": 0, "sigma": 1},
        {"distribution": "lognormal", "median": 1e18, "sigma": 10},
        {"distribution": "pareto", "shape": 0.1, "least": 1e18},
        {"distribution": "exponential", "mean": 1e18},
        {"distribution": "choice", "values": (1, 2)},
    ):
        distribution = Distribution.model_validate(given)
        for quantile in (0.0, 2.0**-53, 1 - 2.0**-53):
            assert abs(float(distribution.value(quantile))) < 1e200


def test_whole_numbers_of_an_even_draw_are_each_as_likely() -> None:
    given = {"distribution": "uniform", "low": 1, "high": 4, "whole": True}
    distribution = Distribution.model_validate(given)
    values = [distribution.value((k + 0.5) / 400) for k in range(400)]
    assert {value: values.count(value) for value in values} == {1: 100, 2: 100, 3: 100, 4: 100}
    assert distribution.value(1 - 2.0**-53) == 4


def test_a_latin_hypercube_has_one_draw_in_each_stratum_of_each_factor() -> None:
    more = 'gap = { distribution = "uniform", low = 0, high = 999, whole = true }'
    points = points_of(drawn(f"{DELAY}\n{more}", count=50, method="latin-hypercube"))
    delays = [float(str(point.values["delay"]).removesuffix("ms")) for point in points]
    gaps = [int(point.values["gap"] or 0) for point in points]
    assert sorted(int((value - 1) / 8 * 50) for value in delays) == list(range(50))
    assert sorted(value // 20 for value in gaps) == list(range(50))
    assert abs(stats.spearmanr(delays, gaps).statistic) < 0.5  # paired at random


def test_draws_hang_on_the_seed_and_the_factors_name_alone() -> None:
    def delays(space: Space) -> list[object]:
        return [point.values["delay"] for point in points_of(space)]

    for method in ("random", "latin-hypercube"):
        first = delays(drawn(DELAY, method=method))
        assert delays(drawn(DELAY, method=method)) == first
        assert delays(drawn(DELAY, method=method, seed=2)) != first
        more = 'gap = { distribution = "uniform", low = 0, high = 9, whole = true }\n'
        space = drawn(f"{more}{DELAY}", method=method)
        assert delays(space) == first
        other = DELAY.replace("delay = {", 'far = { path = "delay",')
        assert [p.values["far"] for p in points_of(drawn(other, method=method))] != first


def test_quantities_are_drawn_as_text_that_is_exact() -> None:
    distribution = Distribution.model_validate(
        {"distribution": "exponential", "mean": 3, "unit": "ms"}
    )
    assert distribution.value(0.5) == "2.079442ms"  # whole nanoseconds
    whole = Distribution.model_validate(
        {"distribution": "log-uniform", "low": 1, "high": 100, "unit": "gbit", "whole": True}
    )
    assert whole.value(0.3) == "4gbit"
