"""Without losses, frames through TCP come when they do over a link that carries segments."""

import math
from dataclasses import replace

import pytest

from h2model.connection import Connection, LinkModel, ReceiverModel, SenderModel, StreamPlan
from h2model.event_loop import EventLoop
from h2model.segments import FREED_NS, PACKET_HEADER_BYTES
from h2model.tcp.connection import TcpWay
from h2model.tcp.fair_port import FairPort
from h2model.tcp.fixed_window import FixedWindow
from h2model.tcp.frames import TcpQueue
from h2model.tcp.network import FifoPort, PacketNetwork

SEGMENT = 1448
RATE_BPS = 1e8
DELAY_NS = 1000
SIZES = (700, 40_000, 3, 16_384, 200_000, 90_001)


def link(memory, **changes):
    path = LinkModel(
        rate_bps=RATE_BPS * SEGMENT / (SEGMENT + PACKET_HEADER_BYTES),
        delay_ns=DELAY_NS,
        credit_latency_ns=DELAY_NS,
        past_bytes=65_536,
        send_memory_bytes=memory,
        bucket_bytes=3028,
        segment_bytes=SEGMENT,
    )
    return replace(path, **changes)


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


senders = pytest.mark.parametrize(
    ("sender", "memory"),
    [
        (SenderModel(discipline="fifo"), 0),
        (SenderModel(discipline="round_robin"), 0),
        (SenderModel(discipline="two_visit"), 0),
        (SenderModel(discipline="write_cycle", polled=True), 150_000),
    ],
    ids=lambda value: value.discipline if isinstance(value, SenderModel) else None,
)


@senders
def test_ends_are_those_of_segments(sender, memory):
    path = link(memory)
    expected = play(Connection(sender, ReceiverModel(), path))
    network = PacketNetwork()
    how = {"rate_bps": RATE_BPS, "queue_bytes": 10**9, "bucket_bytes": 3028}
    ports = [FifoPort(delay_ns=DELAY_NS, **how) for _ in range(2)]
    way = TcpWay(network, (ports[0],), (ports[1],), segment_bytes=SEGMENT, position=0)
    found = play(Connection(sender, ReceiverModel(), path), network, TcpQueue(path, way))
    assert found.keys() == expected.keys()
    step_ns = (SEGMENT + PACKET_HEADER_BYTES) * 8e9 / RATE_BPS
    for stream, end_ns in expected.items():
        assert found[stream] == pytest.approx(end_ns, abs=step_ns), stream


@senders
def test_alone_in_its_class_ends_are_those_of_segments(sender, memory):
    """Two segments at most are under way, over a link without delay."""
    path = link(memory, delay_ns=0, credit_latency_ns=0, flight_segments=2)
    expected = play(Connection(sender, ReceiverModel(), path))
    network = PacketNetwork()
    forth, back = (
        FairPort(rate_bps=RATE_BPS, delay_ns=0, bucket_bytes=3028, quantum_bytes=1514)
        for _ in range(2)
    )
    way = TcpWay(
        network, (forth,), (back,), segment_bytes=SEGMENT, position=0, window=FixedWindow(2)
    )
    queue = TcpQueue(path, way, begins_early=True)
    found = play(Connection(sender, ReceiverModel(), path), network, queue)
    assert found.keys() == expected.keys()
    for stream, end_ns in expected.items():
        assert found[stream] == pytest.approx(end_ns, abs=2 * FREED_NS), stream
