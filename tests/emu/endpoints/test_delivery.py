"""Real endpoints over a veth: every mode between every two implementations delivers all bytes."""

import pytest

from emu.endpoints import Connection, open_connections, run_burst

from .conftest import Net, burst, plan, tensors, transport
from .wire import DATA

pytestmark = [pytest.mark.root, pytest.mark.emulation]

PAIRS = [("h2", "h2"), ("grpc", "grpc"), ("h2", "grpc"), ("grpc", "h2")]
SIZES = (300_000, 1, 70_000, 1_200_000, 65_536)
MS = 1_000_000


@pytest.mark.parametrize("mode", ["pull", "pull-back", "push"])
@pytest.mark.parametrize(("sender", "receiver"), PAIRS)
def test_all_bytes_arrive_in_two_bursts(net: Net, capture, mode, sender, receiver) -> None:
    streams = tensors(*SIZES, ready_ns=tuple(3 * MS * i for i in range(len(SIZES))))
    with Connection(plan(transport(sender, receiver), mode), net.popen) as connection:
        logs = [burst(connection, streams, number) for number in range(2)]
    for log in logs:
        for asked, stream in zip(streams, log.streams, strict=True):
            assert stream.index == asked.index
            assert log.start_ns <= stream.requested_ns <= stream.delivered_ns
            assert stream.handed_ns <= stream.delivered_ns
            assert stream.taken_ns is not None
            assert stream.handed_ns <= stream.taken_ns
            assert stream.handed_ns >= log.start_ns + asked.ready_ns
        # Our own sender tells after each write; beside gRPC a thread looks now and then.
        assert log.past_scheduler is not None or sender == "grpc"
    prefix = 0 if (sender, receiver) == ("h2", "h2") else 5
    carried: dict[int, int] = {}
    for frame in capture():
        if frame.kind == DATA and frame.from_responder == (mode != "push"):
            carried[frame.stream] = carried.get(frame.stream, 0) + frame.size
    assert sorted(carried.values()) == sorted(2 * [size + prefix for size in SIZES])


def test_what_grpc_left_to_the_kernel_is_sampled(net: Net) -> None:
    """In one of some bursts, for a process that gets no processor takes no samples."""
    with Connection(plan(transport("grpc", "grpc"), "pull"), net.popen) as connection:
        logs = (burst(connection, tensors(*SIZES), number) for number in range(20))
        assert any(log.past_scheduler is not None for log in logs)


@pytest.mark.parametrize(("sender", "receiver"), PAIRS)
def test_pull_back_answers_when_ready_not_when_asked(net: Net, sender, receiver) -> None:
    # Wall clock: all requests have to come before the first answer but one is ready.
    ready = (600 * MS, 200 * MS, 400 * MS, 0)
    with Connection(plan(transport(sender, receiver), "pull-back"), net.popen) as connection:
        log = burst(connection, tensors(1000, 1000, 1000, 1000, ready_ns=ready))
    asked = [stream.requested_ns for stream in log.streams]
    assert asked == sorted(asked)
    handed = sorted(log.streams, key=lambda stream: stream.handed_ns)
    assert [stream.index for stream in handed] == [3, 1, 2, 0]


def test_more_streams_than_the_usual_limit_of_100(net: Net) -> None:
    with Connection(plan(transport("h2", "h2")), net.popen) as connection:
        log = burst(connection, tensors(*[2000] * 250))
    assert len(log.streams) == 250


def test_two_connections_run_a_burst_at_the_same_time(net: Net) -> None:
    import dataclasses
    import json
    import time

    first = plan(transport("h2", "h2"))
    ends = {}
    for role in ("requester", "responder"):
        end = getattr(first, role)
        config = json.loads(end.argv[2]) | {"port": first.port + 1}
        ends[role] = dataclasses.replace(end, argv=(*end.argv[:2], json.dumps(config)))
    second = dataclasses.replace(first, name="second", port=first.port + 1, **ends)
    connections = [Connection(first, net.popen), Connection(second, net.popen)]
    open_connections(connections)
    try:
        net.shape("50mbit")
        start_ns = time.time_ns() + 200 * MS
        streams = [tensors(400_000, 400_000), tensors(400_000)]
        logs = run_burst(connections, 0, streams, [start_ns, start_ns], 60)
    finally:
        for connection in connections:
            connection.close()
    assert [log.connection for log in logs] == [first.name, "second"]
    assert [len(log.streams) for log in logs] == [2, 1]
    begun = [min(stream.handed_ns for stream in log.streams) for log in logs]
    ended = [max(stream.delivered_ns for stream in log.streams) for log in logs]
    assert max(begun) < min(ended)
