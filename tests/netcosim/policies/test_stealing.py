"""Work stealing: who helps whom, and that no example is lost."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from netcosim.policies.stealing import Help, WorkStealing


def test_the_furthest_behind_is_helped_by_the_furthest_ahead_a_little_and_then_more():
    rule = WorkStealing()
    rule.begin()
    assert rule.check([100, 100, 100], [90, 50, 80]) == [Help(0, 1, 2)]
    assert rule.check([100, 100, 100], [90, 50, 80]) == [Help(0, 1, 5)]
    rule.begin()
    assert rule.check([100, 100, 100], [90, 50, 80]) == [Help(0, 1, 2)]


def test_nobody_is_helped_who_is_not_behind():
    assert WorkStealing().check([100, 100], [60, 50]) == []


@given(left=st.lists(st.integers(0, 100), min_size=1, max_size=12), behind=st.floats(0.01, 0.9))
def test_nobody_gives_what_it_has_not_and_nobody_helps_twice(left, behind):
    rule = WorkStealing(behind=behind)
    rule.begin()
    helps = rule.check([100] * len(left), left)
    after = np.array(left)
    for straggler, helper, examples in helps:
        assert left[straggler] - left[helper] >= 100 * behind - 1e-9
        after[straggler] -= examples
        after[helper] += examples
    assert after.min() >= 0
    assert after.sum() == sum(left)
    assert len({each.helper for each in helps}) == len(helps)
