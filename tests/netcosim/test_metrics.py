"""Errors of a prediction and the fairness of shares, on cases done by hand."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from netcosim.metrics import jain_index, primary_errors, secondary_errors, summarise


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
