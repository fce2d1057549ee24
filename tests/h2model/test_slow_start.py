"""The first burst of a connection on a long path: TCP's window doubles each round trip."""

import itertools

import pytest

from h2model.connection import Connection, LinkModel, ReceiverModel, SenderModel, StreamPlan
from h2model.segments import PACKET_HEADER_BYTES, SegmentQueue

SEGMENT = 1448
RATE_BPS = 1e9 * SEGMENT / (SEGMENT + PACKET_HEADER_BYTES)
STEP_NS = 8e9 * SEGMENT / RATE_BPS
TRIP_NS = 20_000_000


def link(bucket=0):
    return LinkModel(
        rate_bps=RATE_BPS,
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
    queue = SegmentQueue(link(), RATE_BPS, starts=True)
    for _ in range(600):
        queue.put(1, SEGMENT, 0.0, counted_bytes=0)
    found = []
    while queue.waiting:
        found.append(queue.head().end_ns)
        queue.take()
    assert found == pytest.approx(naive_ends(600), abs=1.0)


def test_the_window_doubles_each_round_trip_until_the_link_is_full():
    queue = SegmentQueue(link(), RATE_BPS, starts=True)
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
    connection = Connection(SenderModel(discipline="fifo"), ReceiverModel(), link())
    first, later = (connection.burst([StreamPlan(stream=n, size_bytes=3_000_000)]) for n in (1, 3))
    assert later.end_ns[3] == pytest.approx(3_000_000 * 8e9 / RATE_BPS + TRIP_NS / 2, rel=0.01)
    assert first.end_ns[1] > later.end_ns[3] + 4 * TRIP_NS
