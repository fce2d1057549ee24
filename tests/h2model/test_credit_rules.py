"""Properties that hold for every credit rule, and what tells the rules apart."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from h2model import credit

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


@pytest.mark.parametrize("name", ["fixed", "rest_at_header", "rest_when_exhausted"])
def test_a_message_within_its_window_needs_no_credit(name) -> None:
    assert play(name, 100, 99, 10) == []


def test_unknown_rule() -> None:
    with pytest.raises(KeyError):
        credit.load("os")
