"""The rate of frames back to back: told apart from pauses and from what a bucket lets pass."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from emu.network.rate_readings import Reading, best_loss, goodput_bps, lost_shares, read_way, steady
from emu.network.share_measurement import bytes_between, typical_shares
from emu.network.spacing import lost_spans, measure_spacing, overlap_ns, together, unexplained_ns

RATE_BPS = 100_000_000
GOODPUT_BPS = RATE_BPS * 1448 / 1514
BUCKET_NS = 2_000_000
MS = 1_000_000
Pauses = list[tuple[int, int]]


def arrivals(
    length_ns: int,
    pauses: Pauses = (),  # type: ignore[assignment] # none
    goodput_bps: float = GOODPUT_BPS,
    start_ns: int = 1_700_000_000_000_000_000,
    seed: int = 0,
) -> list[list[int]]:
    """Frames of a busy link with a bucket of 2 ms; nothing leaves in a pause, all late by some us.

    A frame leaves when the link has earned it; what it earns in a pause is kept up to the bucket.
    """
    draw = random.Random(seed)
    frame_ns = 1448 * 8e9 / goodput_bps
    found, earned_at, total, left = [], 0.0, 0, 0.0
    while left < length_ns:
        earned_at += frame_ns
        left = max(earned_at, left + 1_000)  # line speed
        for begin, end in pauses:
            if begin <= left < end:
                left = end
        earned_at = max(earned_at, left - BUCKET_NS)
        total += 1448
        found.append([start_ns + round(left + draw.uniform(0, 20_000)), total])
    return found


def random_pauses(length_ns: int, share: float, seed: int) -> Pauses:
    draw, found, now = random.Random(seed), [], 0.0
    while now < length_ns:
        now += draw.expovariate(share / (27.5 * MS * (1 - share)))
        pause = draw.uniform(5 * MS, 50 * MS)
        found.append((round(now), round(now + pause)))
        now += pause
    return found


@pytest.mark.oracle
@given(
    share=st.sampled_from([0.05, 0.2, 0.4]),
    seed=st.integers(0, 10_000),
    slower=st.sampled_from([1.0, 0.95, 0.5]),
)
def test_pauses_and_the_buckets_catching_up_do_not_move_the_rate(share, seed, slower) -> None:
    readings = [
        arrivals(
            300 * MS, random_pauses(300 * MS, share, seed + i), GOODPUT_BPS * slower, seed=seed
        )
        for i in range(3)
    ]
    found = measure_spacing(readings, RATE_BPS)
    assert found.rate_bps == pytest.approx(GOODPUT_BPS * slower, rel=1e-3)


@pytest.mark.oracle
@given(seed=st.integers(0, 10_000))
def test_a_reading_with_pauses_tells_the_same_as_one_without_and_is_not_biased(seed: int) -> None:
    quiet = measure_spacing([arrivals(600 * MS, seed=seed)], RATE_BPS).rate_bps
    noisy = measure_spacing(
        [arrivals(600 * MS, random_pauses(600 * MS, 0.2, seed), seed=seed)], RATE_BPS
    ).rate_bps
    assert quiet is not None
    assert noisy == pytest.approx(quiet, rel=1e-3)


def test_a_sender_that_never_fills_the_link_tells_no_rate() -> None:
    draw = random.Random(1)
    now, found = 0, []
    for i in range(3000):
        now += round(121_000 * draw.uniform(1, 6) * (1 + i % 7))
        found.append([now, 1448 * (i + 1)])
    spacing = measure_spacing([found], RATE_BPS)
    assert spacing.rate_bps is None
    assert 0 < spacing.share < 0.1


def test_too_few_samples_tell_no_rate() -> None:
    for samples in ([], [[1, 1]], [[1, 1], [2, 2]], arrivals(19 * MS)):
        assert measure_spacing([samples], RATE_BPS).rate_bps is None


def test_a_slow_links_windows_hold_enough_frames() -> None:
    frames = arrivals(2_000 * MS, goodput_bps=GOODPUT_BPS / 100)
    found = measure_spacing([frames], RATE_BPS // 100)
    assert found.rate_bps == pytest.approx(GOODPUT_BPS / 100, rel=1e-3)


@pytest.mark.oracle
@given(seed=st.integers(0, 10_000), share=st.sampled_from([0.05, 0.2]))
def test_what_is_lost_for_good_is_the_pauses_without_what_the_bucket_keeps(seed, share) -> None:
    pauses = random_pauses(500 * MS, share, seed)
    frames = arrivals(500 * MS, pauses, seed=seed)
    lost = lost_spans(frames, GOODPUT_BPS)
    total = sum(length for _, _, length in lost)
    length_ns = frames[-1][0] - frames[0][0]
    # Work and lost time together are all the time; a pause at the end is not made up for yet.
    worked = (frames[-1][1] - frames[0][1]) * 8e9 / GOODPUT_BPS
    assert total == pytest.approx(length_ns - worked, abs=BUCKET_NS + 100_000)
    start = frames[0][0]
    machine = [(start + a - MS, start + b) for a, b in pauses]
    assert unexplained_ns(lost, machine, 4 * MS) < 0.002 * length_ns + 100_000


def test_a_link_that_stands_still_regularly_lost_time_that_nothing_explains() -> None:
    still = [(at * MS, (at + 10) * MS) for at in range(20, 600, 50)]
    frames = arrivals(600 * MS, still)
    lost, unexplained = lost_shares(Reading(samples=frames), GOODPUT_BPS, [], 4 * MS)
    assert lost == pytest.approx(0.16, abs=0.02)  # 8 of 50 ms; the bucket keeps 2
    assert unexplained == pytest.approx(lost)
    # What its ends waited for a processor may have been the reason.
    start = frames[0][0]
    waits = tuple((start + begin, start + end) for begin, end in still)
    waited = Reading(samples=frames, waits=waits)
    assert lost_shares(waited, GOODPUT_BPS, [], 4 * MS) == (lost, pytest.approx(0, abs=0.01))
    # Processors that were busy at other times explain nothing.
    elsewhere = [(start + (at + 35) * MS, start + (at + 41) * MS) for at in range(20, 600, 50)]
    lost, unexplained = lost_shares(Reading(samples=frames), GOODPUT_BPS, elsewhere, 4 * MS)
    assert unexplained is not None
    assert unexplained > lost
    # Where processors were busy all the time, the link can't be judged.
    lost, unexplained = lost_shares(
        Reading(samples=frames), GOODPUT_BPS, [(start, start + 600 * MS)], 4 * MS
    )
    assert unexplained is None
    assert lost_shares(Reading(samples=frames[:1]), GOODPUT_BPS, [], 4 * MS) == (1.0, None)


def test_the_best_reading_that_tells_of_the_link_counts() -> None:
    assert best_loss([(0.3, 0.2), (0.1, None), (0.4, 0.01)]) == (0.4, 0.01)
    assert best_loss([(0.3, None), (0.1, None)]) == (0.1, 0.0)


def test_busy_times_overlap_with_their_grace_and_count_once() -> None:
    busy = [(0, 10), (12, 20), (40, 50)]
    assert overlap_ns(5, 45, busy, 5) == 25
    assert overlap_ns(26, 39, busy, 5) == 0


def test_samples_of_several_receivers_are_put_together() -> None:
    base = 1_700_000_000_000_000_000
    one = [[base, 100], [base + 4 * MS, 500]]
    other = [[base - MS, 0], [base + 3 * MS, 400]]
    assert together([one, other], base, base + 3 * MS) == [
        [base, 200],
        [base + MS, 400],
        [base + 2 * MS, 600],
    ]
    assert together([], base, base) == []


def test_both_ways_at_once_only_times_with_both_busy_count() -> None:
    """One direction is slower while the other one is busy; alone it is faster, for most of it."""
    slower = [[t, round(s * 0.96)] for t, s in arrivals(200 * MS)]
    start, sent = slower[-1]
    alone = [[t + start - slower[0][0], s + sent] for t, s in arrivals(400 * MS)]
    beside = arrivals(200 * MS)
    both = measure_spacing([slower + alone], RATE_BPS, [beside])
    assert both.rate_bps == pytest.approx(0.96 * GOODPUT_BPS, rel=1e-3)
    assert measure_spacing([slower + alone], RATE_BPS).rate_bps == pytest.approx(
        GOODPUT_BPS, rel=1e-3
    )


def test_readings_go_on_until_two_agree_and_end_where_none_do() -> None:
    def read_all(readings: list[list[list[int]]]) -> tuple[int, int | None]:
        taken = iter(readings)
        found = read_way(
            lambda: ({}, [Reading(samples=steady(next(taken)))]),
            goodput_bps=round(GOODPUT_BPS),
            rate_bps=RATE_BPS,
            busy=lambda: [],
            grace_ns=0,
            agreement=0.001,
        )
        return found.count, found.ways[0].rate_bps

    good, slow = arrivals(300 * MS), arrivals(300 * MS, goodput_bps=GOODPUT_BPS * 0.9)
    assert read_all([good] * 2) == (2, pytest.approx(GOODPUT_BPS, rel=1e-3))
    assert read_all([slow, good, good])[0] == 3
    nothing: list[list[int]] = []
    count, rate_bps = read_all([nothing] * 4)
    assert (count, rate_bps) == (4, None)


def test_the_start_is_left_out() -> None:
    samples = [[i, i * 100] for i in range(101)]
    assert steady(samples)[0] == [35, 3500]
    assert steady([]) == []


@given(rate=st.integers(10**6, 10**10), start=st.integers(0, 10**15))
def test_goodput_is_bytes_over_time(rate: int, start: int) -> None:
    samples = [(start + i * 2_000_000, round(rate / 8 * 0.002 * i)) for i in range(100)]
    assert goodput_bps(samples) == pytest.approx(rate, rel=1e-3)


def test_goodput_of_nothing_is_nothing() -> None:
    assert goodput_bps([]) == 0
    assert goodput_bps([(1, 1), (2, 2)]) == 0


def test_bytes_between_interpolates() -> None:
    samples = [(0, 0), (100, 1000), (200, 1000), (300, 4000)]
    assert bytes_between(samples, 50, 250) == 2000
    assert bytes_between(samples, -10, 1000) == 4000


def test_shares_are_those_of_slices_in_which_the_links_were_busy() -> None:
    step = 10 * MS

    def received(per_step: list[int]) -> list[list[int]]:
        found, total = [[0, 0]], 0
        for i, size in enumerate(per_step):
            total += size
            found.append([(i + 1) * step, total])
        return found

    # In the third slice a pause hits one worker only, in the fourth both.
    samples = {"w0": received([50, 50, 50, 5]), "w1": received([50, 50, 0, 5])}
    busy_bps = 100 * 8e9 / step
    assert typical_shares(samples, (0, 4 * step), step, busy_bps) == {"w0": 50, "w1": 50}
    unfair = {"w0": received([80] * 4), "w1": received([20] * 4)}
    assert typical_shares(unfair, (0, 4 * step), step, busy_bps) == {"w0": 80, "w1": 20}
    slow = {"w0": received([8] * 4), "w1": received([2] * 4)}
    assert typical_shares(slow, (0, 4 * step), step, busy_bps) == {"w0": 8, "w1": 2}
