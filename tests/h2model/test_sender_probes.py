"""A sender's own PING at a burst's first requests, which takes some of its link's bucket."""

from dataclasses import replace

import pytest

from h2model.connection import Connection
from h2model.records import ReceiverModel, SenderModel, StreamPlan
from h2model.segments import PACKET_HEADER_BYTES
from tests.h2model.test_own_heads import LINK, NS_PER_BYTE

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
