"""Credit as a receiver gave it, in place of a rule; a burst's own rate."""

import pytest

from h2model.connection import Connection, LinkModel, ReceiverModel, SenderModel, StreamPlan

LINK = LinkModel(rate_bps=8e6, delay_ns=1000, credit_latency_ns=3000)
FIFO = SenderModel(discipline="fifo")
WINDOW = ReceiverModel(window_bytes=1000, connection_window_bytes=10_000, credit="half")
BYTE_NS = 1000
HEADER = 9


def burst(grants, *, rate_bps=None, size=3000):
    plans = [StreamPlan(stream=1, size_bytes=size)]
    return Connection(FIFO, WINDOW, LINK).burst(plans, grants=grants, rate_bps=rate_bps)


def test_a_grant_is_there_after_the_way_and_half_of_the_handling():
    schedule = burst([(5_000_000, 1, 2000)])
    sent_again = 5_000_000 + 1000 + (3000 - 1000) // 2
    assert schedule.end_ns == {1: sent_again + (2000 + HEADER) * BYTE_NS + 1000}
    assert schedule.stalls == ((1000 + (1000 + HEADER) * BYTE_NS, sent_again + 1000),)


def test_credit_given_before_the_burst_counts():
    assert burst([(-50, 1, 2000)]).stalls == ()


def test_the_rule_is_not_asked():
    with pytest.raises(RuntimeError, match="out of flow-control credit"):
        burst([])


def test_the_connection_s_window_binds_too():
    with pytest.raises(RuntimeError, match="out of flow-control credit"):
        burst([(0, 1, 20_000)], size=15_000)
    assert burst([(0, 1, 20_000), (40_000_000, 0, 5_000)], size=15_000).end_ns[1] > 40_000_000


def test_a_burst_s_own_rate_holds_for_it_alone():
    connection = Connection(FIFO, ReceiverModel(), LINK)
    fast = connection.burst([StreamPlan(stream=1, size_bytes=3000)], rate_bps=80e6)
    slow = connection.burst([StreamPlan(stream=3, size_bytes=3000)])
    assert fast.end_ns == {1: 1000 + (3000 + HEADER) * 100}
    assert slow.end_ns == {3: 1000 + (3000 + HEADER) * 1000}
