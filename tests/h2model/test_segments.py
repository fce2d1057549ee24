"""A path of segments against a naive twin that keeps tokens and looks at one segment at a time."""

import itertools

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from h2model.connection import Connection, Heads, LinkModel, ReceiverModel, SenderModel, StreamPlan
from h2model.link import LINE_BPS, SendQueue
from h2model.protocol import FRAME_HEADER_BYTES
from h2model.segments import FREED_NS, PACKET_HEADER_BYTES, SEGMENT_MEMORY_BYTES, SegmentQueue

SEGMENT = 1448
PACKET = SEGMENT + PACKET_HEADER_BYTES
RATE_BPS = 100e6 * SEGMENT / PACKET
BUCKET = 2 * PACKET
NS_PER_BYTE = 8e9 / 100e6

sizes = st.integers(1, 6 * SEGMENT)
gaps_ns = st.sampled_from([0, 1013, 50_021, 121_003, 400_009, 3_000_017])  # no segment leaves then
puts = st.lists(st.tuples(gaps_ns, sizes, st.booleans()), min_size=1, max_size=12)


def link(past=10**9, delay_ns=0, bucket=BUCKET, poll_ns=0, flight=0, memory=0):
    return LinkModel(
        rate_bps=RATE_BPS,
        delay_ns=delay_ns,
        past_bytes=past,
        bucket_bytes=bucket,
        segment_bytes=SEGMENT,
        poll_ns=poll_ns,
        flight_segments=flight,
        send_memory_bytes=memory,
    )


class Twin:
    """Tokens in bytes; a segment leaves when it is its turn and tokens are not below zero.

    One that is not full and was pushed waits beside the link's queue, and takes what comes, while
    `flight` segments are in it. Of one instant no more than those leave; the next ones follow.
    """

    def __init__(self, flight):
        self.flight = flight
        self.tokens, self.at_ns = float(BUCKET), 0.0
        self.left = []  # (time, position of the last byte in it, from 1)
        self.queue = []  # sizes
        self.sent = self.put = self.open = 0
        self.pushed = False
        self.held_ns = None  # of the next segment, once it is looked at

    def until(self, now):
        """Let what may leave before `now` leave."""
        while self.queue:
            leaves = self.at_ns + max(0.0, -self.tokens) * NS_PER_BYTE
            if self.held_ns is None:
                self.held_ns = self.room_ns(leaves)
            leaves = max(leaves, self.held_ns)
            if leaves > now:
                return
            self.advance(leaves)
            size = self.queue.pop(0)
            self.sent += size
            self.tokens -= size + PACKET_HEADER_BYTES
            self.left.append((leaves, self.sent))
            self.held_ns = None
            self.close()

    def room_ns(self, leaves):
        """Time from which TCP gives the link the next segment, which could leave then."""
        if not self.flight or len(self.left) < self.flight:
            return 0.0
        before, _ = self.left[-self.flight]
        return before + FREED_NS if leaves <= before else 0.0

    def close(self):
        if self.pushed and (not self.flight or len(self.queue) < self.flight):
            self.queue.append(self.open)
            self.open, self.pushed = 0, False

    def advance(self, now):
        self.tokens = min(BUCKET, self.tokens + (now - self.at_ns) / NS_PER_BYTE)
        self.at_ns = now

    def add(self, size, now):
        self.until(now)
        self.advance(max(now, self.at_ns))
        self.put += size
        self.open += size
        while self.open >= SEGMENT:
            self.queue.append(SEGMENT)
            self.open, self.pushed = self.open - SEGMENT, False
        self.until(now)

    def push(self, now):
        self.pushed = self.open > 0
        self.close()
        self.until(now)

    def end_ns(self, position):
        return next(time for time, last in self.left if last >= position)


def ends(queue):
    found = []
    while queue.waiting:
        head = queue.head()
        found.append(head.end_ns)
        queue.take()
    return found


@pytest.mark.oracle
@settings(max_examples=300)
@given(puts, st.sampled_from([0, 1, 2, 5]))
def test_frames_end_as_in_the_twin(given_puts, flight):
    queue, twin, now, positions = SegmentQueue(link(flight=flight), RATE_BPS), Twin(flight), 0.0, []
    for gap, size, pushes in given_puts:
        now += gap
        queue.put(1, size, now)
        twin.add(size + FRAME_HEADER_BYTES, now)
        positions.append(twin.put)
        if pushes:
            queue.push(now)
            twin.push(now)
    queue.push(now)
    twin.push(now)
    twin.until(float("inf"))
    expected = [twin.end_ns(position) for position in positions]
    assert ends(queue) == pytest.approx(expected, abs=0.01)


