"""TCP over ports: nothing is lost for good, and losses cost what RFCs say."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from h2model.tcp.connection import TcpWay
from h2model.tcp.cubic import Cubic
from h2model.tcp.network import FifoPort, PacketNetwork

MS = 1_000_000
SEGMENT = 1448
STEP_NS = (SEGMENT + 66) * 8e9 / 1e8


class LossyPort(FifoPort):
    """A port that loses the packets of these numbers, counted as they come."""

    def __init__(self, lost, **how):
        super().__init__(**how)
        self.lost, self.count = lost, -1

    def take(self, size_bytes, now):
        self.count += 1
        return None if self.count in self.lost else super().take(size_bytes, now)


class Transfer:
    """One way of a connection over two ports, and when which bytes were there."""

    def __init__(self, lost=frozenset(), lost_acks=frozenset(), queue=10**9, rate_bps=1e8):
        how = {"rate_bps": rate_bps, "delay_ns": 5 * MS, "queue_bytes": queue, "bucket_bytes": 0}
        self.network = PacketNetwork()
        self.forth, self.back = LossyPort(lost, **how), LossyPort(lost_acks, **how)
        self.way = TcpWay(
            self.network, (self.forth,), (self.back,), segment_bytes=SEGMENT, position=7
        )
        self.windows = []
        self.network.moved = self.moved

    def moved(self, position, now):
        assert position == 7
        self.windows.append((now, self.way.congestion.window))

    def carry(self, size_bytes, now=0.0):
        self.way.write(size_bytes)
        self.way.push(now)
        steps = 0
        while self.network.next_ns < math.inf:
            self.network.step()
            steps += 1
            assert steps < 1e5, "it never ends"
        return self.way.coming


def test_without_losses_the_window_doubles_each_round_trip_and_then_the_port_is_full():
    ends = [time for _, time in Transfer().carry(29 * SEGMENT)]
    first = [10 * MS / 2 + number * STEP_NS for number in range(10)]
    assert ends[:10] == pytest.approx(first, abs=2000)
    second = [first[0] + 10 * MS + number * STEP_NS for number in range(19)]
    assert ends[10:] == pytest.approx(second, abs=2000)


@given(
    st.integers(1, 300_000),
    st.sets(st.integers(0, 250), max_size=60),
    st.sets(st.integers(0, 250), max_size=60),
    st.floats(1e6, 1e9),
)
def test_whatever_is_lost_all_comes_in_order(size_bytes, lost, lost_acks, rate_bps):
    transfer = Transfer(lost, lost_acks, rate_bps=rate_bps)
    coming = transfer.carry(size_bytes)
    assert coming[-1][0] == size_bytes
    assert [end for end, _ in coming] == sorted({end for end, _ in coming})
    times = [time for _, time in coming]
    assert times == sorted(times)
    assert transfer.way.unacknowledged_bytes == 0
    assert transfer.way.unacknowledged_segments == 0


def test_a_lost_segment_is_sent_again_when_three_have_overtaken_it():
    transfer = Transfer(lost={2})
    coming = dict(transfer.carry(10 * SEGMENT))
    # The acknowledgement of the third behind it comes a round trip after that was sent.
    third_ns = 5 * MS + 4 * STEP_NS
    assert coming[3 * SEGMENT] == pytest.approx(third_ns + 10 * MS, abs=3000)
    assert coming[10 * SEGMENT] == coming[3 * SEGMENT]  # the others waited for it
    assert transfer.way.congestion.window == 12 * 717 // 1024  # of ten, and two that had come


def test_a_lost_tail_is_probed_for_and_not_waited_for():
    """RFC 8985, section 7: two round trips, and two ticks of the kernel's clock."""
    coming = dict(Transfer(lost={8, 9}).carry(10 * SEGMENT))
    last_ack_ns = 10 * MS + 7 * STEP_NS
    # The last one goes again; its acknowledgement shows that the one before it is missing.
    taken_ns = coming[10 * SEGMENT] - last_ack_ns
    probed_ns = taken_ns - 15 * MS
    assert 2 * 10 * MS + 20 * MS - 1000 <= probed_ns <= 2 * 10.5 * MS + 20 * MS


def test_where_nothing_comes_back_a_timeout_begins_again_with_one_segment():
    """RFC 6298, with Linux's least variance of 200 ms; each further one takes twice as long."""
    lost = set(range(11)) | {11}  # a window, its probe, and the first one that is sent again
    transfer = Transfer(lost=lost)
    coming = dict(transfer.carry(10 * SEGMENT))
    probe_ns = 2 * 10 * MS + 20 * MS
    timeout_ns = 10 * MS + 200 * MS
    assert coming[SEGMENT] == pytest.approx(probe_ns + 3 * timeout_ns + 5 * MS, abs=3000)
    assert transfer.way.congestion.threshold == 7


def test_a_full_queue_makes_it_send_less_and_keeps_the_port_busy():
    """A queue of a round trip's bytes and more: no rest behind slow start."""
    transfer = Transfer(queue=150_000)
    coming = transfer.carry(20_000_000)
    times = [time for _, time in coming]
    half = [time for time in times if time > times[-1] / 4]
    carried = len(half) * STEP_NS
    assert carried / (half[-1] - half[0]) > 0.99
    windows = [window for _, window in transfer.windows]
    most = (150_000 + 1e8 / 8e9 * 10 * MS) / (SEGMENT + 66)
    assert max(windows[len(windows) // 4 :]) <= most + 2
    assert transfer.forth.count > len(coming)  # some were dropped, and sent again


def test_a_window_that_nobody_fills_does_not_grow():
    transfer = Transfer()
    now = 0.0
    for _ in range(50):
        transfer.carry(2 * SEGMENT, now)
        now = transfer.network.now_ns + 50 * MS
    assert transfer.way.congestion.window <= 11


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
    windows = [window for _, window in rounds(cubic, 200 * MS, 20)]
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
