"""Straggler ensembles: names combined, intensities drawn."""

from typing import Any

import pytest
from scipy import stats

from netcosim.errors import ScenarioError
from netcosim.scenario import with_values
from ray_sweeps.space import Point
from tests.ray_sweeps.sweeps import ALONE, numbered, points_of, space_from, sweep_of

SLOW = """
[stragglers.slow-cpu]
draws = 5
[[stragglers.slow-cpu.entries]]
kind = "slow"
share = 0.25
options.factor = { distribution = "lognormal", median = 2.0, sigma = 0.3 }
[[stragglers.slow-cpu.entries]]
kind = "transient"
workers = "all"
[stragglers.slow-cpu.entries.options]
every = { distribution = "uniform", low = 30, high = 90, unit = "s" }
lasting = "5s"
factor = 3.0
[stragglers.far]
entries = [{ kind = "delay", workers = [0], options = { delay = "2ms" } }]
"""
VARIED = f'{ALONE}[factors]\nstraggler = ["none", "far+jittery", "slow-cpu", "slow-cpu+far"]\n'


def entries(point: Point) -> list[dict[str, Any]]:
    found = point.changes["straggler"]
    assert isinstance(found, list)
    return found


def test_each_draw_is_a_point_with_its_own_intensities() -> None:
    sweep, space = sweep_of(VARIED + SLOW), space_from(VARIED + SLOW)
    points = points_of(space)
    names = [(point.values["straggler"], point.values["straggler_draw"]) for point in points]
    drawn = [("slow-cpu", n) for n in range(5)] + [("slow-cpu+far", n) for n in range(5)]
    assert names == [("none", None), ("far+jittery", None), *drawn]
    assert [f.values for f in space.factors if f.name == "straggler_draw"] == [(0, 1, 2, 3, 4)]
    kinds = [[entry["kind"] for entry in entries(point)] for point in points]
    assert kinds[:3] == [[], ["delay", "jitter"], ["slow", "transient"]]
    factors = [entries(point)[0]["options"]["factor"] for point in points[2:]]
    assert len(set(factors)) == 5
    assert factors[:5] == factors[5:]  # the same draws, whatever they are combined with
    for point in points:
        stragglers = with_values(sweep.base, point.changes).straggler
        assert [entry.kind for entry in stragglers] == [e["kind"] for e in entries(point)]


def test_intensities_follow_their_law_and_hang_on_the_seed() -> None:
    def factors(seed: int) -> list[float]:
        many = f"seed = {seed}\n{VARIED}{SLOW.replace('draws = 5', 'draws = 400')}"
        points = points_of(numbered(many))[2:402]
        return [entries(point)[0]["options"]["factor"] for point in points]

    first = factors(1)
    assert stats.kstest(first, stats.lognorm(0.3, scale=2).cdf).pvalue > 0.01
    assert factors(1) == first
    assert factors(2) != first


def test_an_ensemble_that_is_drawn_itself_has_new_intensities_at_each_position() -> None:
    space = numbered(
        f"""{ALONE}[[draw]]
count = 5
[draw.factors]
straggler = {{ distribution = "choice", values = ["slow-cpu"] }}
{SLOW}"""
    )
    points = points_of(space)
    assert len({entries(point)[0]["options"]["factor"] for point in points}) == 5


def test_a_condition_may_look_at_draws() -> None:
    space = numbered(f'where = ["straggler_draw < 2"]\n{VARIED}{SLOW}')
    found = [(p.values["straggler"], p.values["straggler_draw"]) for p in points_of(space)]
    assert found == [
        ("none", None), ("far+jittery", None),
        ("slow-cpu", 0), ("slow-cpu", 1), ("slow-cpu+far", 0), ("slow-cpu+far", 1),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("ensemble", "message"),
    [
        ('entries = [{ kind = "slo", count = 1 }]', r"stragglers.a.entries\[0\].kind: .*mean slow"),
        (
            'entries = [{ kind = "slow", count = 1, options = { facto = 2.0 } }]',
            r"stragglers.a.entries\[0\].options.facto: .* did you mean factor",
        ),
        ('entries = [{ kind = "slow" }]', r"stragglers.a.entries\[0\]: give one of 'workers'"),
        ("entries = []", "stragglers.a.entries: must not be empty"),
        (
            'draws = 2\nentries = [{ kind = "slow", count = 1, options = { factor = 2.0 } }]',
            "stragglers.a.draws: 2: no option is a distribution",
        ),
        (
            'entries = [{ kind = "slow", options.factor = { distribution = "normal" } }]',
            r"stragglers.a.entries\[0\].options.factor: normal needs mean, sigma",
        ),
        (
            'entries = [{ kind = "trace", count = 1, options.file = "gone.csv" }]',
            "stragglers.a: /nowhere/gone.csv: can't be read",
        ),
    ],
)
def test_wrong_ensembles_are_refused_in_a_line(ensemble: str, message: str) -> None:
    with pytest.raises(ScenarioError, match=message) as refused:
        sweep_of(f'{ALONE}[factors]\nstraggler = ["a"]\n[stragglers.a]\n{ensemble}\n')
    assert str(refused.value).isprintable()


@pytest.mark.parametrize("name", ["none", "jittery", '"a+b"'])
def test_names_that_are_taken_are_refused(name: str) -> None:
    with pytest.raises(ScenarioError, match=r"choose another|must be without"):
        sweep_of(
            f'{ALONE}[stragglers.{name}]\nentries = [{{ kind = "slow", count = 1,'
            " options = { factor = 2.0 } }]\n"
        )
