"""Unacknowledged bytes: the kernel's room against a plain reckoning with a token bucket."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from h2model.link import LINE_BPS, SendQueue
from h2model.protocol import FRAME_HEADER_BYTES
from h2model.records import LinkModel

RATE_BPS = 1e8
BUCKET = 25_000


def queue(past: int = 100_000, bucket: int = BUCKET) -> SendQueue:
    return SendQueue(LinkModel(rate_bps=RATE_BPS, past_bytes=past, bucket_bytes=bucket), RATE_BPS)


def test_what_the_bucket_lets_pass_makes_room_at_line_speed() -> None:
    full = queue()
    full.put(1, 100_000 - FRAME_HEADER_BYTES, 0.0)
    at_once_ns = BUCKET * 8e9 / LINE_BPS
    assert full.room_at(BUCKET, 0.0) == pytest.approx(at_once_ns, rel=0.02)
    later_ns = at_once_ns + 30_000 * 8e9 / RATE_BPS
    assert full.room_at(BUCKET + 30_000, 0.0) == pytest.approx(later_ns, rel=0.02)
    assert full.free_bytes(later_ns) == pytest.approx(BUCKET + 30_000, rel=0.02)


@given(
    sizes=st.lists(st.integers(1, 60_000), min_size=1, max_size=6),
    bucket=st.integers(0, 80_000),
    changes=st.lists(st.tuples(st.floats(0.0, 1.0), st.floats(0.1, 1.0)), max_size=5),
)
def test_whatever_the_shares_all_of_the_room_comes_back(
    sizes: list[int], bucket: int, changes: list[tuple[float, float]]
) -> None:
    one = queue(past=1_000_000, bucket=bucket)
    for size in sizes:
        one.put(1, size, 0.0)
    now = 0.0
    for part, share in changes:
        now += part * (one.waiting[0].end_ns - now) if one.waiting else 0.0
        one.room_at(1, now)  # forgets what is acknowledged by now
        while one.waiting and one.waiting[0].end_ns <= now:
            one.take()
        one.replan(share * RATE_BPS, now)
    end_ns = one.free_ns + 1.0
    assert one.free_bytes(end_ns) == pytest.approx(1_000_000, abs=0.01)
