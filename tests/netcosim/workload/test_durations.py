"""Recorded steps: measured rows as they are, medians varied as the jitter says, other batches."""

import json

import numpy as np
import pytest

from netcosim.errors import ScenarioError
from netcosim.scenario import build_scenario
from netcosim.scenario.profile import load_workload
from netcosim.workload import Jitter, Profile
from netcosim.workload.catalogue import load_profile, profile_names
from netcosim.workload.durations import draw_factors, recorded_steps, spread_factors
from netcosim.workload.lint import check
from netcosim.workload.scaled import scaled
from tests.netcosim.workload.profiles import plain, profile

DRAWN = 40_000
SIGMAS = 5  # one wrong alarm in a million


def rng() -> np.random.Generator:
    return np.random.default_rng(7)


def medians(**jitter: object) -> Profile:
    return profile(plain(samples="medians", duration_ns=[[1000, 2000, 30]], jitter=jitter))


def drawn(**jitter: object) -> np.ndarray:
    """Independent factors."""
    return draw_factors(Jitter.model_validate(jitter), (DRAWN,), rng())


def factors(count: int = DRAWN, seed: int = 7, **jitter: object) -> np.ndarray:
    """Factors of recorded steps: a row a step, a column an operation."""
    rng = np.random.default_rng(seed)
    return recorded_steps(medians(**jitter), rng=rng, count=count) / [1000, 2000, 30]


def assert_share(below: np.ndarray, expected: float) -> None:
    """A share of independent draws, within its error."""
    error = np.sqrt(expected * (1 - expected) / below.size)
    assert abs(below.mean() - expected) < SIGMAS * error


def test_measured_steps_are_the_rows():
    steps = recorded_steps(profile(), rng=rng())
    assert steps.dtype == np.float64
    assert steps.tolist() == plain()["duration_ns"]


def test_another_batch_scales_what_grows_with_it():
    steps = recorded_steps(profile(), rng=rng(), batch=6)
    assert steps.tolist() == [[15, 30, 5], [16.5, 31.5, 6]]
    assert recorded_steps(profile(), rng=rng(), batch=4).tolist() == plain()["duration_ns"]
    data = json.loads(json.dumps(plain()))
    data["step"]["operations"][1]["batch_share"] = 0.25
    assert recorded_steps(profile(data), rng=rng(), batch=8)[0, 0] == pytest.approx(10 * 1.25)


def test_a_hundred_steps_are_drawn_unless_told():
    assert recorded_steps(medians(model="lognormal", spread=0.1), rng=rng()).shape == (100, 3)
    assert recorded_steps(load_profile("alexnet"), rng=rng(), count=7).shape == (7, 59)


def test_without_variation_steps_are_the_medians():
    for model in ("deterministic", "lognormal", "pareto"):
        steps = recorded_steps(medians(model=model), rng=rng(), count=3)
        assert steps.tolist() == [[1000, 2000, 30]] * 3


@pytest.mark.parametrize("spread", [0.05, 0.6])
def test_independent_lognormal_factors(spread):
    """The logarithm is normal, of mean 0 and the spread as its deviation."""
    logs = np.log(drawn(model="lognormal", spread=spread))
    count = logs.size
    assert abs(logs.mean()) < SIGMAS * spread / np.sqrt(count)
    assert abs(logs.std() - spread) < SIGMAS * spread / np.sqrt(2 * count)
    assert_share(logs < spread, 0.8413447)
    assert_share(logs < -2 * spread, 0.0227501)


@pytest.mark.parametrize("spread", [0.1, 0.7])
def test_independent_pareto_factors(spread):
    """P(X > x) = (least / x) ** (1 / spread), and the median is 1."""
    found = drawn(model="pareto", spread=spread)
    least = 2.0**-spread
    assert found.min() >= least * (1 - 1e-12)
    assert found.min() < least * (1 + 0.01)
    for x in (1.0, 1.2, 2.0):
        assert_share(found > x, (least / x) ** (1 / spread))


def test_independent_factors_of_those_measured_are_equally_likely():
    found = drawn(model="empirical", factors=[0.5, 4.0, 1.0, 1.0])
    assert_share(np.isclose(found, 0.5), 0.25)
    assert_share(np.isclose(found, 1.0), 0.5)
    assert_share(np.isclose(found, 4.0), 0.25)


# The median and the quantiles at 5, 15, ... 95 %: what ten rows are to have. Standard normal ones
# from a table; Pareto's by 1 - (least / x) ** (1 / spread) = share.
NORMAL = [0.1256613, 0.3853205, 0.6744898, 1.0364334, 1.6448536]
TEN = {
    "lognormal": np.exp(0.5 * np.array([*(-z for z in reversed(NORMAL)), *NORMAL])),
    "pareto": 2**-0.5 * (1 - (np.arange(10) + 0.5) / 10) ** -0.5,
    "empirical": np.repeat([0.5, 1.0, 1.5, 2.0, 9.0], 2),
}


