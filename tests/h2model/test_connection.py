"""Properties of every prediction, and refusals."""

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from h2model.connection import Connection, LinkModel, ReceiverModel, SenderModel, StreamPlan
from h2model.disciplines import names
from h2model.predict import predict
from h2model.protocol import FRAME_HEADER_BYTES, UNLIMITED_BYTES
from tests.h2model import drawn

bursts = drawn.bursts(2_000_000, 200_000_000, min_size=1, max_size=8)
links = drawn.links((5e6, 47e6, 95.3e6, 940e6), 2_000_000)
receivers = drawn.receivers(3_000_000)
disciplines = st.sampled_from(names())
ROUNDING_NS = 1
FIFO = SenderModel(discipline="fifo")
SLOW = LinkModel(rate_bps=8e6, credit_latency_ns=3_000_000)


@settings(max_examples=120, deadline=None)
@given(name=disciplines, plans=bursts, link=links, receiver=receivers)
def test_every_schedule_is_possible(name, plans, link, receiver):
    schedule = predict(plans, SenderModel(discipline=name), link, receiver)
    served = dict.fromkeys((p.stream for p in plans), 0)
    ready = {p.stream: p.ready_ns for p in plans}
    link_free = 0
    for interval in schedule.intervals:
        served[interval.stream] += interval.size_bytes
        assert interval.start_ns >= ready[interval.stream] + link.delay_ns - ROUNDING_NS
        assert interval.end_ns <= schedule.end_ns[interval.stream]
        assert interval.start_ns >= link_free - ROUNDING_NS
        link_free = interval.end_ns
        frames = -(-interval.size_bytes // SenderModel(discipline=name).frame_bytes)
        least = (interval.size_bytes + frames * FRAME_HEADER_BYTES) * 8e9 / link.rate_bps
        assert interval.end_ns - interval.start_ns >= least - 2 * ROUNDING_NS
    assert served == {p.stream: p.size_bytes for p in plans}
    for plan in plans:
        mine = [i for i in schedule.intervals if i.stream == plan.stream]
        assert schedule.end_ns[plan.stream] == mine[-1].end_ns


@settings(max_examples=120, deadline=None)
@given(name=disciplines, plans=bursts, link=links, receiver=receivers)
def test_stalls_are_gaps_in_the_service(name, plans, link, receiver):
    schedule = predict(plans, SenderModel(discipline=name), link, receiver)
    before = -1
    for start, end in schedule.stalls:
        assert before <= start < end
        before = end
        assert all(
            i.end_ns <= start + ROUNDING_NS or i.start_ns >= end - ROUNDING_NS
            for i in schedule.intervals
        )
    if receiver.credit is None and receiver.connection_window_bytes == UNLIMITED_BYTES:
        assert schedule.stalls == ()


def fluid_end(plans, rate_bps):
    """Time at which a link that rests only without work has sent all payload."""
    free = 0.0
    for plan in sorted(plans, key=lambda p: p.ready_ns):
        free = max(free, plan.ready_ns) + plan.size_bytes * 8e9 / rate_bps
    return free


@settings(max_examples=100, deadline=None)
@given(name=disciplines, plans=bursts, rate=st.sampled_from((5e6, 95.3e6, 940e6)))
def test_without_windows_the_link_never_rests(name, plans, rate):
    schedule = predict(plans, SenderModel(discipline=name), LinkModel(rate_bps=rate))
    last = max(schedule.end_ns.values())
    ideal = fluid_end(plans, rate)
    # No frame is smaller than what ends a turn; processor sharing's grains are the smallest.
    frames = sum(-(-p.size_bytes // 4096) for p in plans) + 40 * len(plans)
    assert ideal - ROUNDING_NS <= last
    assert last <= ideal + frames * FRAME_HEADER_BYTES * 8e9 / rate + ROUNDING_NS


@settings(max_examples=60, deadline=None)
@given(
    name=st.sampled_from([n for n in names() if n != "write_cycle"]),
    plans=bursts,
    factor=st.floats(1.01, 50),
)
def test_a_faster_link_ends_every_stream_earlier(name, plans, factor):
    """With a common start and no windows; a write cycle's target depends on the rate."""
    together = [StreamPlan(stream=p.stream, size_bytes=p.size_bytes) for p in plans]
    slow = predict(together, SenderModel(discipline=name), LinkModel(rate_bps=20e6))
    fast = predict(together, SenderModel(discipline=name), LinkModel(rate_bps=20e6 * factor))
    assert slow.order == fast.order
    for stream, end in slow.end_ns.items():
        assert fast.end_ns[stream] < end


@settings(max_examples=60, deadline=None)
@given(plans=bursts, factor=st.floats(1.01, 50), link=links, receiver=receivers)
def test_first_in_first_out_is_monotone_in_rate_whatever_arrives(plans, factor, link, receiver):
    def ends(rate):
        model = LinkModel(rate_bps=rate, past_bytes=link.past_bytes)
        return predict(plans, FIFO, model).end_ns

    slow, fast = ends(20e6), ends(20e6 * factor)
    assert all(fast[stream] <= slow[stream] for stream in slow)


@settings(max_examples=100, deadline=None)
@given(
    size=st.integers(200_000, 1_000_000),
    ready=st.integers(1_000_000, 10_000_000),
    past=st.integers(0, 150_000),
    frame=st.sampled_from((4096, 16384, 40_000)),
)
def test_bytes_past_the_scheduler_stay_within_past_bytes(size, ready, past, frame):
    """An urgent stream waits for what is past the scheduler: at most `past`, or a frame."""
    link = LinkModel(rate_bps=80e6, past_bytes=past)
    urgent = StreamPlan(stream=3, size_bytes=1000, ready_ns=ready, priority=1)
    plans = [StreamPlan(stream=1, size_bytes=size), urgent]
    schedule = predict(plans, SenderModel(discipline="priority", frame_bytes=frame), link)
    assume(schedule.end_ns[1] > schedule.end_ns[3])
    (service,) = [i for i in schedule.intervals if i.stream == 3]
    ahead = (service.start_ns - ready) * link.rate_bps / 8e9
    most = max(past, frame + FRAME_HEADER_BYTES)
    assert ahead <= most + 1
    # And the kernel is kept full: no less than one frame's room is ever left in it.
    if past > 2 * (frame + FRAME_HEADER_BYTES) and ready > past * 8e9 / link.rate_bps:
        assert ahead >= past - 2 * (frame + FRAME_HEADER_BYTES)


def test_a_stall_starts_when_something_was_blocked_not_when_the_link_fell_silent():
    plans = [StreamPlan(stream=1, size_bytes=2000, ready_ns=5_000_000)]
    receiver = ReceiverModel(window_bytes=1000, credit="fixed")
    schedule = predict(plans, FIFO, SLOW, receiver)
    first = 5_000_000 + 1009 * 1000
    assert schedule.stalls == ((first, first + 3_000_000),)
    assert schedule.end_ns == {1: first + 3_000_000 + 1009 * 1000}


def test_a_stall_lasts_although_more_arrives_that_may_not_be_sent():
    plans = [
        StreamPlan(stream=1, size_bytes=2000),
        StreamPlan(stream=3, size_bytes=1000, ready_ns=2_000_000),
    ]
    receiver = ReceiverModel(window_bytes=9000, connection_window_bytes=1000, credit="half")
    schedule = predict(plans, FIFO, SLOW, receiver)
    first = 1009 * 1000
    assert schedule.stalls[0] == (first, first + 3_000_000)


def test_the_receiver_s_account_forgets_finished_streams():
    receiver = ReceiverModel(window_bytes=1000, credit="half")
    connection = Connection(FIFO, receiver, LinkModel(rate_bps=1e9))
    for stream in range(1, 41, 2):
        connection.burst([StreamPlan(stream=stream, size_bytes=3000)])
    account = connection._account
    assert account._received == account._granted == {}


def test_silence_with_nothing_to_send_is_no_stall():
    plans = [
        StreamPlan(stream=1, size_bytes=1000),
        StreamPlan(stream=3, size_bytes=1000, ready_ns=50_000_000),
    ]
    assert predict(plans, FIFO, LinkModel(rate_bps=8e6)).stalls == ()


def test_what_happens_at_one_instant_is_known_before_the_decision():
    plans = [
        StreamPlan(stream=1, size_bytes=50_000, ready_ns=100),
        StreamPlan(stream=3, size_bytes=50_000, ready_ns=100, priority=9),
    ]
    schedule = predict(plans, SenderModel(discipline="priority"), LinkModel(rate_bps=1e9))
    assert schedule.order == (3, 1)


def test_a_connection_remembers_its_target_and_its_credit():
    link = LinkModel(rate_bps=1e9)
    receiver = ReceiverModel(
        window_bytes=10**6, connection_window_bytes=10**6, credit="rest_at_header"
    )
    old, new = (Connection(SenderModel(discipline="write_cycle"), receiver, link) for _ in range(2))
    first = old.burst([StreamPlan(stream=1, size_bytes=5_000_000)])
    both = [StreamPlan(stream=s, size_bytes=900_000) for s in (3, 5)]
    later, anew = old.burst(both), new.burst(both)
    assert first.end_ns[1] > 0
    assert len(later.order) < len(anew.order), "the grown target makes longer turns"


def test_a_receiver_that_never_grants_leaves_the_burst_unfinished():
    with pytest.raises(RuntimeError, match="out of flow-control credit, with 100 bytes unsent"):
        nothing = ReceiverModel(window_bytes=0, credit="half")
        predict([StreamPlan(stream=1, size_bytes=100)], FIFO, LinkModel(rate_bps=1e9), nothing)


def test_times_far_from_zero_do_not_stop_the_clock():
    """A float's spacing at three hours in nanoseconds exceeds a thousandth."""
    start = 3 * 3600 * 10**9
    plans = [StreamPlan(stream=1, size_bytes=500_000, ready_ns=start)]
    (end,) = predict(plans, FIFO, LinkModel(rate_bps=95.3e6)).end_ns.values()
    frames = -(-500_000 // 16384)
    assert end - start == pytest.approx((500_000 + 9 * frames) * 8e9 / 95.3e6, abs=1000)


@pytest.mark.parametrize("rate_bps", [2e7, 2e8, 2e9])
def test_a_polled_sender_decides_anew_when_a_third_is_free(rate_bps):
    """A message that comes while the kernel is full waits for that, whatever the rate."""
    past = 300_000
    link = LinkModel(rate_bps=rate_bps, past_bytes=past)
    sender = SenderModel(discipline="priority", polled=True)
    soon_ns = round(0.2 * past * 8e9 / rate_bps)
    plans = [
        StreamPlan(stream=1, size_bytes=10 * past, priority=0),
        StreamPlan(stream=3, size_bytes=1000, ready_ns=soon_ns, priority=1),
    ]
    schedule = Connection(sender, ReceiverModel(), link).burst(plans)
    before = sum(i.size_bytes for i in schedule.intervals[: schedule.order.index(3)])
    call = 100e-6 * rate_bps / 8
    assert 0.99 * past < before < past + call + 1448
