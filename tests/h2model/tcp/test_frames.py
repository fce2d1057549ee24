"""Without losses, frames through TCP come when they do over a link that carries segments."""

import math

import pytest

from h2model.connection import Connection, LinkModel, ReceiverModel, SenderModel, StreamPlan
from h2model.event_loop import EventLoop
from h2model.segments import PACKET_HEADER_BYTES
from h2model.tcp.connection import TcpWay
from h2model.tcp.frames import TcpQueue
from h2model.tcp.network import PacketNetwork, Port

SEGMENT = 1448
RATE_BPS = 1e8
DELAY_NS = 1000
SIZES = (700, 40_000, 3, 16_384, 200_000, 90_001)


def link(memory):
    return LinkModel(
        rate_bps=RATE_BPS * SEGMENT / (SEGMENT + PACKET_HEADER_BYTES),
        delay_ns=DELAY_NS,
        credit_latency_ns=DELAY_NS,
        past_bytes=65_536,
        send_memory_bytes=memory,
        bucket_bytes=3028,
        segment_bytes=SEGMENT,
    )


def plans():
    return [
        StreamPlan(stream=1 + 2 * number, size_bytes=size, ready_ns=number * 1_000_000)
        for number, size in enumerate(SIZES)
    ]


def play(connection, packets=None, queue=None):
    """Play one burst; ends of its streams."""
    loop = EventLoop(None)
    sender = connection.begin(plans(), queue=queue)
    packets = packets or PacketNetwork()
    packets.moved = loop.moved
    loop.begin(0, sender)
    while min(loop.next_ns, packets.next_ns) < math.inf:
        if packets.next_ns < loop.next_ns:
            packets.step()
        else:
            loop.step()
    return sender.finish().end_ns


@pytest.mark.parametrize(
    ("sender", "memory"),
    [
        (SenderModel(discipline="fifo"), 0),
        (SenderModel(discipline="round_robin"), 0),
        (SenderModel(discipline="two_visit"), 0),
        (SenderModel(discipline="write_cycle", polled=True), 150_000),
    ],
    ids=lambda value: value.discipline if isinstance(value, SenderModel) else None,
)
def test_ends_are_those_of_segments(sender, memory):
    path = link(memory)
    expected = play(Connection(sender, ReceiverModel(), path))
    network = PacketNetwork()
    how = {"rate_bps": RATE_BPS, "queue_bytes": 10**9, "bucket_bytes": 3028}
    ports = [Port(delay_ns=DELAY_NS, **how) for _ in range(2)]
    way = TcpWay(network, (ports[0],), (ports[1],), segment_bytes=SEGMENT, position=0)
    found = play(Connection(sender, ReceiverModel(), path), network, TcpQueue(path, way))
    assert found.keys() == expected.keys()
    step_ns = (SEGMENT + PACKET_HEADER_BYTES) * 8e9 / RATE_BPS
    for stream, end_ns in expected.items():
        assert found[stream] == pytest.approx(end_ns, abs=step_ns), stream
