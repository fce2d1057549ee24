"""Delivered ends against a receiver played nanosecond by nanosecond; fits against known truths."""

import random
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from h2model.overhead import (
    Arrival,
    Linear,
    Span,
    delivered_ends_ns,
    fit_linear,
    fit_stretch,
    in_turn_ends_ns,
    with_transport_ns,
)

FREE = Linear(alpha_ns_per_byte=0.0, beta_ns=0.0)


def played(
    arrivals: Sequence[Arrival], busy: Sequence[Span], linear: Linear, stretch: int
) -> list[int]:
    """One receiver, one nanosecond after the other, in steps of 1 / stretch of its work."""
    ends = [0] * len(arrivals)
    order = sorted(range(len(arrivals)), key=lambda i: arrivals[i].wire_end_ns)

    def work_from(now: int, amount: int) -> int:
        left = amount * stretch
        while left > 0:
            left -= 1 if any(start <= now < end for start, end in busy) else stretch
            now += 1
        return now

    free = 0
    for i in order:
        begin = max(free, arrivals[i].wire_end_ns)
        free = work_from(begin, round(linear.alpha_ns_per_byte) * arrivals[i].size_bytes)
        ends[i] = work_from(free, round(linear.beta_ns))
    return ends


arrivals_drawn = st.lists(
    st.builds(Arrival, wire_end_ns=st.integers(0, 200), size_bytes=st.integers(1, 30)),
    min_size=1,
    max_size=6,
)
spans_drawn = st.lists(
    st.tuples(st.integers(0, 300), st.integers(0, 100)).map(lambda s: (s[0], s[0] + s[1])),
    max_size=5,
)
lines_drawn = st.builds(
    Linear, alpha_ns_per_byte=st.integers(0, 3).map(float), beta_ns=st.integers(0, 40).map(float)
)


@pytest.mark.oracle
@settings(max_examples=300, deadline=None)
@given(arrivals_drawn, spans_drawn, lines_drawn, st.integers(1, 4))
def test_as_a_receiver_played_step_by_step(arrivals, busy, linear, stretch):
    ours = delivered_ends_ns(arrivals, busy, linear, float(stretch))
    # A step is whole even where the work ends within it, once for each message in front.
    steps = 2 * len(arrivals)
    assert ours == pytest.approx(played(arrivals, busy, linear, stretch), abs=steps)


@given(arrivals_drawn, spans_drawn)
def test_without_overhead_a_message_is_delivered_at_its_wire_end(arrivals, busy):
    ours = delivered_ends_ns(arrivals, busy, FREE, 3.0)
    assert ours == [arrival.wire_end_ns for arrival in arrivals]


def test_one_message_alone_takes_alpha_times_its_size_and_beta():
    linear = Linear(alpha_ns_per_byte=0.5, beta_ns=100.0)
    assert delivered_ends_ns([Arrival(wire_end_ns=7, size_bytes=1000)], [], linear) == [607]


def test_beta_delays_a_message_and_not_the_one_behind_it():
    linear = Linear(alpha_ns_per_byte=1.0, beta_ns=50.0)
    together = [Arrival(wire_end_ns=0, size_bytes=10), Arrival(wire_end_ns=0, size_bytes=10)]
    assert delivered_ends_ns(together, [], linear) == [60, 70]


def test_one_reader_keeps_the_order_of_the_calls():
    linear = Linear(alpha_ns_per_byte=1.0, beta_ns=5.0)
    first, second = Arrival(wire_end_ns=100, size_bytes=10), Arrival(wire_end_ns=50, size_bytes=10)
    assert in_turn_ends_ns([first, second], [], linear) == [115, 130]
    assert delivered_ends_ns([first, second], [], linear) == [115, 65]


@given(arrivals_drawn, spans_drawn, lines_drawn, st.integers(1, 4))
def test_one_reader_is_never_the_faster_one(arrivals, busy, linear, stretch):
    in_turn = in_turn_ends_ns(arrivals, busy, linear, float(stretch))
    assert in_turn == sorted(in_turn)
    alone = [delivered_ends_ns([a], busy, linear, float(stretch))[0] for a in arrivals]
    assert all(ours >= least for ours, least in zip(in_turn, alone, strict=True))
    assert in_turn[0] == alone[0]


