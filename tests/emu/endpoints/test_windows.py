"""Windows and credit as the wire shows them."""

import pytest

from emu.endpoints import Connection

from .conftest import Net, burst, plan, tensors, transport
from .wire import DATA, WINDOW_UPDATE, Frame

pytestmark = pytest.mark.root

WINDOW = 50_000
SIZE = 230_000


def replay(frames: list[Frame], window: int) -> tuple[list[tuple[int, int]], int]:
    """For each stream's WINDOW_UPDATE: bytes that had come before it, and its size.

    Also how far the sender ever overdrew its credit; the capture is the receiver's, so what it
    granted is on the wire before what it allows comes.
    """
    received = 0
    granted = window
    updates = []
    overdrawn = 0
    for frame in frames:
        if frame.kind == DATA and frame.from_responder:
            received += frame.size
            overdrawn = max(overdrawn, received - granted)
        elif frame.kind == WINDOW_UPDATE and frame.stream and not frame.from_responder:
            updates.append((received, frame.increment))
            granted += frame.increment
    return updates, overdrawn


@pytest.mark.parametrize("sender", ["h2", "grpc"])
def test_fixed_window_stalls_exactly(net: Net, capture, sender) -> None:
    spec = transport(sender, "h2", window=WINDOW, credit="fixed")
    with Connection(plan(spec), net.popen) as connection:
        burst(connection, tensors(SIZE))
    updates, overdrawn = replay(capture(), WINDOW)
    assert updates == [(k * WINDOW, WINDOW) for k in (1, 2, 3, 4)]
    assert overdrawn == 0


@pytest.mark.parametrize("sender", ["h2", "grpc"])
def test_rest_when_exhausted_gives_two_visits(net: Net, capture, sender) -> None:
    spec = transport(sender, "h2", window=WINDOW, credit="rest_when_exhausted")
    with Connection(plan(spec), net.popen) as connection:
        burst(connection, tensors(SIZE))
    updates, overdrawn = replay(capture(), WINDOW)
    whole = SIZE + (5 if sender == "grpc" else 0)
    assert updates == [(WINDOW, whole - WINDOW)]
    assert overdrawn == 0


@pytest.mark.parametrize("sender", ["h2", "grpc"])
def test_rest_at_header_grants_once_and_early(net: Net, capture, sender) -> None:
    net.shape("20mbit")
    spec = transport(sender, "h2", window=WINDOW, credit="rest_at_header")
    with Connection(plan(spec), net.popen) as connection:
        burst(connection, tensors(SIZE))
    updates, overdrawn = replay(capture(), WINDOW)
    whole = SIZE + (5 if sender == "grpc" else 0)
    assert [increment for _, increment in updates] == [whole - WINDOW]
    assert 0 < updates[0][0] <= WINDOW
    assert overdrawn == 0


@pytest.mark.parametrize("sender", ["h2", "grpc"])
def test_half_slides(net: Net, capture, sender) -> None:
    net.shape("20mbit")
    spec = transport(sender, "h2", window=WINDOW, credit="half")
    with Connection(plan(spec), net.popen) as connection:
        burst(connection, tensors(SIZE))
    updates, overdrawn = replay(capture(), WINDOW)
    assert len(updates) >= 4
    assert all(increment >= WINDOW // 2 for _, increment in updates)
    assert overdrawn == 0


def test_connection_window_is_shared_and_replenished_at_half(net: Net, capture) -> None:
    window = 100_000
    spec = transport("h2", "h2", window=2**20, connection_window=window)
    with Connection(plan(spec), net.popen) as connection:
        burst(connection, tensors(300_000, 300_000))
    received = 0
    granted = 65_535
    increments = []
    for frame in capture():
        if frame.kind == DATA and frame.from_responder:
            received += frame.size
            assert received <= granted
        elif frame.kind == WINDOW_UPDATE and not frame.stream and not frame.from_responder:
            granted += frame.increment
            increments.append(frame.increment)
    assert increments[0] == window - 65_535
    assert increments[1:]
    assert all(increment >= window // 2 for increment in increments[1:])


@pytest.mark.parametrize(
    ("receiver", "given", "announced"),
    [
        ("h2", {}, 65_535),
        ("h2", {"window": 2**20}, 2**20),
        ("h2", {"window": 30_000}, 30_000),
        ("h2", {"flow_control": False}, 2**31 - 1),
        ("grpc", {"window": 2**20}, 2**20),
        ("grpc", {"window": 30_000}, 30_000),
        # gRPC adds up to 1 MiB to a stream's window; 2**31 - 1 is what HTTP/2 allows.
        ("grpc", {"flow_control": False}, 2**31 - 1 - 2**20),
    ],
)
def test_receiver_announces_the_window_asked_for(net: Net, receiver, given, announced) -> None:
    with Connection(plan(transport("h2", receiver, **given)), net.popen) as connection:
        burst(connection, tensors(100_000))
        assert connection.opened["responder"]["peer"]["initial_window_bytes"] == announced


def test_flow_control_off_sends_no_stream_credit(net: Net, capture) -> None:
    with Connection(plan(transport("h2", "h2", flow_control=False)), net.popen) as connection:
        burst(connection, tensors(3_000_000))
    updates, overdrawn = replay(capture(), 2**31 - 1)
    assert updates == []
    assert overdrawn == 0


def test_frames_have_the_size_asked_for(net: Net, capture) -> None:
    spec = transport("h2", "h2", frame_size=65_536, flow_control=False)
    with Connection(plan(spec), net.popen) as connection:
        burst(connection, tensors(65_536 * 3 + 1))
    sizes = [frame.size for frame in capture() if frame.kind == DATA]
    assert sizes == [65_536] * 3 + [1]