@settings(max_examples=100)
@given(puts, st.floats(0, 5e6))
def test_a_share_that_stays_moves_nothing(given_puts, when):
    found = []
    for again in (False, True):
        queue, now = SegmentQueue(link(), RATE_BPS), 0.0
        for gap, size, _ in given_puts:
            now += gap
            queue.put(1, size, now)
        queue.push(now)
        if again:
            queue.replan(RATE_BPS, now + when)
        found.append(ends(queue))
    assert found[1] == pytest.approx(found[0], abs=0.1)


def test_half_the_share_doubles_the_distance():
    queue = SegmentQueue(link(bucket=0), RATE_BPS)
    queue.put(1, 20 * SEGMENT - FRAME_HEADER_BYTES, 0.0)
    step = PACKET * NS_PER_BYTE
    queue.replan(RATE_BPS / 2, 9.5 * step)
    assert ends(queue)[0] == pytest.approx(10 * step + 9 * 2 * step, rel=0.06)


def test_what_shares_a_segment_ends_with_it():
    queue = SegmentQueue(link(), RATE_BPS)
    for stream in range(4):
        queue.put(stream, 300, 0.0)
    queue.push(0.0)
    assert len(set(ends(queue))) == 1


def test_a_segment_that_is_not_full_waits_to_be_pushed():
    queue = SegmentQueue(link(), RATE_BPS)
    queue.put(1, 100, 0.0)
    assert queue.head() is None
    queue.push(5000.0)
    assert queue.head().end_ns == 5000.0


def test_room_comes_segment_by_segment_a_round_trip_later():
    queue = SegmentQueue(link(past=10 * SEGMENT, delay_ns=1_000_000, bucket=0), RATE_BPS)
    queue.put(1, 10 * SEGMENT - FRAME_HEADER_BYTES, 0.0)
    step = PACKET * NS_PER_BYTE
    for wanted, segments in ((1, 1), (SEGMENT, 1), (SEGMENT + 1, 2), (5 * SEGMENT, 5)):
        assert queue.room_at(wanted, 0.0) == pytest.approx((segments - 1) * step + 2e6)
    assert queue.free_bytes(2e6 + 2.5 * step) == 3 * SEGMENT
    assert queue.free_bytes(1e9) == 10 * SEGMENT


def test_streams_that_end_in_one_segment_get_their_credit_together():
    """Where bytes flow the first one fills the kernel before the second one's credit comes."""
    window = 500
    receiver = ReceiverModel(window_bytes=window, credit="rest_when_exhausted")
    plans = [StreamPlan(stream=s, size_bytes=40_000) for s in (1, 3)]
    sender = SenderModel(discipline="round_robin", options={"quantum": 4096})
    schedule = Connection(sender, receiver, link()).burst(plans)
    later = [i for i in schedule.intervals if i.size_bytes > 0][2:]
    assert [i.stream for i in later[:4]] == [1, 3, 1, 3]


def test_heads_take_their_time_on_a_path_of_segments_alone():
    plans = [StreamPlan(stream=s, size_bytes=1000) for s in range(1, 41, 2)]
    heads = Heads(first=200, each=100, first_tail=50, tail=50)
    for segment_bytes, longer in ((SEGMENT, 200 + 19 * 100 + 20 * 50), (0, 0)):
        path = LinkModel(rate_bps=RATE_BPS, past_bytes=10**9, segment_bytes=segment_bytes)
        length = [
            max(
                Connection(SenderModel(discipline="fifo", heads=each), ReceiverModel(), path)
                .burst(plans)
                .end_ns.values()
            )
            for each in (Heads(), heads)
        ]
        more_bytes = (length[1] - length[0]) * RATE_BPS / 8e9
        assert more_bytes == pytest.approx(longer, abs=SEGMENT)


