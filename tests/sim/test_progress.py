"""Time left of runs of unequal length."""

import io

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from sim.progress import Pace, Progress


def test_before_any_run_it_is_what_was_expected():
    assert Pace(100.0).left_s(10.0) == 90.0


def test_the_first_run_says_nothing_of_the_speed():
    pace = Pace(100.0)
    pace.done(1.0, 30.0)  # kernels were compiled in it
    assert pace.left_s(30.0) == 99.0


@given(
    expected=st.lists(st.floats(0.1, 100), min_size=3, max_size=20),
    slower=st.floats(0.1, 10),
    compiling=st.floats(0, 100),
)
def test_on_a_slower_machine_it_is_right_after_two_runs(expected, slower, compiling):
    pace, now = Pace(sum(expected)), compiling
    for i, each in enumerate(expected):
        now += slower * each
        pace.done(each, now)
        if i:
            left = slower * sum(expected[i + 1 :])
            assert pace.left_s(now) == pytest.approx(left, abs=1e-6)
            assert pace.left_s(now + 1) == pytest.approx(max(0, left - 1), abs=1e-6)


def test_time_left_counts_cells_taken_over_and_changed_ones_with_fewer_workers():
    run_s = {("a", "", 8): 500.0, ("b", "", 8): 100.0, ("b", "servers 2", 8): 300.0}
    progress = Progress(Console(file=io.StringIO()), run_s, repetitions=5)
    progress.taken("a")
    assert progress.left_text() == "about 33 min left"
    for workers, change in ((8, ""), (3, "servers 2")):
        progress.runs_of("b", workers, change)
        for _ in range(5):
            progress.run_done()
    assert progress.left_text() == ""
