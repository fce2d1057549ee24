"""Runs of hand-overs: what comes in one is read a wake-up behind it, all else when it comes."""

from hypothesis import given
from hypothesis import strategies as st

from h2model.reading import WAKING_NS, HandOverRuns

TIMES = st.lists(st.integers(0, 20_000), max_size=30)


@given(TIMES, st.integers(0, 25_000))
def test_no_hand_over_is_near_before_or_behind_a_reading(times: list[int], now: int) -> None:
    read_ns = HandOverRuns(times).read_ns(now)
    assert read_ns >= now
    before = [t for t in times if t <= read_ns]
    behind = [t for t in times if t > read_ns]
    if before and behind:
        assert min(behind) - max(before) >= WAKING_NS


@given(TIMES, st.integers(0, 25_000))
def test_a_naive_twin_agrees(times: list[int], now: int) -> None:
    assert HandOverRuns(times).read_ns(now) == naive(sorted(times), now)


def naive(times: list[int], now: int) -> int:
    """Go to a wake-up behind the run of hand-overs, as long as there is one."""
    while True:
        last = max((t for t in times if t <= now), default=None)
        following = min((t for t in times if t > now), default=None)
        if last is None or following is None or following - last >= WAKING_NS:
            return now
        while following is not None and following - last < WAKING_NS:
            last = following
            following = min((t for t in times if t > last), default=None)
        now = last + WAKING_NS
