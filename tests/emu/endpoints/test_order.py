"""The order of DATA on the wire against the discipline's own state machine, run apart."""

from dataclasses import replace

import pytest

from emu.endpoints import Connection
from h2model.machine import BLOCKED, Machine

from .conftest import Net, burst, plan, tensors, transport
from .wire import DATA, Frame

pytestmark = pytest.mark.root

FRAME = 16384
LIMIT = 4 * (FRAME + 9)
SIZES = (200_000, 90_000, 150_000, 1000, 65_536)
PRIORITIES = (0, 3, 1, 3, 2)
UNLIMITED = 2**31 - 1


def twin(discipline: str, options: dict[str, int]) -> list[tuple[int, int]]:
    """Order in which the discipline sends messages that are handed over together."""
    machine = Machine(
        discipline, options=options, initial_window=UNLIMITED, connection_window=UNLIMITED
    )
    for i, size in enumerate(SIZES):
        machine.enqueue(2 * i + 1, size, 0, priority=PRIORITIES[i])
    decided: list[tuple[int, int]] = []
    while True:
        stream, size = machine.next(FRAME, 0)
        if stream == BLOCKED:
            return decided
        machine.sent(stream, size, 0)
        decided.append((stream, size))


def data_of(frames: list[Frame], *, from_responder: bool) -> list[tuple[int, int]]:
    return [
        (frame.stream, frame.size)
        for frame in frames
        if frame.kind == DATA and frame.from_responder == from_responder and frame.size
    ]


@pytest.mark.parametrize("direction", ["pull", "push"])
@pytest.mark.parametrize(
    ("discipline", "options"),
    [
        ("fifo", {}),
        ("priority", {}),
        ("round_robin", {"quantum": 40_000}),
        ("write_cycle", {"target": 60_000, "target_min": 60_000, "target_max": 60_000}),
        ("two_visit", {}),
    ],
)
def test_wire_order_is_the_twins(net: Net, capture, direction, discipline, options) -> None:
    net.shape("5mbit")
    spec = transport("h2", "h2", discipline=discipline, options=options, flow_control=False)
    streams = [
        tensor.__class__(
            tensor=tensor.tensor,
            index=tensor.index,
            size_bytes=tensor.size_bytes,
            priority=PRIORITIES[tensor.index],
        )
        for tensor in tensors(*SIZES)
    ]
    with Connection(plan(spec, direction, send_buffer=LIMIT), net.popen) as connection:
        log = burst(connection, streams)
    wire = data_of(capture(), from_responder=direction == "pull")
    assert wire == twin(discipline, options)
    assert log.past_scheduler is not None
    assert log.past_scheduler.max_bytes <= LIMIT + 512  # headers and trailers pass the gate


def test_priority_preempts_between_frames(net: Net, capture) -> None:
    net.shape("20mbit")
    spec = transport("h2", "h2", discipline="priority", flow_control=False)
    # The first takes 600 ms: the second one comes amid it, also where a process has to wait.
    streams = tensors(1_500_000, 50_000, ready_ns=(0, 300_000_000))
    streams[1] = replace(streams[1], priority=9)
    with Connection(plan(spec, "push", send_buffer=LIMIT), net.popen) as connection:
        burst(connection, streams)
    order = [stream for stream, _ in data_of(capture(), from_responder=False)]
    first, last = order.index(3), len(order) - order[::-1].index(3)
    assert order[first:last] == [3] * (last - first)
    assert first > 0
    assert order[last:]
    assert set(order[last:]) == {1}
