"""A window grows as RFC 9438 says, and slow start ends when a queue builds."""

import pytest

from h2model.tcp.cubic import Cubic

MS = 1_000_000


def rounds(cubic, round_trip_ns, seconds, now=0.0):
    """Let whole windows be acknowledged, one a round trip; time and window after each."""
    end = now + seconds * 1e9
    while now < end:
        window = cubic.window
        for number in range(window):
            cubic.grow(1, now + round_trip_ns * (number + 1) / window)
        now += round_trip_ns
        yield now, cubic.window


def test_it_comes_back_to_where_it_was_as_the_cubic_function_does():
    """W(t) = C (t - K)^3 + W_max, where K^3 is W_max (1 - beta) / C; RFC 9438, section 4.2."""
    trip_ns = 200 * MS  # Reno would be slower
    cubic = Cubic(trip_ns)
    cubic.window, cubic.threshold = 1000, 1000
    cubic.window = cubic.lost()
    assert cubic.window == 700
    k_s = (300 / 0.4) ** (1 / 3)
    for now, window in rounds(cubic, trip_ns, 1.5 * k_s):
        # A round late: what is acknowledged grows the window that the next round has.
        low, high = (1000 + 0.4 * (now / 1e9 + late_s - k_s) ** 3 for late_s in (-0.4, 0.2))
        assert low - 3 <= window <= high + 3


def test_on_short_paths_it_grows_as_reno_would():
    """By 3 (1 - beta) / (1 + beta) segments a round trip; RFC 9438, section 4.3."""
    cubic = Cubic(10 * MS)
    cubic.window, cubic.threshold = 100, 100
    cubic.window = cubic.lost()
    windows = [window for _, window in rounds(cubic, 10 * MS, 0.5)]
    grown = (windows[-1] - 70) / len(windows)
    assert grown == pytest.approx(3 * 0.3 / 1.7, rel=0.08)


def test_two_losses_without_growth_leave_room_to_others():
    """Fast convergence; RFC 9438, section 4.7: the second time W_max is below the window."""
    cubic = Cubic(200 * MS)
    cubic.window = 1000
    cubic.window = cubic.lost()
    cubic.window = cubic.lost()
    assert cubic.window == 490
    windows = [window for _, window in rounds(cubic, 200 * MS, 60)]
    # It is flat where it was 700 times (1 + beta) / 2 before.
    flat = [w for w in windows if abs(w - 595) < 3]
    assert len(flat) > len([w for w in windows if abs(w - 700) < 3])


def slow_start(queue_ns, segments):
    """Acknowledgements of a slow start whose packets wait so long; the window at its end."""
    cubic = Cubic(10 * MS)
    now, sent, acknowledged = 0.0, cubic.window, 0
    while cubic.slow_start and acknowledged < segments:
        now += 10 * MS + queue_ns(cubic.window)
        for _ in range(cubic.window):
            acknowledged += 1
            now += 1000.0
            cubic.sampled(10 * MS + queue_ns(cubic.window), acknowledged, sent, now)
            cubic.grow(1, now)
            sent = acknowledged + cubic.window
    return cubic.window


def test_slow_start_doubles_until_a_queue_of_four_milliseconds():
    assert slow_start(lambda window: 0, 10_000) >= 10_000
    left = slow_start(lambda window: 5 * MS if window >= 80 else 0, 10_000)
    assert 80 <= left <= 80 + 2 * 9  # eight samples of a round, and one that tells


def test_a_long_train_of_acknowledgements_ends_slow_start():
    """A train that lasts half of a round trip and a millisecond says that the path is full."""
    cubic = Cubic(10 * MS)
    now, sent = 0.0, 10
    for acknowledged in range(1, 10_000):
        now += 120_000.0
        cubic.sampled(10 * MS, acknowledged, sent, now)
        cubic.grow(1, now)
        sent = acknowledged + cubic.window
        if not cubic.slow_start:
            break
    # 5.5 ms are 46 of them: the round of forty is too short, that of eighty ends it.
    assert cubic.window == pytest.approx(80 + 46, abs=3)
