"""Points of a space by number: what there is, in which order, and which scenario each makes."""

import itertools
import pickle
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from netcosim.errors import ScenarioError
from netcosim.scenario import with_values
from ray_sweeps.simulated import Simulated
from ray_sweeps.space import Space
from tests.inside import ROOT
from tests.ray_sweeps.sweeps import ALONE, HEAD, numbered, points_of, space_from, sweep_of


def test_a_points_changes_make_its_scenario() -> None:
    text = """
name = "test"
[factors]
workers = { from = 1, to = 8, count = 4, scale = "log" }
servers = [1, 2]
rate = ["1gbit", "10gbit"]
"cluster.link.delay" = ["0ms", "5ms"]
straggler = ["none", "one-slow+jittery"]
"""
    sweep, space = sweep_of(text), space_from(text)
    points = points_of(space)
    assert len(space) == len(points) == 4 * 2 * 2 * 2 * 2 * 2  # two transports of the scenario
    for point in points:
        scenario = with_values(sweep.base, point.changes)
        assert scenario.training.workers == (point.values["workers"],)
        assert scenario.cluster.servers == point.values["servers"]
        assert [t.name for t in scenario.transport] == [point.values["transport"]]
        kinds = [entry.kind for entry in scenario.straggler]
        assert kinds == ([] if point.values["straggler"] == "none" else ["slow", "jitter"])
        delays_ns = {"0ms": 0, "5ms": 5_000_000}
        assert scenario.cluster.link.delay == delays_ns[str(point.values["cluster.link.delay"])]


levels = st.lists(st.integers(1, 50), min_size=1, max_size=4, unique=True)


@settings(max_examples=40)
@given(st.dictionaries(st.sampled_from(["servers", "batch", "gap", "steps"]), levels, min_size=1))
def test_every_point_of_the_product_is_there_once(lists) -> None:
    space = numbered(f"{ALONE.replace('steps = 60', '')}[factors]\n{_toml(lists)}")
    found = [tuple(point.values.values()) for point in points_of(space)]
    assert sorted(found) == sorted(itertools.product(*lists.values()))
    assert list(space.point(0).values) == list(lists)


def _toml(lists: dict[str, list[int]]) -> str:
    return "\n".join(f"{name} = {values}" for name, values in lists.items())


def test_what_makes_another_plan_varies_slowest_and_workers_fastest() -> None:
    space = numbered(
        f"""{HEAD}[factors]
workers = [1, 2]
rate = ["1gbit", "10gbit"]
servers = [1, 2]
gap = [1, 2]
order = ["as_listed", "reverse"]
[[zip]]
batch = [8, 16]
delay = ["0ms", "1ms"]
"""
    )
    names = [[column.name for column in axis.columns] for axis in space.axes]
    assert names == [["servers"], ["order"], ["batch", "delay"], ["rate"], ["gap"], ["workers"]]
    points = points_of(space)
    last = {
        name: sum(a.values[name] != b.values[name] for a, b in itertools.pairwise(points))
        for name in space.point(0).values
    }
    assert last["workers"] == len(points) - 1
    assert last["servers"] == 1
    assert last["batch"] == last["delay"] == 7


def test_a_zip_varies_together() -> None:
    space = numbered(
        f"{HEAD}[factors]\nworkers = [1, 2]\n[[zip]]\nservers = [1, 2, 4]\nbatch = [8, 16, 32]\n"
    )
    pairs = {(p.values["servers"], p.values["batch"]) for p in points_of(space)}
    assert len(space) == 6
    assert pairs == {(1, 8), (2, 16), (4, 32)}


def test_several_values_of_the_scenario_are_factors() -> None:
    space = numbered(
        """name = "test"
[fixed]
"training.rates" = ["1gbit", "2.5gbit"]
[factors]
gap = [1, 2]
"""
    )
    assert [factor.name for factor in space.factors] == ["gap", "transport", "rate", "workers"]
    assert space.factors[2].values == ("1gbit", "2500mbit")
    assert len(space) == 2 * 2 * 2 * 10
    changes = space.point(0).changes
    assert (changes["training.rates"], changes["cluster.link.rate"]) == (None, "1gbit")


def test_fewer_steps_than_warm_up_halve_it() -> None:
    text = f"{ALONE.replace('steps = 60', '')}[factors]\nsteps = [20, 500]\n"
    sweep = sweep_of(text)
    found = [with_values(sweep.base, p.changes).training for p in points_of(space_from(text))]
    assert [(t.steps, t.warmup) for t in found] == [(20, 10), (500, 50)]


def test_warm_up_that_is_given_stays() -> None:
    head = ALONE.replace("steps = 60", "")
    text = f'{head}"training.warmup" = 90\nsteps = 100\n[factors]\ngap = [1]\n'
    assert sweep_of(text).base.training.warmup == 90
    text = f'{head}"training.warmup" = 90\n[factors]\nsteps = [100]\n'
    assert space_from(text).point(0).changes == {"training.steps": 100}
    text = f'{head}[factors]\n"training.warmup" = [10, 90]\nsteps = [100, 120]\n'
    sweep = sweep_of(text)
    found = [with_values(sweep.base, p.changes).training for p in points_of(space_from(text))]
    assert {(t.steps, t.warmup) for t in found} == {(100, 10), (100, 90), (120, 10), (120, 90)}


