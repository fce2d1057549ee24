"""TCP over ports: nothing is lost for good, and losses cost what RFCs say."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from h2model.tcp.connection import TcpWay
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
