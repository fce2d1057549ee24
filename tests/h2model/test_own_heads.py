"""HEADERS of our own sender: what they take of a full link is what the burst is longer by."""

from dataclasses import replace

import pytest
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


def heads_end_ns(plans: list[StreamPlan]) -> int:
    sender = SenderModel(discipline="fifo", options={})
    return max(Connection(sender, RECEIVER, LINK).burst(plans).end_ns.values())


@settings(max_examples=40, deadline=None)
@given(heads=st.lists(st.integers(10, 80), min_size=1, max_size=8), is_answer=st.booleans())
def test_heads_take_a_packet_of_their_own(heads: list[int], is_answer: bool) -> None:
    plans = [
        StreamPlan(stream=2 * i + 1, size_bytes=60_000, head_bytes=size, is_answer=is_answer)
        for i, size in enumerate(heads)
    ]
    longer_ns = heads_end_ns(plans) - heads_end_ns([replace(plan, head_bytes=0) for plan in plans])
    packets = 2 if is_answer else 1
    taken_ns = (sum(heads) + packets * PACKET_HEADER_BYTES) * NS_PER_BYTE
    assert abs(longer_ns - taken_ns) <= 2


ASKED_NS = LINK.delay_ns  # the request is at the sender


def end_ns(ready_ns: int, *, probes: bool) -> int:
    plan = StreamPlan(stream=1, size_bytes=60_000, ready_ns=ready_ns, call_bytes=60)
    receiver = ReceiverModel(
        window_bytes=2**22, connection_window_bytes=2**22, grpc=True, probes=probes
    )
    sender = SenderModel(discipline="fifo", options={}, polled=True)
    link = replace(LINK, past_bytes=2**20, send_memory_bytes=2**20)
    return Connection(sender, receiver, link).burst([plan]).end_ns[1]


@pytest.mark.parametrize(("later_ns", "packets"), [(10_000, 2), (1_500_000, 0)])
def test_it_and_its_answer_s_acknowledgement_go_first(later_ns: int, packets: int) -> None:
    """What they take is made good where the message is ready long after they have gone."""
    ready_ns = ASKED_NS + later_ns
    longer_ns = end_ns(ready_ns, probes=True) - end_ns(ready_ns, probes=False)
    assert longer_ns == packets * PACKET_HEADER_BYTES * NS_PER_BYTE
