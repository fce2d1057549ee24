"""Several connections over shared links: theory, and what holds whatever happens."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from h2model.connection import Connection, LinkModel, ReceiverModel, SenderModel, StreamPlan
from h2model.disciplines import names
from h2model.network import Network
from h2model.protocol import FRAME_HEADER_BYTES
from tests.h2model import drawn
from tests.h2model.fluid_twin import fluid_ends
from topo.share import Capacity, Route, SharedLinks

RATE = 100e6
FRAME = 16384
LINK = LinkModel(rate_bps=RATE, past_bytes=200_000)
FIFO = SenderModel(discipline="fifo")
OPEN = ReceiverModel()


def one_link(count, rate=RATE):
    """All over one link, the one way."""
    capacity = Capacity(one_way_bps=rate, two_way_bps=rate, by_worker=True)
    routes = [Route(worker=f"w{i}", ways=(("l", True),)) for i in range(count)]
    return SharedLinks({("l", True): capacity}, routes)


def two_links(count):
    """Each crosses the first link; all but the first cross a second one of half the rate."""
    capacities = {
        ("l", True): Capacity(one_way_bps=RATE, two_way_bps=RATE, by_worker=True),
        ("m", True): Capacity(one_way_bps=RATE / 2, two_way_bps=RATE / 2, by_worker=True),
    }
    ways = [(("l", True), ("m", True)) if i else (("l", True),) for i in range(count)]
    return SharedLinks(capacities, [Route(worker=f"w{i}", ways=w) for i, w in enumerate(ways)])


def network(count, *, shares=None, sender=FIFO, receiver=OPEN, link=LINK):
    connections = [Connection(sender, receiver, link) for _ in range(count)]
    return Network(connections, shares or one_link(count))


def wire_bytes(size):
    return size + FRAME_HEADER_BYTES * -(-size // FRAME)


def message(size, ready_ns=0, stream=1):
    return StreamPlan(stream=stream, size_bytes=size, ready_ns=ready_ns)


@pytest.mark.parametrize("count", [1, 2, 3, 4])
def test_equal_connections_get_one_part_in_k(count):
    answers = network(count).burst([[message(3_000_000)]] * count)
    end = count * wire_bytes(3_000_000) * 8e9 / RATE
    assert [a.end_ns[1] for a in answers] == [pytest.approx(end, abs=1)] * count


def test_who_ends_early_leaves_its_share_to_the_others():
    sizes = [1_000_000, 2_000_000, 4_000_000]
    answers = network(3).burst([[message(size)] for size in sizes])
    a, b, c = (wire_bytes(size) * 8e9 / RATE for size in sizes)
    expected = [3 * a, 3 * a + 2 * (b - a), a + b + c]
    assert [x.end_ns[1] for x in answers] == [pytest.approx(e, abs=2) for e in expected]


def test_a_third_that_arrives_takes_a_third():
    starts = [0, 0, 100_000_000]
    answers = network(3).burst([[message(2_000_000, start)] for start in starts])
    size = wire_bytes(2_000_000) * 8e9 / RATE
    # Alone the first two would be at half their rate until then; then all three at a third.
    left = size - 50_000_000
    first = 100_000_000 + 3 * left
    assert answers[0].end_ns[1] == pytest.approx(first, abs=2)
    assert answers[1].end_ns[1] == pytest.approx(first, abs=2)
    assert answers[2].end_ns[1] == pytest.approx(3 * size, abs=2)


def test_what_one_cannot_use_the_others_have():
    """Over the second link two have a quarter each; the first has the half that is left."""
    answers = network(3, shares=two_links(3)).burst([[message(s)] for s in (10**7, 10**6, 10**6)])
    small = wire_bytes(10**6) * 8e9 / (RATE / 4)
    assert answers[1].end_ns[1] == pytest.approx(small, abs=2)
    assert answers[2].end_ns[1] == pytest.approx(small, abs=2)
    large = small + (wire_bytes(10**7) - RATE / 2 * small / 8e9) * 8e9 / RATE
    assert answers[0].end_ns[1] == pytest.approx(large, abs=2)


def test_the_other_direction_costs_only_while_it_is_busy():
    both = Capacity(one_way_bps=RATE, two_way_bps=0.8 * RATE, by_worker=True)
    ways = (("l", True), ("l", False))
    routes = [Route(worker="w0", ways=(way,)) for way in ways]
    shares = SharedLinks(dict.fromkeys(ways, both), routes)
    down, up = network(2, shares=shares).burst([[message(4_000_000)], [message(1_000_000)]])
    short = wire_bytes(1_000_000) * 8e9 / (0.8 * RATE)
    assert up.end_ns[1] == pytest.approx(short, abs=2)
    long = short + (wire_bytes(4_000_000) - wire_bytes(1_000_000)) * 8e9 / RATE
    assert down.end_ns[1] == pytest.approx(long, abs=2)


def test_a_connection_without_credit_leaves_the_link_to_the_other():
    """One frame a millisecond of the 11 it would take alone; the other has all the rest."""
    link = LinkModel(rate_bps=RATE, credit_latency_ns=10_000_000, past_bytes=200_000)
    slow = Connection(FIFO, ReceiverModel(window_bytes=FRAME, credit="fixed"), link)
    shares = one_link(2)
    stalled, free = Network([slow, Connection(FIFO, OPEN, LINK)], shares).burst(
        [[message(20 * FRAME)], [message(5_000_000)]]
    )
    frame_ns = wire_bytes(FRAME) * 8e9 / RATE
    # The frame takes twice its time beside the other's, the credit comes 10 ms later.
    assert stalled.end_ns[1] == pytest.approx(20 * 2 * frame_ns + 19 * 10e6, abs=100)
    assert free.end_ns[1] == pytest.approx(
        wire_bytes(5_000_000) * 8e9 / RATE + 20 * frame_ns, abs=100
    )
    assert len(stalled.stalls) == 19


def test_a_link_speaks_faster_when_all_of_it_does():
    plans = [[message(1_000_000)], [message(3_000_000, 20_000_000)]]
    slow, fast = network(2).burst(plans), network(2, shares=one_link(2, 1.25 * RATE)).burst(plans)
    assert network(2).burst(plans, speed=1.25) == fast != slow


@pytest.mark.parametrize("count", [1, 2, 4])
def test_a_bucket_is_shared_by_those_who_come_at_once(count):
    link = LinkModel(rate_bps=RATE, past_bytes=200_000, bucket_bytes=25_000)
    answers = network(count, link=link).burst([[message(2_000_000)]] * count)
    end = (count * wire_bytes(2_000_000) - 25_000) * 8e9 / RATE
    assert [a.end_ns[1] for a in answers] == [pytest.approx(end, rel=1e-6)] * count


@pytest.mark.parametrize("later_ns", [0, 1_000, 300_000])
@pytest.mark.parametrize("count", [2, 8, 32])
def test_segments_of_those_who_begin_together_take_one_bucket(count, later_ns):
    """Not a bucket each: who begins meets the link as the others have left it."""
    link = LinkModel(rate_bps=RATE, past_bytes=200_000, bucket_bytes=25_000, segment_bytes=1448)
    answers = network(count, link=link).burst(
        [[message(10**5, later_ns * i)] for i in range(count)]
    )
    end = (count * wire_bytes(10**5) - 25_000) * 8e9 / RATE
    assert max(a.end_ns[1] for a in answers) == pytest.approx(end, abs=4 * 1448 * 8e9 / RATE)


def test_who_joins_a_busy_link_finds_its_bucket_empty():
    link = LinkModel(rate_bps=RATE, past_bytes=200_000, bucket_bytes=25_000)
    first, second = network(2, link=link).burst(
        [[message(4_000_000)], [message(1_000_000, 50_000_000)]]
    )
    total = wire_bytes(4_000_000) + wire_bytes(1_000_000)
    assert first.end_ns[1] == pytest.approx((total - 25_000) * 8e9 / RATE, rel=1e-6)
    assert second.end_ns[1] == pytest.approx(5e7 + 2 * wire_bytes(10**6) * 8e9 / RATE, rel=1e-6)


def test_each_connection_remembers_its_own_state():
    """The write cycle's target grows with what the connection itself sent."""
    sender = SenderModel(discipline="write_cycle")
    grown = network(2, sender=sender)
    grown.burst([[message(5_000_000)], []])
    plans = [[message(900_000, stream=s) for s in (3, 5)]] * 2
    old, new = grown.burst(plans)
    assert len(old.order) < len(new.order)


