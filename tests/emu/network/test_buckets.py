"""Buckets are the same ticks in the kernel, whichever release of tc tells them."""

import math
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from emu.network.buckets import bucket_bytes, part_bps
from tests.inside import inside

TICK_NS = 64
CASES = "tests.emu.network.cases"

few_digits = st.builds(
    lambda digits, zeros: digits * 10**zeros, st.integers(1, 999), st.integers(5, 9)
)


def ticks_of_6_1(size_bytes: int, rate_bps: int) -> int:
    """As iproute2 6.1 was seen to count: whole microseconds, then ticks, both rounded down."""
    microseconds = math.floor(Fraction(size_bytes * 8 * 10**6, rate_bps))
    return math.floor(Fraction(microseconds * 1000, TICK_NS))


def ticks_of_6_15(size_bytes: int, rate_bps: int) -> int:
    """As iproute2 6.15 was seen to count: ticks, rounded up."""
    return math.ceil(Fraction(size_bytes * 8 * 10**9, rate_bps * TICK_NS))


@pytest.mark.parametrize(
    ("size_bytes", "rate_bps", "older", "newer"),
    [
        (3028, 100_000_000, 0xEC5, 0xEC9),
        (1514, 100_000_000, 0x762, 0x765),
        (3028, 20_000_000, 0x49E9, 0x49ED),
        (3028, 1_000_000_000, 0x177, 0x17B),
        (25_000, 100_000_000, 0x7A12, 0x7A12),
    ],
)
def test_the_rules_are_those_that_kernels_were_told_by(size_bytes, rate_bps, older, newer) -> None:
    """Shown by `tc -raw -details class show` behind tc of Debian 12 and of Debian 13."""
    assert ticks_of_6_1(size_bytes, rate_bps) == older
    assert ticks_of_6_15(size_bytes, rate_bps) == newer


@given(most=st.integers(3028, 10**6), rate_bps=few_digits)
def test_both_tell_the_same(most: int, rate_bps: int) -> None:
    size = bucket_bytes(most, rate_bps)
    assert ticks_of_6_1(size, rate_bps) == ticks_of_6_15(size, rate_bps)
    assert most / 2 < size <= most or most < size == rate_bps // 10**6


@given(rate_bps=few_digits, parts=st.integers(1, 100))
def test_a_part_has_a_bucket_too(rate_bps: int, parts: int) -> None:
    part = part_bps(rate_bps, parts)
    assert 0.99 * rate_bps / parts - 1 < part <= rate_bps / parts
    if part >= 10**5:
        size = bucket_bytes(3028, part)
        assert ticks_of_6_1(size, part) == ticks_of_6_15(size, part)


@pytest.mark.parametrize("rate_bps", [123_456_789, 33_333_333])
def test_a_rate_of_many_digits_gets_what_was_asked_for(rate_bps: int) -> None:
    assert bucket_bytes(3028, rate_bps) == 3028


@pytest.mark.root
@pytest.mark.parametrize(
    "settings", [{}, {"link": {"rate": "1gbit"}}, {"topology": "star", "servers": 2, "workers": 3}]
)
def test_a_kernel_has_the_ticks_of_the_buckets_time(settings: dict[str, object]) -> None:
    found = inside(f"{CASES}:buckets", **settings)
    assert found
    for rate_bps, size_bytes, ticks in found:
        assert Fraction(size_bytes * 8 * 10**9, rate_bps) == ticks * TICK_NS