@pytest.mark.parametrize("scope", ["operation", "step"])
@pytest.mark.parametrize("model", sorted(TEN))
def test_rows_are_spread_evenly_over_the_distribution_whatever_the_seed(model, scope):
    kind = {"model": model, "spread": 0.5, "scope": scope}
    if model == "empirical":
        kind["factors"] = [1.5, 9, 0.5, 1, 2]
    one, other = (factors(10, seed, **kind) for seed in (1, 2))
    for found in (one, other):
        assert np.allclose(np.sort(found, axis=0), TEN[model][:, None], rtol=1e-6)
    assert not np.array_equal(one, other)


def test_a_single_row_is_the_median():
    for model in ("lognormal", "pareto"):
        assert np.allclose(factors(1, model=model, spread=0.5), 1)
    assert np.allclose(factors(1, model="empirical", factors=[3, 9, 0.5]), 3)


def test_chance_gives_every_row_each_factor_as_often():
    kind = medians(model="empirical", factors=[1, 2, 3, 4], scope="step")
    generator = rng()
    first = [recorded_steps(kind, rng=generator, count=4)[0, 0] / 1000 for _ in range(4000)]
    for factor in (1, 2, 3, 4):
        assert_share(np.isclose(first, factor), 0.25)


def test_a_hundred_rows_have_the_mean_and_the_spread_of_the_distribution():
    """exp(spread ** 2 / 2), and the spread but for tails of half a per cent at each end."""
    found = factors(100, model="lognormal", spread=0.1, scope="step")[:, 0]
    assert found.mean() == pytest.approx(np.exp(0.005), rel=1e-4)
    assert np.log(found).std() == pytest.approx(0.1, rel=0.01)


@pytest.mark.parametrize("model", ["lognormal", "pareto", "empirical"])
def test_each_operation_has_its_own_factor_or_the_step_has_one(model):
    kind = {"model": model, "spread": 0.3, "factors": [0.9, 1.1] if model == "empirical" else []}
    for scope, correlated in (("operation", False), ("step", True)):
        found = np.log(factors(**kind, scope=scope))
        together = np.corrcoef(found, rowvar=False)[0, 1]
        if correlated:
            assert np.allclose(found[:, :1], found)
            assert found.std() > 0
        else:
            assert abs(together) < SIGMAS / np.sqrt(DRAWN)


def test_the_same_seed_draws_the_same():
    kind = medians(model="lognormal", spread=0.1)
    one, two = (recorded_steps(kind, rng=rng()) for _ in range(2))
    assert np.array_equal(one, two)
    other = recorded_steps(kind, rng=np.random.default_rng(8))
    assert not np.array_equal(one, other)


def test_factors_can_be_changed_in_place():
    found = spread_factors(Jitter(model="lognormal", spread=0.1, scope="step"), (2, 3), rng())
    found[0, 0] = 9
    assert found[0, 1] != 9


@pytest.mark.parametrize("wrong", [{"batch": 0}, {"count": 0}])
def test_a_wrong_number_is_refused(wrong):
    with pytest.raises(ScenarioError, match="0: must be >= 1"):
        recorded_steps(medians(model="deterministic"), rng=rng(), **wrong)


def pulled(profile: Profile) -> list[int]:
    return [op.size_bytes for op in profile.step.transfers if op.source == "server"]


def pushed(profile: Profile) -> list[int]:
    return [op.size_bytes for op in profile.step.transfers if op.source == "worker"]


def computed_ns(profile: Profile) -> float:
    nodes = {resource.name: resource.node for resource in profile.step.resources}
    own = [nodes[op.resource] == "worker" for op in profile.step.computes]
    rows = [sum(d for d, mine in zip(row, own, strict=True) if mine) for row in profile.duration_ns]
    return sum(rows) / len(rows)


@pytest.mark.parametrize("name", profile_names())
def test_sums_are_as_asked_for(name: str) -> None:
    before = load_profile(name)
    after = scaled(before, 4_000_000, 320_000_000)
    check(after, name)
    assert sum(pulled(after)) == 4_000_000
    assert sorted(pushed(after)) == sorted(pulled(after))
    assert computed_ns(after) == pytest.approx(320e6, rel=1e-5)
    factor = 4e6 / sum(pulled(before))
    for small, large in zip(pulled(after), pulled(before), strict=True):
        assert small == pytest.approx(large * factor, abs=2)
    share = [row[0] / sum(row) for profile in (before, after) for row in profile.duration_ns[:1]]
    assert share[0] == pytest.approx(share[1], rel=1e-3)


def test_without_either_it_is_as_recorded() -> None:
    profile = load_profile("alexnet")
    assert scaled(profile, None, None) is profile


def workload(**settings: object) -> Profile:
    scenario = build_scenario(
        {
            "name": "x",
            "cluster": {"topology": "pair", "link": {"rate": "1gbit"}},
            "workload": [{"name": "job", "profile": "alexnet", **settings}],
            "transport": [{"name": "h2", "sender": "h2", "receiver": "h2"}],
        }
    )
    return load_workload(scenario.workload[0])


def test_a_scenario_scales_its_profile() -> None:
    assert sum(pulled(workload(total="4MB"))) == 4_000_000
    assert computed_ns(workload(computation="100ms")) == pytest.approx(1e8, rel=1e-5)


def test_fewer_bytes_than_messages_are_refused() -> None:
    with pytest.raises(ScenarioError, match=r"^workload\[job\]\.total: 3: must be >= 16"):
        workload(total="3B")
