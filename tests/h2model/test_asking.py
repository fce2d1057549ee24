"""Calls that are made at one moment: a packet each, and read together."""

from itertools import pairwise

from h2model.asking import CALL_NS, Asking
from h2model.events import ENQUEUE
from h2model.reading import WAKING_NS
from h2model.records import LinkModel
from h2model.segments import PACKET_HEADER_BYTES

SEGMENT = 1448
LINK = LinkModel(
    rate_bps=95_600_000.0,
    delay_ns=100,
    past_bytes=10**9,
    bucket_bytes=2 * (SEGMENT + PACKET_HEADER_BYTES),
    segment_bytes=SEGMENT,
)
CALL_BYTES = 100


def came(*, writes_each: bool, calls: int) -> list[float]:
    """Times at which calls are read that are made at time 0."""
    times: list[float] = []
    asking = Asking(LINK, writes_each=writes_each, came=lambda _, at_ns: times.append(at_ns))
    events: list[tuple[float, int, int, int, int]] = []
    order = iter(range(10**6))
    asking.begin(
        lambda at_ns, kind, stream=0, value=0: events.append(
            (at_ns, next(order), kind, stream, value)
        )
    )
    asking.ask([CALL_BYTES] * calls, 0.0)
    while events:
        events.sort()
        now, _, kind, stream, value = events.pop(0)
        if asking.apply(now, kind, stream, value):
            assert kind == ENQUEUE
            asking.pump(now)
    return times


def test_calls_that_come_while_the_reader_wakes_up_are_read_with_the_first() -> None:
    calls = 10
    assert calls * CALL_NS < WAKING_NS
    assert came(writes_each=True, calls=calls) == [LINK.delay_ns + WAKING_NS] * calls


def test_what_the_bucket_holds_back_is_read_later() -> None:
    times = came(writes_each=True, calls=60)
    first = LINK.delay_ns + WAKING_NS
    assert times[0] == first < times[-1]
    apart = sorted(set(times))
    assert all(b - a >= WAKING_NS for a, b in pairwise(apart))


def test_our_own_calls_go_in_one_write() -> None:
    assert came(writes_each=False, calls=10) == [LINK.delay_ns] * 10
