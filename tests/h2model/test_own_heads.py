"""HEADERS of our own sender: what they take of a full link is what the burst is longer by."""

from dataclasses import replace

from hypothesis import given, settings
from hypothesis import strategies as st

from h2model.connection import Connection
from h2model.records import LinkModel, ReceiverModel, SenderModel, StreamPlan
from h2model.segments import PACKET_HEADER_BYTES

SEGMENT = 1448
PACKET = SEGMENT + PACKET_HEADER_BYTES
NS_PER_BYTE = 800.0  # of a packet at 10 Mbit/s
LINK = LinkModel(
    rate_bps=8e9 / NS_PER_BYTE * SEGMENT / PACKET,
    delay_ns=2_500_000,
    past_bytes=57_375,
    bucket_bytes=2 * PACKET,
    segment_bytes=SEGMENT,
)
RECEIVER = ReceiverModel(window_bytes=2**20, connection_window_bytes=2**30, credit="half")


def end_ns(plans: list[StreamPlan]) -> int:
    sender = SenderModel(discipline="fifo", options={})
    return max(Connection(sender, RECEIVER, LINK).burst(plans).end_ns.values())


@settings(max_examples=40, deadline=None)
@given(
    heads=st.lists(st.integers(10, 80), min_size=1, max_size=8),
    is_answer=st.booleans(),
)
def test_heads_take_a_packet_of_their_own(heads: list[int], is_answer: bool) -> None:
    plans = [
        StreamPlan(stream=2 * i + 1, size_bytes=60_000, head_bytes=size, is_answer=is_answer)
        for i, size in enumerate(heads)
    ]
    longer_ns = end_ns(plans) - end_ns([replace(plan, head_bytes=0) for plan in plans])
    packets = 2 if is_answer else 1
    taken_ns = (sum(heads) + packets * PACKET_HEADER_BYTES) * NS_PER_BYTE
    assert abs(longer_ns - taken_ns) <= 2
