"""Numbers of points that conditions leave, found without a look at each."""

import random

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from ray_sweeps.space.walk import Walk
from tests.ray_sweeps.sweeps import ALONE, HEAD, numbered, points_of

conditions = st.lists(
    st.sampled_from(
        [
            "workers * servers <= 8",
            "workers % 2 == 0 or rate == '1gbit'",
            "gap < 5",
            "gap + workers > 3",
            "servers != 2",
            "straggler_draw != 1",
            "batch / servers >= 8",
        ]
    ),
    unique=True,
    max_size=3,
)
whens = st.sampled_from(["synchronisation == 'ssp'", "workers > 2", "rate == '1gbit'", "on"])


def _space(where, when, workers_last):
    order = ["servers = [1, 2, 3]", "workers = [1, 2, 4]"]
    lines = "\n".join(order if workers_last else order[::-1])
    return numbered(
        f"""where = {where}
{HEAD}
[factors]
{lines}
on = {{ path = "transport.grpc.flow_control", values = [true, false] }}
rate = ["1gbit", "2gbit"]
synchronisation = ["asp", "ssp"]
gap = {{ values = [9, 1, 5], when = "{when}" }}
straggler = {{ values = ["none", "drawn"], when = "gap != 5" }}
batch = [8, 16]
[stragglers.drawn]
draws = 3
[[stragglers.drawn.entries]]
kind = "slow"
count = 1
options.factor = {{ distribution = "uniform", low = 1, high = 3 }}
"""
    )


@pytest.mark.oracle
@settings(max_examples=25)
@example(["gap < 5"], "workers > 2", True, 0)  # told late that gap does not vary
@given(conditions, whens, st.booleans(), st.integers(0, 3500))
def test_the_walk_finds_what_a_look_at_each_number_finds(where, when, last, first) -> None:
    space = _space(where, when, last)
    expected = [point.number for point in points_of(space)]
    assert list(space.numbers()) == expected
    assert space.count() == len(expected)
    assert list(space.numbers(first)) == [number for number in expected if number >= first]
    rng = random.Random(first)
    for axis in range(len(space.axes)):
        level = rng.randrange(space.axes[axis].length)
        having = {n for n in expected if space.levels(n)[axis] == level}
        found = Walk(space, conditioned_first=True).some({axis: level}, {}, rng)
        assert found in having if having else found is None


def test_a_large_space_is_counted_without_a_look_at_each() -> None:
    space = numbered(
        f"""where = ["servers <= 2"]
{ALONE}
[factors]
servers = [1, 2, 3]
seed = {{ from = 1, to = 10000, count = 10000 }}
gap = {{ from = 1, to = 10000, count = 10000 }}
"""
    )
    assert space.count() == 2 * 10**8
    numbers = space.numbers(10**8 - 1)
    assert [next(numbers) for _ in range(2)] == [10**8 - 1, 10**8]
    assert next(space.numbers(2 * 10**8), None) is None


def test_a_count_that_takes_too_long_is_not_known() -> None:
    text = 'where = ["seed % 7 == gap % 7"]\n' + ALONE
    for name in ("seed", "gap"):
        text += "[factors]\n" * (name == "seed")
        text += f"{name} = {{ from = 1, to = 2000, count = 2000 }}\n"
    space = numbered(text)
    assert space.count(most_steps=100_000) is None
    assert next(space.numbers()) == 0
    with pytest.raises(StopIteration):
        next(space.numbers(len(space)))