@given(st.integers(1, 400_000), st.integers(1, 300_000))
def test_our_sender_sees_room_when_it_looks(size, poll_ns):
    """Ends are never earlier than those of a sender that knows at once."""
    plans = [StreamPlan(stream=1, size_bytes=size)]
    sender, receiver = SenderModel(discipline="fifo"), ReceiverModel()
    at_once, late = (
        Connection(sender, receiver, link(past=40_000, poll_ns=each)).burst(plans).end_ns[1]
        for each in (0, poll_ns)
    )
    assert at_once <= late + 1


def test_positions_cover_every_byte_once():
    plans = [StreamPlan(stream=s, size_bytes=5000 * s) for s in (1, 3, 5)]
    sender = SenderModel(discipline="round_robin", options={"quantum": 1000})
    schedule = Connection(sender, ReceiverModel(), link()).burst(plans)
    assert sum(i.size_bytes for i in schedule.intervals) == 45_000
    for one, two in itertools.pairwise(schedule.carried):
        assert one[0] <= two[0]
        assert one[1] <= two[1]


def test_memory_has_room_for_fewer_small_segments():
    """As SO_MEMINFO shows: 832 bytes and its own for each; one is begun as long as any is free."""
    memory = 44 * (SEGMENT + SEGMENT_MEMORY_BYTES)
    full = SegmentQueue(link(memory=memory, bucket=0), RATE_BPS)
    full.put(1, 43 * SEGMENT, 0.0, counted_bytes=0)
    assert full.free_bytes(-1.0) == SEGMENT, "none has left"
    assert full.free_bytes(1e12) == 44 * SEGMENT
    small = SegmentQueue(link(memory=memory, bucket=0), RATE_BPS)
    taken = 0
    while small.free_bytes(0.0):
        small.put(1, 79, 0.0, counted_bytes=0)
        small.push(0.0)
        taken += 1
    assert taken == pytest.approx(memory / (79 + SEGMENT_MEMORY_BYTES), abs=3), "three have left"
    assert small.room_at(1, 0.0) > 0.0


def test_segments_that_were_acknowledged_hold_none_back():
    """Two small ones have a segment each: what was acknowledged is not under way."""
    queue = SegmentQueue(link(flight=2), RATE_BPS)
    for stream in (1, 3, 5):
        queue.put(stream, SEGMENT - FRAME_HEADER_BYTES, 2000.0 * stream)
        queue.free_bytes(2000.0 * stream)
        queue.head()
        queue.take()
    queue.put(7, 10, 20_000.0)
    queue.push(20_000.0)
    queue.free_bytes(20_000.0)  # the three are acknowledged
    for stream in (9, 11):
        queue.put(stream, 10, 20_000.0 + stream)
        queue.push(20_000.0 + stream)
    first, second, third = ends(queue)
    assert second - first == pytest.approx((10 + FRAME_HEADER_BYTES + PACKET_HEADER_BYTES) * 80)
    assert third > second


@pytest.mark.parametrize(("flight", "delayed"), [(2, 3), (0, 0)])
def test_a_packet_without_data_is_behind_what_is_in_the_links_queue(flight, delayed):
    ends_ns = []
    for packets in (0, 3):
        queue = SegmentQueue(link(bucket=0, flight=flight), RATE_BPS)
        queue.put(1, 10 * SEGMENT - FRAME_HEADER_BYTES, 0.0)
        for n in range(packets):
            queue.charge((n + 1.5) * PACKET * NS_PER_BYTE)
        ends_ns.append(ends(queue)[0])
    later_ns = delayed * PACKET_HEADER_BYTES * NS_PER_BYTE
    assert ends_ns[1] - ends_ns[0] == pytest.approx(later_ns, abs=0.1)


@pytest.mark.parametrize("now", [0, 5_000])
def test_what_ends_in_one_segment_is_there_at_one_time(now):
    queue = SegmentQueue(link(), RATE_BPS)
    queue.put(1, 100, now, beside_bytes=(12, 25))
    queue.push(now)
    assert queue.head() is not None
    frame = queue.take()
    assert frame.end_ns == frame.behind_ns == now


SLOW_BPS = 1e9 * SEGMENT / (SEGMENT + PACKET_HEADER_BYTES)
STEP_NS = 8e9 * SEGMENT / SLOW_BPS
TRIP_NS = 20_000_000


