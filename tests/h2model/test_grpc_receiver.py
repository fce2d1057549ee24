"""A gRPC receiver's account against the arithmetic of its source, and what must always hold."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from h2model.connection import Connection, LinkModel, ReceiverModel, SenderModel, StreamPlan
from h2model.grpc_receiver import ALL_STREAMS, PING, GrpcAccount
from h2model.probe import LATE_NS, Probe

MIB = 1 << 20
FRAME = 16384
PREFIX = 5


def receiver(window=MIB, **more):
    return ReceiverModel(
        window_bytes=window,
        connection_window_bytes=window,
        credit="grpc_progress",
        grpc=True,
        **more,
    )


def begun(*streams, **settings):
    """The account of a receiver for which a burst of these streams has begun."""
    account = GrpcAccount(receiver(**settings))
    account.begin(streams)
    return account


def test_requests_bring_credit_for_a_message_header_each():
    account = GrpcAccount(receiver())
    with_it = [(1, PREFIX), (0, PREFIX), (3, PREFIX), (0, PREFIX)]
    assert account.begin([1, 3]) == [(0, 0), *with_it]


def test_requests_bring_nothing_to_a_connection_that_has_more_than_it_shall_have():
    small = ReceiverModel(
        window_bytes=MIB // 32,
        connection_window_bytes=MIB // 32 + PREFIX,
        credit="grpc_progress",
        grpc=True,
    )
    assert GrpcAccount(small).begin([1, 3]) == [(0, 0), (1, PREFIX), (3, PREFIX), (0, PREFIX)]


def test_the_first_frame_opens_the_window_by_the_progress_and_then_each_half_window():
    account = begun(1)
    message = 8 * MIB + PREFIX
    ahead = PREFIX
    given = []
    for frame in range(1, 120):
        updates = dict(account.frame(1, FRAME, message, 0.0))
        ahead -= FRAME
        if updates:
            assert updates[0] == updates[1], "the connection's window follows the stream's"
            given.append((frame, updates[1]))
            ahead += updates[1]
            assert ahead == MIB
    # Immediately beyond half a window: 33 frames of 16 KiB are the first to be more than 512 KiB.
    assert given[0] == (1, MIB + FRAME - PREFIX)
    assert given[1:] == [(1 + 33 * k, 33 * FRAME) for k in range(1, len(given))]
    assert len(given) > 3


def test_what_waits_goes_out_with_what_is_urgent():
    account = begun(1, 3)
    small = 300_000 + PREFIX
    assert account.frame(1, FRAME, small, 0.0) == [], "less than half a window is not urgent"
    updates = dict(account.frame(3, FRAME, 8 * MIB, 0.0))
    assert updates[3] == MIB + FRAME - PREFIX
    assert updates[1] == 300_000 - PREFIX + FRAME


def test_nothing_more_is_asked_for_when_a_message_is_complete():
    account = begun(1, window=10 * MIB)
    assert account.frame(1, FRAME, FRAME, 0.0) == []
    assert account.frame(1, 1, FRAME + 1, 0.0) == []


def test_a_rest_fills_the_connections_window():
    account = begun(1)
    account.frame(1, FRAME, FRAME, 0.0)
    assert account.begin([3])[0] == (0, FRAME - PREFIX)


def test_the_first_data_makes_a_probing_receiver_ask():
    account = begun(1, probes=True)
    assert (PING, 0) in account.frame(1, FRAME, 8 * MIB, 0.0)
    assert (PING, 0) not in account.frame(1, FRAME, 8 * MIB, 1.0)


def test_a_path_longer_than_the_window_widens_it_by_settings():
    account = begun(1, probes=True)
    account.frame(1, FRAME, 64 * MIB, 0.0)
    account.frame(1, 3 * MIB, 64 * MIB, 1e6)
    again_ns, updates = account.answered(2e6)
    assert again_ns == 2e6 + Probe.FIRST_DELAY_NS / 2 + LATE_NS
    assert updates[0] == (ALL_STREAMS, 8 * MIB - MIB), "twice 3 MiB and a frame, rounded up"


def test_a_wider_window_waits_for_a_write_while_the_connection_has_half_of_it():
    account = begun(1, window=4 * MIB, probes=True)
    account.frame(1, FRAME, 64 * MIB, 0.0)
    account.frame(1, 3 * MIB, 64 * MIB, 1e6)
    again_ns, updates = account.answered(2e6)
    assert updates == []
    assert account.frame(1, FRAME, 64 * MIB, 3e6) == []
    assert account.look_again(again_ns)[:2] == [(PING, 0), (ALL_STREAMS, 4 * MIB)]


def test_the_time_between_two_pings_goes_on_between_bursts():
    account = begun(1, window=4 * MIB, probes=True)
    assert (PING, 0) in account.frame(1, FRAME, 8 * MIB, 0.0)
    again_ns, _ = account.answered(1e6)
    account.rest(30e6)
    assert account.look_ns == again_ns - 30e6
    account.begin([3])
    assert (PING, 0) not in account.frame(3, FRAME, 8 * MIB, 0.0)
    assert (PING, 0) in account.look_again(account.look_ns)


def test_a_burst_that_comes_after_that_time_makes_it_ask_at_once():
    account = begun(1, window=4 * MIB, probes=True)
    account.frame(1, FRAME, FRAME, 0.0)
    again_ns, _ = account.answered(1e6)
    assert account.look_again(again_ns) == [], "nothing came meanwhile"
    account.rest(again_ns + 1e6)
    account.begin([3])
    assert (PING, 0) in account.frame(3, FRAME, 8 * MIB, 0.0)


def test_a_ping_that_waits_goes_out_with_what_is_written_next():
    message = 300 * FRAME
    waits = begun(1, window=4 * MIB, probes=True, probes_wait=True, listens=True)
    quiet = [waits.frame(1, FRAME, message, n * 1e6) for n in range(5)]
    assert quiet == [[]] * 5, "nothing is written, so no PING either"
    assert waits.replied(9, 6e6)[0] == (PING, 0), "and all the credit that it would give"
    assert waits.replied(9, 7e6) == [], "one is on its way"
    waits.answered(8e6)
    assert waits.replied(9, 9e6) == [], "the next is not due"
    assert waits.replied(9, 8e6 + 100e6 + Probe.MEAN_GROWTH_MS * 1e6) == [(PING, 0)]


def test_only_a_receiver_of_pushes_replies():
    asks = begun(1, window=4 * MIB, probes=True, probes_wait=True)
    assert asks.replied(1, 6e6) == []


def pushed_to(window=MIB, **more):
    return GrpcAccount(receiver(window=window, listens=True, **more))


def test_a_pushed_call_brings_no_credit_and_gets_none_before_it_is_accepted():
    account = pushed_to()
    assert account.begin([1]) == [(0, 0)]
    assert account.frame(1, FRAME, 8 * MIB, 0.0) == []
    # All that came, and the progress beyond; the connection lacks both.
    assert account.accepted(1, 1.0) == [(1, MIB + FRAME), (0, MIB + FRAME)]


def test_an_accepted_call_asks_for_a_header_that_waits_for_another_write():
    account = begun(1, 3, listens=True)
    assert account.accepted(3, 0.0) == []
    account.frame(1, FRAME, 8 * MIB, 0.0)
    updates = dict(account.accepted(1, 1.0))
    assert updates == {1: MIB + FRAME, 3: PREFIX, 0: MIB + FRAME + PREFIX}


def test_the_reader_knows_of_what_came_of_the_frame_under_way():
    account = begun(1, listens=True)
    message = 600_000 + PREFIX
    account.frame(1, FRAME, message, now_ns=0.0, lasts_ns=1000.0)
    assert dict(account.accepted(1, 250.0))[1] == message - FRAME // 4 + FRAME


def test_a_message_that_is_there_when_it_is_accepted_needs_nothing():
    account = begun(1, listens=True)
    account.frame(1, FRAME, FRAME, 0.0)
    assert account.accepted(1, 1.0) == []


def test_a_reply_fills_the_connections_window_and_carries_what_waits():
    account = begun(1, 3, listens=True)
    account.frame(1, FRAME, FRAME, 0.0)
    account.accepted(3, 1.0)
    assert account.replied(1, 2.0) == [(3, PREFIX), (0, FRAME + PREFIX)]
    assert account.replied(1, 3.0) == []


def test_what_a_stream_was_allowed_too_much_counts_until_its_reply():
    """A server keeps the account of a whole message until that stream's own reply."""
    given = []
    for first in (1, 9):
        account = pushed_to()
        account.begin([1])
        account.frame(1, FRAME, 8 * FRAME, 1.0)
        account.accepted(1, 1.0)
        for _ in range(7):
            account.frame(1, FRAME, 8 * FRAME, 2.0)
        account.replied(first, 3.0)
        given.append(1 in account._streams)
    assert given == [False, True]


@pytest.mark.oracle
@settings(max_examples=150, deadline=None)
@given(
    sizes=st.lists(st.integers(1, 3 * MIB), min_size=1, max_size=8),
    window=st.sampled_from([65_535, 100_000, 256 * 1024, MIB, 4 * MIB]),
    probes=st.booleans(),
    latency_ns=st.integers(0, 20_000_000),
)
def test_every_message_arrives_whatever_the_window(sizes, window, probes, latency_ns):
    connection = Connection(
        SenderModel(discipline="write_cycle", options={"head_first": 87, "head": 12, "tail": 25}),
        receiver(window=window, probes=probes),
        LinkModel(rate_bps=1e9, delay_ns=10_000, credit_latency_ns=latency_ns),
    )
    for _ in range(2):
        plans = [
            StreamPlan(stream=2 * i + 1, size_bytes=size, ready_ns=1000 * i)
            for i, size in enumerate(sizes)
        ]
        schedule = connection.burst(plans)
        assert set(schedule.end_ns) == {plan.stream for plan in plans}
        sent = {plan.stream: 0 for plan in plans}
        for interval in schedule.intervals:
            sent[interval.stream] += interval.size_bytes
        assert sent == {plan.stream: plan.size_bytes for plan in plans}
