"""A port is a token bucket behind a queue; packets keep their order, and what is full drops."""

import math
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from h2model.link import LINE_BPS
from h2model.tcp.network import FifoPort, PacketNetwork

RATE_BPS = 1e8
BUCKET = 3028
QUEUE = 12_000


class NaivePort:
    """Tokens as they grow, and every packet that ever came."""

    def __init__(self):
        self.tokens = float(BUCKET)
        self.counted_ns = -math.inf
        self.packets = []
        self.line_ns = -math.inf

    def take(self, size, now):
        if sum(s for leaves, s in self.packets if leaves > now) + size > QUEUE:
            return None
        at = max(now, self.line_ns, self.counted_ns)
        tokens = self.tokens
        if self.counted_ns > -math.inf:
            tokens = min(BUCKET, tokens + (at - self.counted_ns) * RATE_BPS / 8e9)
        if tokens < 0:
            at += -tokens * 8e9 / RATE_BPS
            tokens = 0.0
        self.tokens, self.counted_ns = tokens - size, at
        self.line_ns = at + size * 8e9 / LINE_BPS
        self.packets.append((at, size))
        return at


@given(st.lists(st.tuples(st.integers(0, 300_000), st.integers(66, 1514)), min_size=1, max_size=60))
def test_packets_leave_as_tokens_let_them(coming):
    port = FifoPort(rate_bps=RATE_BPS, delay_ns=0, queue_bytes=QUEUE, bucket_bytes=BUCKET)
    naive, now = NaivePort(), 0.0
    for later_ns, size in coming:
        now += later_ns
        mine, theirs = port.take(size, now), naive.take(size, now)
        assert (mine is None) == (theirs is None)
        if mine is not None:
            assert mine == pytest.approx(theirs, abs=1e-3)


class Seen:
    """An end that notes what it is told."""

    def __init__(self, network):
        self.network = network
        self.expected, self.came = [], []

    def expects(self, number, time_ns):
        assert time_ns >= self.network.now_ns
        self.expected.append((number, time_ns))

    def arrives(self, number, now):
        self.came.append((number, now))


def test_a_packet_comes_when_it_was_said_to_and_dropped_ones_do_not():
    network = PacketNetwork()
    first = FifoPort(rate_bps=1e9, delay_ns=1_000_000, queue_bytes=10**6, bucket_bytes=0)
    second = FifoPort(rate_bps=1e8, delay_ns=2_000_000, queue_bytes=10 * 1514, bucket_bytes=0)
    end = Seen(network)
    for number in range(40):
        network.send((first, second), 1514, number, end, 0.0)
    while network.next_ns < math.inf:
        network.step()
    assert end.came == end.expected
    # The first leaves at once, ten wait; one in ten times that the first port takes leaves more.
    assert [number for number, _ in end.came[:11]] == list(range(11))
    assert len(end.came) == 11 + 3
    took_ns = 1514 * 8e9 / 1e8
    times = [now for _, now in end.came]
    assert times[0] == pytest.approx(3_000_000)
    assert [b - a for a, b in pairwise(times)] == pytest.approx([took_ns] * 13)