def slow_link(bucket=0):
    return LinkModel(
        rate_bps=SLOW_BPS,
        delay_ns=TRIP_NS // 2,
        past_bytes=10**9,
        bucket_bytes=bucket,
        segment_bytes=SEGMENT,
    )


def naive_ends(segments):
    """Ends by a window that each acknowledgement widens by one, one event after the other."""
    window, free_ns, left, acks = 10, 0.0, [], []
    now = 0.0
    while len(left) < segments:
        acknowledged = sum(time <= now for time in acks)
        if len(left) < acknowledged + window + acknowledged and free_ns <= now:
            left.append(now)
            acks.append(now + TRIP_NS)
            free_ns = now + STEP_NS
            continue
        now = min(time for time in (*acks, free_ns) if time > now)
    return left


def test_segments_leave_as_by_the_naive_window():
    queue = SegmentQueue(slow_link(), SLOW_BPS, starts=True)
    for _ in range(600):
        queue.put(1, SEGMENT, 0.0, counted_bytes=0)
    found = []
    while queue.waiting:
        found.append(queue.head().end_ns)
        queue.take()
    assert found == pytest.approx(naive_ends(600), abs=1.0)


def test_the_window_doubles_each_round_trip_until_the_link_is_full():
    queue = SegmentQueue(slow_link(), SLOW_BPS, starts=True)
    for _ in range(8000):
        queue.put(1, SEGMENT, 0.0, counted_bytes=0)
    trips = []
    while queue.waiting:
        trips.append(int(queue.head().end_ns // TRIP_NS))
        queue.take()
    counts = [len(list(group)) for _, group in itertools.groupby(trips)]
    assert counts[:7] == [10, 20, 40, 80, 160, 320, 640]
    full = TRIP_NS / STEP_NS
    assert counts[8] == pytest.approx(full, abs=2)


def test_later_bursts_begin_with_the_window_that_is_there():
    connection = Connection(SenderModel(discipline="fifo"), ReceiverModel(), slow_link())
    first, later = (connection.burst([StreamPlan(stream=n, size_bytes=3_000_000)]) for n in (1, 3))
    assert later.end_ns[3] == pytest.approx(3_000_000 * 8e9 / SLOW_BPS + TRIP_NS / 2, rel=0.01)
    assert first.end_ns[1] > later.end_ns[3] + 4 * TRIP_NS


LINK_BPS = 1e8
LINK_BUCKET = 25_000


def queue(past: int = 100_000, bucket: int = LINK_BUCKET) -> SendQueue:
    return SendQueue(LinkModel(rate_bps=LINK_BPS, past_bytes=past, bucket_bytes=bucket), LINK_BPS)


def test_what_the_bucket_lets_pass_makes_room_at_line_speed():
    full = queue()
    full.put(1, 100_000 - FRAME_HEADER_BYTES, 0.0)
    at_once_ns = LINK_BUCKET * 8e9 / LINE_BPS
    assert full.room_at(LINK_BUCKET, 0.0) == pytest.approx(at_once_ns, rel=0.02)
    later_ns = at_once_ns + 30_000 * 8e9 / LINK_BPS
    assert full.room_at(LINK_BUCKET + 30_000, 0.0) == pytest.approx(later_ns, rel=0.02)
    assert full.free_bytes(later_ns) == pytest.approx(LINK_BUCKET + 30_000, rel=0.02)


@given(
    sizes=st.lists(st.integers(1, 60_000), min_size=1, max_size=6),
    bucket=st.integers(0, 80_000),
    changes=st.lists(st.tuples(st.floats(0.0, 1.0), st.floats(0.1, 1.0)), max_size=5),
)
def test_whatever_the_shares_all_of_the_room_comes_back(sizes, bucket, changes):
    one = queue(past=1_000_000, bucket=bucket)
    for size in sizes:
        one.put(1, size, 0.0)
    now = 0.0
    for part, share in changes:
        now += part * (one.waiting[0].end_ns - now) if one.waiting else 0.0
        one.room_at(1, now)  # forgets what is acknowledged by now
        while one.waiting and one.waiting[0].end_ns <= now:
            one.take()
        one.replan(share * LINK_BPS, now)
    end_ns = one.free_ns + 1.0
    assert one.free_bytes(end_ns) == pytest.approx(1_000_000, abs=0.01)