arrivals = st.lists(
    st.tuples(st.integers(1, 1_500_000), st.integers(0, 150_000_000)), min_size=0, max_size=4
).map(lambda found: sorted(found, key=lambda m: m[1]))


@settings(max_examples=150, deadline=None)
@given(
    several=st.lists(arrivals, min_size=1, max_size=4).filter(any),
    shape=st.sampled_from([one_link, two_links]),
)
def test_without_windows_ends_are_those_of_fluids(several, shape):
    shares = shape(len(several))
    answers = network(len(several), shares=shares).burst(
        [
            [message(size, ready, 2 * i + 1) for i, (size, ready) in enumerate(each)]
            for each in several
        ]
    )
    fluids = fluid_ends([[(wire_bytes(s), r) for s, r in each] for each in several], shares)
    for answer, fluid in zip(answers, fluids, strict=True):
        assert [answer.end_ns[2 * i + 1] for i in range(len(fluid))] == pytest.approx(fluid, abs=5)


bursts = drawn.bursts(800_000, 60_000_000, max_size=4)
links = drawn.links([RATE], 500_000)
receivers = drawn.receivers(1_000_000)


@settings(max_examples=120, deadline=None)
@given(
    name=st.sampled_from(names()),
    plans=st.lists(bursts, min_size=2, max_size=3),
    link=links,
    receiver=receivers,
)
def test_no_interval_holds_more_than_the_link_carries(name, plans, link, receiver):
    sender = SenderModel(discipline=name)
    answers = network(len(plans), sender=sender, receiver=receiver, link=link).burst(plans)
    for each, answer in zip(plans, answers, strict=True):
        served = dict.fromkeys((p.stream for p in each), 0)
        for interval in answer.intervals:
            served[interval.stream] += interval.size_bytes
        assert served == {p.stream: p.size_bytes for p in each}
    pieces = sorted((i.end_ns, i.start_ns, i.size_bytes) for a in answers for i in a.intervals)
    for begin in {start for _, start, _ in pieces}:
        inside = 0
        for end, start, size in pieces:
            if start >= begin:
                inside += size
                assert inside * 8e9 / RATE <= end - begin + 4


