"""A port is a token bucket behind a queue; packets keep their order, and what is full drops."""

import math
from collections import Counter
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from h2model.link import LINE_BPS
from h2model.tcp.fair_port import FairPort
from h2model.tcp.network import ACKNOWLEDGES, FifoPort, PacketNetwork

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


NS_PER_BYTE = 8e9 / RATE_BPS
FULL = 1514
FAIR_BUCKET = 3000


def port(bucket_bytes=FAIR_BUCKET):
    return FairPort(rate_bps=RATE_BPS, delay_ns=0, bucket_bytes=bucket_bytes, quantum_bytes=FULL)


class Leaves:
    """An end that notes in which order and when packets leave."""

    def __init__(self):
        self.when = []

    def expects(self, number, time_ns):
        self.when.append((number, time_ns))

    def arrives(self, number, now):
        pass


def left(through, coming):
    """Packets by number and time, of those that come as (time, size, class)."""
    network, end = PacketNetwork(), Leaves()
    for number, (at_ns, size_bytes, turn) in enumerate(coming):
        network.at(
            at_ns,
            lambda now, number=number, size=size_bytes, turn=turn: network.send(
                (through,), size, number, end, now, turn
            ),
        )
    while network.next_ns < math.inf:
        network.step()
    return end.when


def naive(coming):
    """HTB by its own words: tokens of the link, deficits, a pointer to the class that is next."""
    coming = sorted(enumerate(coming), key=lambda each: each[1][0])
    tokens, counted_ns, now = float(FAIR_BUCKET), 0.0, 0.0
    first, queues, deficit, pointer, found = [], {}, Counter(), None, []
    while coming or first or any(queues.values()):
        if not first and not any(queues.values()):
            now = max(now, coming[0][1][0])
        if tokens + (now - counted_ns) / NS_PER_BYTE < -1e-6:
            now = counted_ns - tokens * NS_PER_BYTE
        while coming and coming[0][1][0] <= now:
            number, (_, size, turn) = coming.pop(0)
            queue = first if turn == ACKNOWLEDGES else queues.setdefault(turn, [])
            queue.append((number, size))
        if first:
            number, size = first.pop(0)
        else:
            busy = sorted(turn for turn, queue in queues.items() if queue)
            turn = busy[0]
            if pointer is not None:
                turn = min((t for t in busy if t >= pointer), default=busy[0])
            number, size = queues[turn].pop(0)
            pointer = turn
            deficit[turn] -= size
            if deficit[turn] < 0:
                deficit[turn] += FULL
                pointer = min((t for t in busy if t > turn), default=None)
        tokens = min(FAIR_BUCKET, tokens + (now - counted_ns) / NS_PER_BYTE) - size
        counted_ns = now
        found.append((number, now))
    return found


packets = st.lists(
    st.tuples(
        st.integers(0, 2_000_000),
        st.integers(66, FULL) | st.just(FULL),
        st.sampled_from([ACKNOWLEDGES, 0, 1, 2, 5]),
    ),
    min_size=1,
    max_size=60,
    # Who comes at the moment at which another leaves is not told by tokens.
    unique_by=lambda packet: packet[0],
)


@given(packets)
def test_packets_leave_as_by_htb(coming):
    mine, theirs = left(port(), coming), naive(coming)
    assert [number for number, _ in mine] == [number for number, _ in theirs]
    for (_, at_ns), (_, expected_ns) in zip(mine, theirs, strict=True):
        assert at_ns == pytest.approx(expected_ns, abs=1e-2)


@given(packets)
def test_one_class_leaves_as_through_a_queue(coming):
    alone = [(at_ns, size, 3) for at_ns, size, _ in sorted(coming)]
    fifo = FifoPort(rate_bps=RATE_BPS, delay_ns=0, queue_bytes=10**9, bucket_bytes=FAIR_BUCKET)
    for (one, at_ns), (other, same_ns) in zip(left(port(), alone), left(fifo, alone), strict=True):
        assert one == other
        # Packets that a bucket lets pass together take their time at line speed through a queue.
        assert at_ns == pytest.approx(same_ns, abs=FAIR_BUCKET * 0.8 + 1)


@pytest.mark.parametrize("classes", [2, 3, 8])
def test_classes_that_are_never_idle_send_in_turns(classes):
    coming = [(0, FULL, turn) for _ in range(20) for turn in range(classes)]
    first, *turns = [number % classes for number, _ in left(port(0), coming)]
    assert first == 0  # alone at that moment, so that all turns are still to come
    assert turns[: 19 * classes] == [k % classes for k in range(19 * classes)]


def test_small_packets_get_no_smaller_part():
    coming = [(0, FULL, 0)] * 40 + [(0, 200, 1)] * 400
    half_ns = 20 * FULL * 2 * NS_PER_BYTE
    sent = Counter()
    for number, at_ns in left(port(0), coming):
        if at_ns < half_ns:
            _, size, turn = coming[number]
            sent[turn] += size
    assert abs(sent[0] - sent[1]) <= 2 * FULL


def test_acknowledgements_wait_for_what_the_link_is_busy_with_and_go_ahead_of_all_else():
    coming = [(0, FULL, 0)] * 10 + [(1, 66, ACKNOWLEDGES)]
    order = [number for number, _ in left(port(0), coming)]
    assert order == [0, 10, *range(1, 10)]


def test_a_packet_s_next_is_as_many_packets_later_as_classes_are_busy():
    fair = port(0)
    coming = [(0, FULL, turn) for turn in (0, 0, 1, 1, 2, 2)]
    assert fair.segment_ns(0, FULL) == FULL * NS_PER_BYTE
    network = PacketNetwork()
    for number, (_, size, turn) in enumerate(coming):
        network.send((fair,), size, number, Leaves(), 0.0, turn)
    for _ in coming:
        network.step()
    assert fair.segment_ns(0, FULL) == 3 * FULL * NS_PER_BYTE
    assert fair.segment_ns(7, FULL) == 4 * FULL * NS_PER_BYTE
