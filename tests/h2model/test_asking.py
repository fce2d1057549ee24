"""Calls that are made at one moment: a packet each, and read together."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from h2model.asking import CALL_NS, Asking
from h2model.beside_data import BesideData
from h2model.events import ENQUEUE
from h2model.machine import Machine
from h2model.protocol import WINDOW_UPDATE_BYTES
from h2model.reading import WAKING_NS, HandOverRuns
from h2model.records import Heads, LinkModel, StreamPlan
from h2model.segments import PACKET_HEADER_BYTES
from h2model.way_back import NO_REQUESTS, WayBack, requests_of

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


FIRST, EACH, TAIL = 200, 60, 25
UPDATES = Heads(first=FIRST, each=EACH, pushed=True, updates=True)


def gathered(messages, connection, heads=UPDATES, known=()):
    """Bytes before and behind each piece of one gathered write."""
    machine = Machine("write_cycle", initial_window=1 << 20, connection_window=connection)
    for stream, size in messages.items():
        machine.enqueue(stream, size, 0)
    beside = BesideData(machine, heads, messages, dict(known))
    machine.prepare(0)
    beside.write_begins(0)
    found = []
    while machine.emitting:
        stream, size = machine.next(1 << 20, 0)
        found.append((stream, size, *beside.take(stream, size)))
    return found


def test_credit_for_the_replies_of_a_write_ends_it():
    assert gathered({1: 500, 3: 700}, 1 << 20) == [
        (1, 500, FIRST, 0),
        (3, 700, EACH, WINDOW_UPDATE_BYTES),
    ]


def test_headers_whose_data_has_no_credit_come_behind_all_data():
    behind = 2 * EACH + WINDOW_UPDATE_BYTES
    assert gathered({1: 500, 3: 700, 5: 100, 7: 100}, 900) == [
        (1, 500, FIRST, 0),
        (3, 400, EACH, behind),
    ]


def test_lengths_that_are_known_take_the_place_of_the_usual_ones():
    assert gathered({1: 500, 3: 700}, 1 << 20, known={1: 233, 3: 62}) == [
        (1, 500, 233, 0),
        (3, 700, 62, WINDOW_UPDATE_BYTES),
    ]


def test_requests_that_came_get_credit_behind_the_next_write_and_those_cut_before_it():
    machine = Machine("write_cycle", initial_window=1 << 20, connection_window=1 << 20)
    machine.enqueue(1, 500, 0)
    beside = BesideData(
        machine, Heads(first=FIRST, each=EACH, first_tail=TAIL, tail=TAIL), {1: 500}, {}
    )
    beside.requests_came(cut=2)
    machine.prepare(0)
    beside.write_begins(0)
    stream, size = machine.next(1 << 20, 0)
    credit = WINDOW_UPDATE_BYTES
    assert beside.take(stream, size) == (2 * credit + FIRST, TAIL + credit)


def path(delay_ns=0):
    return LinkModel(
        rate_bps=100e6, delay_ns=delay_ns, bucket_bytes=3028, segment_bytes=1448, flight_segments=2
    )


def plans(count, call_bytes):
    return [
        StreamPlan(stream=2 * k + 1, size_bytes=9, asked_ns=17 * k, call_bytes=call_bytes)
        for k in range(count)
    ]


def test_requests_leave_one_by_one_as_the_bucket_allows_and_then_in_full_segments():
    found = requests_of(path(), 100e6 * 1448 / 1514, plans(160, 48), set()).came
    at_once = [came for came in found if came.time_ns <= 17 * 160]
    assert 3028 // 142 <= len(at_once) <= 3028 // 142 + 2
    assert len(found) - len(at_once) == 2 + -(-(160 - len(at_once) - 2) * 75 // 1448)
    assert all(came.cut == 0 for came in at_once)
    assert sum(came.cut for came in found) > 0


def test_what_comes_while_the_sender_wakes_up_is_read_together():
    way = WayBack(path(), 100e6)
    first = way.arrives(1000.0, 1)
    assert way.arrives(1000.0, 2) == first
    assert way.arrives(1000.0 + WAKING_NS, 1) == first
    assert way.arrives(1e6, 1) == 1e6


def test_writes_that_have_used_up_the_bucket_come_at_the_links_rate():
    way = WayBack(path(), 100e6)
    each_ns = (66 + WINDOW_UPDATE_BYTES) * 8e9 / 100e6
    there = [way.arrives(2000.0 * k, 1) for k in range(100)]
    ahead_ns = 3028 * 8e9 / 100e6
    assert there[:20] == [2000.0 * k for k in range(20)]
    assert there[99] == pytest.approx(99 * each_ns - ahead_ns)


def test_a_receiver_writes_behind_the_requests_that_it_has_handed_over():
    way = WayBack(path(), 100e6)
    way.requests = requests_of(path(), 95e6, plans(160, 48), set())
    assert way.arrives(17.0 * 10, 1) == way.requests.there_ns[10]
    assert way.arrives(17.0 * 160, 1) == way.requests.there_ns[159] > 8e5


def test_calls_whose_length_is_not_known_take_no_part_of_the_link():
    assert requests_of(path(), 95e6, plans(5, 0), set()) == NO_REQUESTS


TIMES = st.lists(st.integers(0, 20_000), max_size=30)


@given(TIMES, st.integers(0, 25_000))
def test_no_hand_over_is_near_before_or_behind_a_reading(times: list[int], now: int) -> None:
    read_ns = HandOverRuns(times).read_ns(now)
    assert read_ns >= now
    before = [t for t in times if t <= read_ns]
    behind = [t for t in times if t > read_ns]
    if before and behind:
        assert min(behind) - max(before) >= WAKING_NS


@given(TIMES, st.integers(0, 25_000))
def test_a_naive_twin_agrees(times: list[int], now: int) -> None:
    assert HandOverRuns(times).read_ns(now) == naive(sorted(times), now)


def naive(times: list[int], now: int) -> int:
    """Go to a wake-up behind the run of hand-overs, as long as there is one."""
    while True:
        last = max((t for t in times if t <= now), default=None)
        following = min((t for t in times if t > now), default=None)
        if last is None or following is None or following - last >= WAKING_NS:
            return now
        while following is not None and following - last < WAKING_NS:
            last = following
            following = min((t for t in times if t > last), default=None)
        now = last + WAKING_NS
