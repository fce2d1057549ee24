"""Ranges: both ends, evenly spread, whole numbers distinct."""

import math
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from netcosim.units import parse_rate_bps
from ray_sweeps.sweep_file.ranges import spread, stepped
from tests.ray_sweeps.sweeps import ALONE, numbered

whole = st.integers(1, 10**6)
counts = st.integers(2, 200)


@given(whole, whole, counts, st.sampled_from(["linear", "log"]))
def test_whole_numbers_ascend_from_end_to_end(first, last, count, scale) -> None:
    if last - first + 1 < count:
        with pytest.raises(ValueError, match=r"only -?\d+ whole numbers"):
            spread(first, last, count, scale)
        return
    found = spread(first, last, count, scale)
    assert (found[0], found[-1], len(found)) == (first, last, count)
    assert all(isinstance(value, int) for value in found)
    assert all(a < b for a, b in pairwise(found))


@given(st.floats(1e-6, 1e6), st.floats(1.01, 1e6), counts)
def test_numbers_on_a_log_scale_have_one_ratio(first, ratio, count) -> None:
    found = spread(first, first * ratio, count, "log")
    assert (found[0], found[-1]) == (first, first * ratio)
    assert all(a < b for a, b in pairwise(found))
    step = math.log(ratio) / (count - 1)
    assert all(math.log(b / a) == pytest.approx(step, abs=1e-10) for a, b in pairwise(found))


@given(st.integers(-1000, 1000), st.integers(1, 500), st.integers(2, 50))
def test_numbers_on_a_linear_scale_have_one_distance(first, width, count) -> None:
    found = spread(first / 8, (first + width) / 8, count, "linear")
    assert (found[0], found[-1], len(found)) == (first / 8, (first + width) / 8, count)
    apart = width / 8 / (count - 1)
    assert all(b - a == pytest.approx(apart, rel=1e-9) for a, b in pairwise(found))


def test_decimals_are_what_people_write() -> None:
    assert spread(0.1, 0.5, 5, "linear") == (0.1, 0.2, 0.3, 0.4, 0.5)
    assert spread(0.001, 1.0, 4, "log") == (0.001, 0.01, 0.1, 1.0)
    assert stepped(0.1, 0.6, 0.1, 100) == (0.1, 0.2, 0.3, 0.4, 0.5, 0.6)
    assert spread(1, 32, 6, "log") == (1, 2, 4, 8, 16, 32)


@given(st.integers(-100, 100), st.integers(0, 500), st.integers(1, 60))
def test_steps_go_up_to_the_upper_end(first, width, step) -> None:
    found = stepped(first, first + width, step, 1000)
    assert list(found) == list(range(first, first + width + 1, step))


@pytest.mark.parametrize(
    ("entry", "values"),
    [
        ('{ from = "1gbit", to = "100gbit", count = 3, scale = "log" }', "1gbit 10gbit 100gbit"),
        (
            '{ from = "500 Mbit/s", to = "2gbit", step = "0.5gbit" }',
            "500mbit 1000mbit 1500mbit 2000mbit",
        ),
        (
            '{ from = "1gbit", to = "2gbit", count = 4, scale = "log" }',
            "1gbit 1.25992105gbit 1.587401052gbit 2gbit",
        ),
    ],
)
def test_quantities_keep_the_unit_of_the_lower_end(entry: str, values: str) -> None:
    factor = numbered(f"{ALONE}[factors]\nrate = {entry}").factors[0]
    assert factor.values == tuple(values.split())
    assert all(parse_rate_bps(str(value)) >= 5 * 10**8 for value in factor.values)
