"""Properties that hold for every credit rule, and what tells the rules apart."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from h2model import credit
from h2model.connection import Connection, LinkModel, ReceiverModel, SenderModel, StreamPlan
from h2model.observed import ObservedUpdate

WINDOW = st.integers(1, 100_000)
MESSAGE = st.integers(1, 1_000_000)


def play(name: str, window: int, message: int, frame: int) -> list[tuple[int, int]]:
    """Send as credit allows until the message is whole; (received, grant) for each grant."""
    rule = credit.load(name).grant
    received, granted = 0, window
    grants = []
    while received < message:
        size = min(frame, granted - received, message - received)
        assert size > 0, "the rule leaves the sender without credit"
        received += size
        if received == message:
            break
        more = rule(received, granted, window, message)
        assert more >= 0
        if more:
            grants.append((received, more))
            granted += more
        if name in ("half", "fixed"):
            assert granted - received <= window
        elif name.startswith("rest"):
            assert granted <= max(window, message)
    return grants


@pytest.mark.parametrize("name", credit.names())
@given(window=WINDOW, message=MESSAGE, frame=st.integers(200, 65_536))
def test_no_rule_starves_or_overcommits(name, window, message, frame) -> None:
    # Small windows make long plays; their length is bounded instead of their variety.
    play(name, max(window, message // 2000 + 1), message, max(frame, message // 2000 + 1))


def test_what_each_rule_grants() -> None:
    assert play("rest_at_header", 100, 350, 40) == [(40, 250)]
    assert play("rest_when_exhausted", 100, 350, 40) == [(100, 250)]
    assert play("fixed", 100, 350, 40) == [(100, 100), (200, 100), (300, 100)]
    assert play("half", 100, 200, 25) == [(50, 50), (100, 50), (150, 50)]
    assert play("half", 101, 150, 25) == [(50, 50), (100, 50)]


@pytest.mark.parametrize(
    ("amount", "received", "explained"),
    [
        (32_767, 32_767, True),  # nghttp2 and python h2: half of 65,535, rounded down
        (32_766, 32_766, False),
        (32_767 + 16_384, 65_535, False),  # a whole frame more than was needed
        (16_384, 65_535, True),  # python h2, which finds the window used up
        (1024, 65_535, False),
    ],
)
def test_half_of_an_odd_window_is_rounded_down(amount, received, explained) -> None:
    update = ObservedUpdate(
        window_bytes=65_535,
        granted_bytes=65_535,
        amount_bytes=amount,
        least_bytes=0,
        least_silent_bytes=0,
        received_bytes=received,
        message_bytes=1_000_000,
        frame_bytes=16_384,
        first=True,
    )
    assert credit.load("half").explains(update) == explained


@pytest.mark.parametrize("name", ["fixed", "rest_at_header", "rest_when_exhausted"])
def test_a_message_within_its_window_needs_no_credit(name) -> None:
    assert play(name, 100, 99, 10) == []


def test_unknown_rule() -> None:
    with pytest.raises(KeyError):
        credit.load("os")


LINK = LinkModel(rate_bps=8e6, delay_ns=1000, credit_latency_ns=3000)
FIFO = SenderModel(discipline="fifo")
HALVES = ReceiverModel(window_bytes=1000, connection_window_bytes=10_000, credit="half")
BYTE_NS = 1000
HEADER = 9


def burst(grants, *, rate_bps=None, size=3000):
    plans = [StreamPlan(stream=1, size_bytes=size)]
    return Connection(FIFO, HALVES, LINK).burst(plans, grants=grants, rate_bps=rate_bps)


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