@given(arrivals_drawn, spans_drawn, lines_drawn, st.randoms(use_true_random=False))
def test_the_order_in_which_arrivals_are_given_does_not_matter(arrivals, busy, linear, dice):
    ends = {a.wire_end_ns for a in arrivals}
    if len(ends) < len(arrivals):
        return  # messages that end at once are parsed as given
    shuffled = list(arrivals)
    dice.shuffle(shuffled)
    one = dict(zip(arrivals, delivered_ends_ns(arrivals, busy, linear, 2.0), strict=True))
    assert one == dict(zip(shuffled, delivered_ends_ns(shuffled, busy, linear, 2.0), strict=True))


samples_drawn = st.lists(
    st.tuples(st.integers(1, 10**6), st.integers(0, 10**7)), min_size=1, max_size=12
)


@pytest.mark.oracle
@settings(max_examples=200, deadline=None)
@given(samples_drawn, st.integers(0, 2**32 - 1))
def test_no_line_fits_better(samples, seed):
    sizes, overheads = zip(*samples, strict=True)
    line = fit_linear(sizes, overheads)
    assert line.alpha_ns_per_byte >= 0
    assert line.beta_ns >= 0

    def misfit(alpha: float, beta: float) -> float:
        return float(np.abs(np.array(overheads) - alpha * np.array(sizes) - beta).sum())

    ours = misfit(line.alpha_ns_per_byte, line.beta_ns)
    dice = random.Random(seed)
    for _ in range(200):
        alpha = max(0.0, line.alpha_ns_per_byte * dice.uniform(0, 2) + dice.choice((0, 1e-3, 1)))
        beta = max(0.0, line.beta_ns * dice.uniform(0, 2) + dice.choice((0, 100, 1e6)))
        assert misfit(alpha, beta) >= ours * (1 - 1e-9) - 1e-6


def test_a_line_is_found_under_disturbed_samples():
    dice = random.Random(3)
    sizes = [4096, 4096, 65536, 65536, 250_000, 250_000, 10**6, 10**6, 4 * 10**6, 8 * 10**6]
    overheads = [round(0.7 * size + 250_000) for size in sizes]
    for place in dice.sample(range(len(sizes)), 3):
        overheads[place] += dice.randrange(10**6, 10**8)
    line = fit_linear(sizes, overheads)
    assert line.alpha_ns_per_byte == pytest.approx(0.7, rel=1e-3)
    assert line.beta_ns == pytest.approx(250_000, rel=1e-3)


def test_nothing_is_fitted_to_nothing():
    with pytest.raises(ValueError, match="no samples"):
        fit_linear([], [])


def test_no_stretch_is_found_in_noise():
    linear = Linear(alpha_ns_per_byte=0.0, beta_ns=100_000.0)
    arrivals = [Arrival(wire_end_ns=10**6 * i, size_bytes=10**5) for i in range(1, 9)]
    noise = [-90_000, 40_000, -30_000, 500_000, 20_000, -10_000, 4_000_000, 35_000]
    seen = [
        end + late for end, late in zip(delivered_ends_ns(arrivals, [], linear), noise, strict=True)
    ]
    assert fit_stretch([(arrivals, [(0, 9 * 10**6)], linear, seen)]) == 1.0


def test_nothing_to_fit_a_stretch_to_leaves_none():
    assert fit_stretch([]) == 1.0


@pytest.mark.parametrize("truth", [1.0, 2.3, 6.0])
def test_the_stretch_that_made_the_ends_is_found(truth):
    linear = Linear(alpha_ns_per_byte=0.8, beta_ns=20_000.0)
    arrivals = [
        Arrival(wire_end_ns=end, size_bytes=size)
        for end, size in ((10**6, 250_000), (3 * 10**6, 10**6), (20 * 10**6, 4 * 10**6))
    ]
    busy = [(0, 20 * 10**6)]
    seen = delivered_ends_ns(arrivals, busy, linear, truth)
    assert fit_stretch([(arrivals, busy, linear, seen)]) == truth


def test_a_message_is_with_the_transport_when_the_next_one_is_handed_over() -> None:
    handover = Linear(alpha_ns_per_byte=1.0, beta_ns=50.0)
    assert with_transport_ns([0, 100, 1000], [200, 200, 200], handover) == [100, 350, 1250]


def test_those_handed_over_at_one_instant_are_there_at_one_instant() -> None:
    handover = Linear(alpha_ns_per_byte=1.0, beta_ns=50.0)
    assert with_transport_ns([7, 7, 7], [300, 200, 400], handover) == [257, 257, 257]
    assert with_transport_ns([7, 7, 20], [300, 200, 400], handover) == [20, 20, 470]
