"""Old releases of gRPC as endpoints: bytes, order, their settings on the wire, their ends."""

import json
import os
import signal
from dataclasses import replace

import pytest

from emu.endpoints import Connection
from netcosim.errors import EndpointError
from tests.releases import OLD, provided

from .conftest import Net, after, burst, plan, tensors, transport
from .wire import DATA, SETTINGS, WINDOW_UPDATE, Frame

pytestmark = [pytest.mark.root, pytest.mark.soak]
MS = 1_000_000
INITIAL_WINDOW = 4


@pytest.fixture(params=OLD)
def release(request: pytest.FixtureRequest) -> str | None:
    """A release; None, with the reason seen to, where this machine has no Python for it."""
    name: str = request.param
    reason = provided()[name]
    if reason is None:
        return name
    both = transport("grpc", "grpc", sender_release=name, receiver_release=name)
    with pytest.raises(EndpointError) as raised:
        plan(both)
    assert str(raised.value) == reason
    assert "no Python 3." in reason
    return None


def ends(release: str, **given: object):
    return transport("grpc", "grpc", sender_release=release, receiver_release=release, **given)


def initial_windows(frames: list[Frame], *, from_responder: bool) -> list[int]:
    """Initial windows that one end announced, in order."""
    entries = [
        frame.payload[at : at + 6]
        for frame in frames
        if frame.kind == SETTINGS and frame.from_responder == from_responder
        for at in range(0, frame.size, 6)
    ]
    return [
        int.from_bytes(entry[2:], "big")
        for entry in entries
        if int.from_bytes(entry[:2], "big") == INITIAL_WINDOW
    ]


def visits(frames: list[Frame]) -> list[int]:
    """Streams as the responder's DATA took turns."""
    order = [f.stream for f in frames if f.kind == DATA and f.from_responder and f.size]
    return [stream for i, stream in enumerate(order) if i == 0 or order[i - 1] != stream]


@pytest.mark.parametrize("mode", ["pull", "pull-back", "push"])
def test_tensors_arrive_whole_and_in_order(net: Net, release, mode) -> None:
    if release is None:
        return
    ready = tuple(8 * MS * i for i in range(5))
    streams = tensors(200_000, 1, 50_000, 700_000, 4096, ready_ns=ready)
    with Connection(plan(ends(release), mode), net.popen) as connection:
        assert {connection.opened[end]["release"] for end in connection.opened} == {release}
        for number in range(2):
            log = burst(connection, streams, number)
            handed = [stream.handed_ns for stream in log.streams]
            assert handed == sorted(handed)
            for asked, stream in zip(streams, log.streams, strict=True):
                assert stream.handed_ns >= log.start_ns + asked.ready_ns
                assert stream.handed_ns <= stream.delivered_ns
                # The only thread of the oldest release tells of each but the last.
                last = asked is streams[-1] and release == "1.17.0" and mode != "push"
                assert (stream.taken_ns is None) == last
                assert last or stream.handed_ns <= stream.taken_ns


def test_answers_go_in_the_order_in_which_they_were_handed_over(net: Net, capture, release) -> None:
    """That of the requests, unless the library wakes their handlers in another, as under load."""
    if release is None:
        return
    handed = []
    with Connection(plan(ends(release)), net.popen) as connection:
        for number in range(3):
            streams = burst(connection, tensors(*[30_000] * 20), number).streams
            order = sorted(streams, key=lambda stream: stream.handed_ns)
            handed += [1 + 2 * (20 * number + stream.index) for stream in order]
    assert list(dict.fromkeys(visits(capture()))) == handed
    if release == "1.17.0":  # whose only thread binds them
        assert handed == sorted(handed)