CONDITIONED = f"""where = ["servers * batch <= 40", "delay < '5ms' or synchronisation == 'ssp'"]
{ALONE}
[factors]
servers = [1, 2, 4]
batch = [8, 16, 32]
synchronisation = ["asp", "ssp", "bsp"]
gap = {{ values = [1, 5], when = "synchronisation == 'ssp'" }}
delay = {{ values = ["0ms", "1ms", "5ms"], when = "gap != 5" }}
"""


def test_conditions_leave_what_a_naive_filter_leaves() -> None:
    found = [tuple(point.values.values()) for point in points_of(numbered(CONDITIONED))]
    expected = set()
    for servers, batch, synchronisation, gap, delay in itertools.product(
        (1, 2, 4), (8, 16, 32), ("asp", "ssp", "bsp"), (1, 5), (0, 1, 5)
    ):
        gap_or_none = gap if synchronisation == "ssp" else None
        delay_or_none = delay if gap_or_none != 5 else None
        known = delay_or_none is not None
        if servers * batch <= 40 and (not known or delay < 5 or synchronisation == "ssp"):
            text = f"{delay}ms" if known else None
            expected.add((servers, batch, synchronisation, gap_or_none, text))
    assert len(found) == len(set(found)) == len(expected)
    assert set(found) == expected


def test_a_factor_that_does_not_vary_changes_nothing() -> None:
    places = {"gap": "training.gap", "delay": "cluster.link.delay"}
    for point in points_of(numbered(CONDITIONED)):
        for name, place in places.items():
            assert (place in point.changes) == (point.values[name] is not None)


def test_a_drawn_factor_may_not_vary_and_its_position_stays() -> None:
    space = numbered(
        f"""{ALONE}[factors]
straggler = ["none", "one-slow"]
[[draw]]
count = 10
[draw.factors.slow]
path = "straggler.0.options.factor"
distribution = "uniform"
low = 1
high = 4
when = "straggler != 'none'"
"""
    )
    points = points_of(space)
    assert len(points) == 20
    for point in points:
        assert (point.values["slow"] is None) == (point.values["straggler"] == "none")
        assert ("straggler.0.options.factor" in point.changes) == (point.values["slow"] is not None)


def test_a_path_into_what_another_factor_sets_comes_after_it() -> None:
    text = f"""{ALONE.replace('transport = "grpc"', "")}[factors]
[factors.window]
path = "transport.grpc.window"
values = ["64KiB", "1MiB"]
when = "transport == 'grpc'"
[factors.transport]
values = ["grpc", "whole-messages"]
"""
    sweep, space = sweep_of(text), space_from(text)
    found = [
        [(t.name, t.window) for t in with_values(sweep.base, point.changes).transport]
        for point in points_of(space)
    ]
    assert sorted(found) == [[("grpc", 2**16)], [("grpc", 2**20)], [("whole-messages", None)]]


def test_two_readings_are_the_same_space_and_it_pickles_small() -> None:
    text = f"""{CONDITIONED}
[[draw]]
count = 100000
[draw.factors]
rate = {{ distribution = "log-uniform", low = 1, high = 10, unit = "gbit" }}
"""
    first, second = numbered(text), numbered(text)
    kept = pickle.dumps(first)
    assert len(kept) < 5000
    again: Space = pickle.loads(kept)
    assert first == second == again
    for number in range(0, len(first), 1_234_567):
        assert first.point(number) == second.point(number) == again.point(number)


def test_a_number_that_there_is_not() -> None:
    space = numbered(f"{ALONE}[factors]\nservers = [1, 2]\n")
    for number in (-1, 2, 10**12):
        with pytest.raises(IndexError, match="must be 0 to 1"):
            space.point(number)


SCHEDULED = f"""
name = "test"
scenario = "{ROOT}/examples/schedules.toml"
[fixed]
workers = 2
[factors]
schedule = {{ path = "policy.schedule", values = ["fifo", "p3", "bytescheduler"] }}
"""
CREDIT = '"policy.schedule_options.credit_bytes" = [3000000, 6000000]\n'


def test_options_that_a_points_policy_has_not_are_left_out() -> None:
    space = space_from(SCHEDULED + CREDIT)
    base = sweep_of(SCHEDULED).base
    made = [Simulated(space, base).scenario(point).policy for point in points_of(space)]
    assert [(policy.schedule, dict(policy.schedule_options)) for policy in made] == [
        *[("fifo", {})] * 2,
        *[("p3", {})] * 2,
        *[("bytescheduler", {"credit_bytes": credit}) for credit in (3_000_000, 6_000_000)],
    ]
    keys = [Simulated(space, base).resolve(number) for number in range(6)]
    assert len({key.key for key in keys if key is not None}) == 4


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            SCHEDULED.replace(', "bytescheduler"', "") + CREDIT,
            "factors.policy.schedule_options.credit_bytes: 3000000: "
            "policy.schedule_options.credit_bytes: 3000000: fifo has no such option",
        ),
        (
            SCHEDULED + CREDIT.replace("credit", "credits"),
            "policy.schedule_options.credits_bytes: 3000000: fifo has no such option",
        ),
    ],
)
def test_options_of_no_policy_that_a_point_has_are_refused(text: str, message: str) -> None:
    with pytest.raises(ScenarioError, match=re.escape(message)):
        space_from(text)
