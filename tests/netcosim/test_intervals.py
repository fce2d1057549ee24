"""Intervals of differences against theory: coverage, symmetry, quantiles by integration."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from netcosim.intervals import difference, t_95
from netcosim.metrics import jain_index, primary_errors, secondary_errors, summarise

TRIES = 4000
ERROR = 4 * math.sqrt(0.95 * 0.05 / TRIES)
"""Four standard errors of a share of 0.95 among so many tries."""


def inside(edge: float, freedom: float) -> float:
    """Integrate Student's density from -edge to edge, after t = tan(u) sqrt(freedom)."""
    u = np.linspace(0, math.atan(edge / math.sqrt(freedom)), 100_001)
    density = np.cos(u) ** (freedom - 1)
    whole = math.sqrt(math.pi) * math.exp(math.lgamma(freedom / 2) - math.lgamma((freedom + 1) / 2))
    return 2 * float(np.sum((density[1:] + density[:-1]) / 2) * (u[1] - u[0])) / whole


def test_the_quantiles_between_whole_degrees_are_a_little_wide() -> None:
    """Above 9 the expansion is right to 1.2 in 10,000: 2 t f(t) times that is 3e-5."""
    for freedom in np.arange(1.05, 14.0, 0.35):
        held = inside(t_95(freedom), freedom)
        low = 3e-5 if freedom > 9 else 1e-6
        assert 0.95 - low <= held <= 0.95 + (0.012 if freedom < 2 else 0.002)


def covered(pairs: list[tuple[np.ndarray, np.ndarray]], truth: float, *, paired: bool) -> float:
    held = 0
    for a, b in pairs:
        found = difference(a.tolist(), b.tolist(), paired=paired)
        assert found.half_width is not None
        held += abs(found.mean - truth) <= found.half_width
    return held / len(pairs)


@pytest.mark.oracle
def test_paired_intervals_hold_the_truth_in_95_of_100_cases() -> None:
    """Runs that share most of their chance: exact for any number of pairs."""
    rng = np.random.default_rng(13)
    for runs in (2, 3, 5):
        common = rng.normal(10.0, 3.0, (TRIES, runs))
        own = rng.normal(0.0, 0.5, (2, TRIES, runs))
        pairs = list(zip(common + own[0], common + 1.0 + own[1], strict=True))
        assert covered(pairs, 1.0, paired=True) == pytest.approx(0.95, abs=ERROR)


@pytest.mark.parametrize(
    ("runs", "spreads"), [((5, 5), (1.0, 1.0)), ((10, 4), (1.0, 3.0)), ((3, 3), (0.1, 2.0))]
)
def test_welch_s_intervals_hold_the_truth(runs, spreads) -> None:
    """Variances and numbers that differ. Welch's t is an approximation: to 1 % here."""
    rng = np.random.default_rng(14)
    a = rng.normal(5.0, spreads[0], (TRIES, runs[0]))
    b = rng.normal(4.0, spreads[1], (TRIES, runs[1]))
    held = covered(list(zip(a, b, strict=True)), -1.0, paired=False)
    assert 0.95 - ERROR - 0.01 <= held <= 0.95 + ERROR + 0.01


def test_pairs_leave_out_what_both_have_in_common() -> None:
    a = [10.0, 12.0, 14.0, 16.0]
    b = [10.5, 12.4, 14.6, 16.5]
    paired, apart = difference(a, b, paired=True), difference(a, b, paired=False)
    assert paired.mean == pytest.approx(0.5)
    assert paired.beyond
    assert not apart.beyond
    # The differences 0.5, 0.4, 0.6, 0.5 have the variance 0.02/3; t of 3 degrees is 3.18245.
    assert paired.half_width == pytest.approx(3.18245 * math.sqrt(0.02 / 3 / 4))


def test_welch_by_hand() -> None:
    """Variances 1 and 4 of three values each: 25/17 x 2 = 2.94 degrees, error sqrt(5/3)."""
    found = difference([1.0, 2.0, 3.0], [2.0, 4.0, 6.0], paired=False)
    assert (found.mean, found.method) == (2.0, "welch")
    assert found.half_width == pytest.approx(t_95(50 / 17) * math.sqrt(5 / 3))


def test_without_chance_any_difference_counts() -> None:
    assert not difference([0.1] * 3, [0.1] * 2, paired=False).beyond
    assert difference([0.1] * 3, [0.1000001] * 2, paired=False).beyond
    alone = difference([3.0], [3.5, 4.0], paired=False)
    assert (alone.half_width, alone.method, alone.beyond) == (None, "none", True)
    assert not difference([3.0], [3.0], paired=True).beyond