@settings(max_examples=60, deadline=None)
@given(
    name=st.sampled_from([n for n in names() if n != "write_cycle"]),
    plans=st.lists(bursts.filter(bool), min_size=2, max_size=3),
    past=st.sampled_from((0, 65_536, 1_000_000)),
)
def test_the_order_within_a_connection_does_not_depend_on_its_share(name, plans, past):
    """With a common start and no windows; a write cycle's target depends on the rate."""
    together = [
        [StreamPlan(stream=p.stream, size_bytes=p.size_bytes, priority=p.priority) for p in each]
        for each in plans
    ]
    sender, link = SenderModel(discipline=name), LinkModel(rate_bps=RATE, past_bytes=past)
    shared = network(len(plans), sender=sender, link=link).burst(together)
    alone = [Connection(sender, OPEN, link).burst(each) for each in together]
    assert [a.order for a in shared] == [a.order for a in alone]
    assert all(
        mine.end_ns[s] >= single.end_ns[s] - 2
        for mine, single in zip(shared, alone, strict=True)
        for s in single.end_ns
    )


@settings(max_examples=80, deadline=None)
@given(name=st.sampled_from(names()), plans=bursts, link=links, receiver=receivers)
def test_one_connection_on_a_network_is_that_connection(name, plans, link, receiver):
    sender = SenderModel(discipline=name)
    (shared,) = network(1, sender=sender, receiver=receiver, link=link).burst([plans])
    assert shared == Connection(sender, receiver, link).burst(plans)
