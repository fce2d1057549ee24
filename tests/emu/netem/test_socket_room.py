"""Room in a sender's socket as the models have it, against a guest's kernel, call by call."""

from typing import Any

import pytest

from emu.network.expected import expected_goodput_bps
from emu.network.punctuality import VIRTUAL
from h2model.records import LinkModel
from h2model.segments import SegmentQueue
from tests.emu.netem import guest
from tests.emu.netem.socket_room import RATE_BPS
from topo.spec import PAYLOAD_BYTES

pytestmark = [pytest.mark.root, pytest.mark.guest]

OBSERVE = "tests.emu.netem.socket_room:observe"
WRITES = [90_000, 112_670, 40, 40, 25_000, 500_000]
_START_NS = 20_000
"""Tolerance of times: a twelfth of a segment's at this rate."""


@pytest.mark.parametrize("send_buffer", [100_000, 250_001, 400_000])
def test_a_kernel_takes_what_models_say_when_they_say_so(send_buffer: int) -> None:
    given = {"send_buffer": send_buffer, "writes": WRITES}
    seen = guest.answers({OBSERVE: given})[OBSERVE]
    took = [(time_ns, taken) for time_ns, taken in seen["calls"] if taken > 0]
    expected = modelled(send_buffer, seen["bucket_bytes"])
    assert [taken for _, taken in took] == [taken for _, taken in expected]
    first_ns = took[0][0]
    for (time_ns, _), (expected_ns, _) in zip(took, expected, strict=True):
        assert time_ns - first_ns == pytest.approx(expected_ns, abs=_START_NS)


def modelled(send_buffer: int, bucket_bytes: int) -> list[tuple[float, int]]:
    """Calls of the same sender: time in ns from the first, bytes taken."""
    link = LinkModel(
        rate_bps=expected_goodput_bps(RATE_BPS),
        send_memory_bytes=send_buffer,
        bucket_bytes=bucket_bytes,
        segment_bytes=PAYLOAD_BYTES,
        flight_segments=VIRTUAL.flight_segments,
    )
    queue: Any = SegmentQueue(link, link.rate_bps)
    now, calls = 0.0, []
    for write in WRITES:
        left = write
        while left:
            before = left
            while room := min(left, int(queue.free_bytes(now))):  # some may leave meanwhile
                queue.put(1, room, now, counted_bytes=0)
                left -= room
            if before > left:
                calls.append((now, before - left))
            if left:
                now = queue.room_at(-(-send_buffer // 3), now)
            while (head := queue.head()) is not None and head.end_ns <= now:
                queue.take()
        queue.push(now)
    return calls