def test_asyncio_answers_when_ready_not_when_asked(net: Net, release) -> None:
    """1.17 has one thread, which the order of the requests binds; it says so."""
    if release is None:
        return
    # Wall clock: the last request has to come before the second answer is ready, however late.
    streams = tensors(1000, 1000, 1000, ready_ns=(2_000 * MS, 1_000 * MS, 0))
    with Connection(plan(ends(release), "pull-back"), net.popen) as connection:
        if release == "1.17.0":
            with pytest.raises(EndpointError, match=r"^grpc 1\.17\.0 .* needs grpc\.aio"):
                burst(connection, streams)
            return
        log = burst(connection, streams)
    handed = sorted(log.streams, key=lambda stream: stream.handed_ns)
    assert [stream.index for stream in handed] == [2, 1, 0]


def test_a_window_holds_or_is_refused(net: Net, capture, release) -> None:
    if release is None:
        return
    window = 65535 if release == "1.59.5" else 262_144
    net.shape("50mbit")
    with Connection(plan(ends(release, window=window)), net.popen) as connection:
        burst(connection, tensors(600_000, 600_000))
    assert set(initial_windows(capture(), from_responder=False)) == {window}


def test_off_is_one_message_after_another_without_any_credit(net: Net, capture, release) -> None:
    if release in (None, "1.59.5"):  # for which it is refused
        return
    net.shape("50mbit")
    with Connection(plan(ends(release, flow_control=False)), net.popen) as connection:
        burst(connection, tensors(*[400_000] * 5))
    frames = capture()
    assert [f for f in frames if f.kind == WINDOW_UPDATE] == []
    order = visits(frames)
    assert order == sorted(set(order))
    assert sum(f.size for f in frames if f.kind == DATA and f.from_responder) == 5 * 400_005


def test_without_flow_control_off_streams_take_turns(net: Net, capture, release) -> None:
    if release is None:
        return
    net.shape("50mbit")
    with Connection(plan(ends(release, window=65535)), net.popen) as connection:
        burst(connection, tensors(*[400_000] * 5))
    order = visits(capture())
    assert len(order) > len(set(order)) == 5


def test_an_old_sender_obeys_an_exact_receiver(net: Net, capture, release) -> None:
    """No more than the window comes before credit does: its frames are the receiver's to allow."""
    if release is None:
        return
    net.shape("50mbit")
    spec = transport(
        "grpc", "h2", sender_release=release, window=65535, credit="rest_when_exhausted"
    )
    with Connection(plan(spec), net.popen) as connection:
        burst(connection, tensors(300_000, 300_000))
    granted: dict[int, int] = {}
    sent: dict[int, int] = {}
    for frame in capture():
        if frame.kind == WINDOW_UPDATE and frame.stream and not frame.from_responder:
            granted[frame.stream] = granted.get(frame.stream, 65535) + frame.increment
        if frame.kind == DATA and frame.from_responder:
            assert frame.size <= 16384
            sent[frame.stream] = sent.get(frame.stream, 0) + frame.size
            assert sent[frame.stream] <= granted.get(frame.stream, 65535)
    assert sorted(sent.values()) == [300_005, 300_005]


@pytest.mark.parametrize("victim", ["requester", "responder"])
def test_its_death_in_mid_burst_is_one_line(net: Net, release, victim) -> None:
    if release is None:
        return
    net.shape("10mbit")
    with Connection(plan(ends(release)), net.popen) as connection:
        process = getattr(connection, victim)
        with (
            after(0.6, lambda: os.kill(process.pid, signal.SIGKILL)),
            pytest.raises(EndpointError) as raised,
        ):
            burst(connection, tensors(3_000_000))
    host = "w" if victim == "requester" else "s"
    assert str(raised.value) == f"grpc {release} {victim} in {host}: killed by SIGKILL"


def test_an_environment_with_another_release_is_refused(net: Net, release) -> None:
    if release is None:
        return
    planned = plan(ends(release))
    config = json.loads(planned.responder.argv[2])
    config["settings"]["release"] = "1.2.3"
    argv = (*planned.responder.argv[:2], json.dumps(config))
    wrong = replace(planned, responder=replace(planned.responder, argv=argv))
    with pytest.raises(EndpointError, match=rf"has grpcio {release} instead of 1\.2\.3"):
        Connection(wrong, net.popen).open()