@pytest.mark.parametrize(
    ("a", "b", "paired"), [([], [1.0], False), ([1.0], [], True), ([1.0, 2.0], [1.0], True)]
)
def test_what_can_t_be_compared_is_refused(a: list[float], b: list[float], paired: bool) -> None:
    with pytest.raises(ValueError, match="nothing to compare"):
        difference(a, b, paired=paired)


samples = st.lists(st.floats(0.1, 1e6), min_size=1, max_size=6)


@given(samples, samples)
def test_swapped_samples_give_the_mirrored_difference(a: list[float], b: list[float]) -> None:
    for paired in {False, len(a) == len(b)}:
        there, back = difference(a, b, paired=paired), difference(b, a, paired=paired)
        assert there.mean == -back.mean
        assert there.half_width == back.half_width
        assert there.beyond == back.beyond


@given(samples)
def test_a_sample_does_not_differ_from_itself(a: list[float]) -> None:
    assert difference(a, a, paired=True).half_width in (0, None)
    for paired in (True, False):
        found = difference(a, a, paired=paired)
        assert found.mean == 0
        assert not found.beyond


class TestErrors:
    PREDICTED = (110, 450, 1000, 2100)
    MEASURED = (100, 500, 1000, 2000)

    def test_primary_is_over_the_burst_s_length(self):
        errors = primary_errors(self.PREDICTED, self.MEASURED)
        assert errors.tolist() == [10 / 2000, 50 / 2000, 0, 100 / 2000]

    def test_secondary_is_relative_and_leaves_out_the_first_tenth(self):
        errors = secondary_errors(self.PREDICTED, self.MEASURED)
        assert errors.tolist() == [50 / 500, 0, 100 / 2000]

    def test_an_end_at_a_tenth_counts(self):
        assert secondary_errors((100, 1000), (100, 1000)).size == 2
        assert secondary_errors((99, 1000), (99, 1000)).size == 1

    def test_the_length_is_the_measured_one(self):
        assert primary_errors((50, 4000), (100, 200)).tolist() == [0.25, 19.0]

    @pytest.mark.parametrize("errors", [primary_errors, secondary_errors])
    @pytest.mark.parametrize(
        ("predicted", "measured", "message"),
        [
            ((), (), "0 predicted ends, 0 measured ones"),
            ((1, 2), (1,), "2 predicted ends, 1 measured ones"),
            ((1,), (0,), "the burst took no time"),
        ],
    )
    def test_refusals(self, errors, predicted, measured, message):
        with pytest.raises(ValueError, match=message):
            errors(predicted, measured)

    @given(
        measured=st.lists(st.integers(1, 10**12), min_size=1, max_size=20), shift=st.integers(0, 99)
    )
    def test_a_shift_of_all_ends_is_the_same_primary_error_everywhere(self, measured, shift):
        errors = primary_errors([end + shift for end in measured], measured)
        assert errors == pytest.approx(shift / max(measured))


class TestSummary:
    def test_by_hand(self):
        stats = summarise(np.arange(101) / 100)
        assert (stats.streams, stats.median, stats.max) == (101, 0.5, 1.0)
        assert stats.mean == pytest.approx(0.5)
        assert stats.p95 == pytest.approx(0.95)
        assert stats.p99 == pytest.approx(0.99)

    def test_none(self):
        with pytest.raises(ValueError, match="no errors to summarise"):
            summarise(np.array([]))


class TestJain:
    """Jain, Chiu and Hawe, DEC-TR-301."""

    @pytest.mark.parametrize(
        ("shares", "index"),
        [((5, 5, 5), 1.0), ((1, 0, 0, 0), 0.25), ((7,), 1.0), ((1, 2, 3), 36 / 42)],
    )
    def test_by_hand(self, shares, index):
        assert jain_index(shares) == pytest.approx(index)

    @given(shares=st.lists(st.floats(0.01, 1e6), min_size=1, max_size=20), unit=st.floats(0.1, 10))
    def test_between_one_nth_and_one_whatever_the_unit(self, shares, unit):
        index = jain_index(shares)
        assert 1 / len(shares) - 1e-9 <= index <= 1 + 1e-9
        assert jain_index([share * unit for share in shares]) == pytest.approx(index)

    @pytest.mark.parametrize("shares", [(), (0, 0), (1, -1)])
    def test_refusals(self, shares):
        with pytest.raises(ValueError, match="shares must be >= 0 and not all zero"):
            jain_index(shares)
