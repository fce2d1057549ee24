"""Schedules: what a gate lets through, and when."""

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from netcosim.errors import ScenarioError
from netcosim.policies import load_schedule, schedule_names, schedule_options
from netcosim.policies.gate.machine import Gate

MB = 1_000_000
GBIT = 1_000_000_000


def gate(schedule, size_bytes, generated_ns=None, options=None, rate_bps=8 * GBIT) -> Gate:
    """Messages are named by their number; a byte takes a nanosecond."""
    return Gate(
        load_schedule(schedule),
        range(len(size_bytes)),
        size_bytes,
        generated_ns or [0] * len(size_bytes),
        schedule_options(schedule, options or {}),
        rate_bps,
    )


def going(one: Gate, now_ns: int = 0) -> list[object]:
    """All that may go now."""
    return list(iter(lambda: one.next(now_ns), None))


def test_fifo_lets_everything_through_in_the_order_of_hand_over() -> None:
    one = gate("fifo", [5, 5, 5])
    for message in (2, 0, 1):
        one.enqueue(message, 0)
    assert going(one) == [2, 0, 1]


def test_p3_lets_the_most_urgent_through_when_nothing_is_on_its_way() -> None:
    one = gate("p3", [5, 5, 5])
    one.enqueue(2, 0)
    one.enqueue(1, 0)
    assert going(one) == [1]
    one.enqueue(0, 3)
    assert going(one, 3) == []
    one.ended(1, 4)
    assert going(one, 4) == [0]


def test_bytescheduler_lets_through_what_credit_is_left_for() -> None:
    one = gate("bytescheduler", [9, 4, 4, 4, 1], options={"credit_bytes": 8})
    for message in (4, 3, 2, 1):
        one.enqueue(message, 0)
    assert going(one) == [1, 2]
    one.ended(1, 5)
    assert going(one, 5) == [3]
    one.ended(2, 6)
    one.enqueue(0, 6)
    assert going(one, 6) == []  # it is larger than all credit, and waits for it
    one.ended(3, 7)
    assert going(one, 7) == [0]


def test_prophet_fills_the_time_until_a_more_urgent_gradient_is_there() -> None:
    """Gradients 3 and 4 are there at 100, 2 is expected at 150: one of 30 ns fits, two do not."""
    one = gate("prophet", [10, 10, 30, 30, 30], [200, 190, 150, 100, 100])
    one.enqueue(4, 100)
    one.enqueue(3, 100)
    assert going(one, 100) == [3]
    one.ended(3, 130)
    assert going(one, 130) == []
    one.enqueue(2, 150)
    assert going(one, 150) == [2]  # through at 180, before 190
    one.ended(2, 180)
    assert going(one, 180) == []
    one.enqueue(1, 190)
    assert going(one, 190) == [1]
    one.ended(1, 200)
    one.enqueue(0, 200)
    assert going(one, 200) == [0, 4]  # nothing is to come: the most urgent first


def test_prophet_expects_what_is_to_come_as_late_as_what_came_last() -> None:
    one = gate("prophet", [10, 60], [50, 0])
    one.enqueue(1, 1000)  # 60 ns do not fit into 50
    assert going(one, 1000) == []
    late = gate("prophet", [10, 40], [50, 0])
    late.enqueue(1, 1000)
    assert going(late, 1000) == [1]


def test_prophet_measures_the_bandwidth() -> None:
    """Half of what was expected: what fitted at first does not fit any more."""
    one = gate("prophet", [10, 40], [50, 0], {"monitor_ns": 100})
    one.enqueue(1, 0)
    assert going(one, 0) == [1]
    one.enqueue(0, 50)
    assert going(one, 50) == [0]
    one.ended(1, 80)
    one.ended(0, 100)
    one.enqueue(1, 200)
    assert going(one, 200) == []
    one.enqueue(0, 250)
    assert going(one, 250) == [0, 1]


def test_prophets_print_lets_one_message_of_a_block_through() -> None:
    one = gate("prophet_printed", [10] * 6, [200, 200, 200, 100, 100, 100])
    for message in (5, 4, 3):
        one.enqueue(message, 100)
    assert going(one, 100) == [3]
    for message in (2, 1, 0):
        one.enqueue(message, 200)
    assert going(one, 200) == [0, 1, 2, 4, 5]


sizes = st.lists(st.integers(1, 20 * MB), min_size=1, max_size=12)


@given(st.sampled_from(schedule_names()), sizes, st.data())
def test_every_message_goes_once_in_each_step(schedule, size_bytes, data) -> None:
    """Whatever the order and the times in which messages come and are acknowledged."""
    count = len(size_bytes)
    expected = data.draw(st.lists(st.integers(0, 10**8), min_size=count, max_size=count))
    one = gate(schedule, size_bytes, expected, {})
    now, flying, credit = 0, [], 12 * MB
    for _ in range(3):
        to_come, gone = data.draw(st.permutations(range(count))), []
        while to_come or flying:
            now += data.draw(st.integers(0, 10**7))
            if to_come and (not flying or data.draw(st.booleans())):
                one.enqueue(to_come.pop(), now)
            else:
                one.ended(flying.pop(0), now)
            sent = going(one, now)
            gone += sent
            flying += sent
            on_their_way = sum(size_bytes[message] for message in flying)
            if schedule == "p3":
                assert len(flying) <= 1
            if schedule == "bytescheduler":
                assert len(flying) <= 1 or on_their_way <= credit
        assert sorted(gone) == list(range(count))


@given(sizes, st.data())
def test_prophet_keeps_no_more_urgent_gradient_waiting_if_its_times_are_right(
    size_bytes: list[int], data: st.DataObject
) -> None:
    """On a link of the expected rate that takes one message after the other."""
    count = len(size_bytes)
    gaps = data.draw(st.lists(st.integers(0, 30 * MB), min_size=count, max_size=count))
    due = [sum(gaps[i:]) for i in range(count)]
    one = gate("prophet", size_bytes, due)
    free_at = 0
    for message in reversed(range(count)):
        now = due[message]
        assert free_at <= now  # nothing is in the way of this one
        one.enqueue(message, now)
        if message and due[message - 1] == now:
            continue
        through = going(one, now)
        free_at = now + sum(size_bytes[sent] for sent in through)
        for sent in through:
            one.ended(sent, free_at)


@pytest.mark.parametrize(
    ("name", "options", "said"),
    [
        ("p33", {}, "did you mean p3"),
        ("fifo", {"partition_bytes": 1}, "no such option"),
        ("bytescheduler", {"credit": 1}, "did you mean credit_bytes"),
        ("bytescheduler", {"credit_bytes": 0}, "must be a whole number, 1 to"),
        ("p3", {"partition_bytes": -1}, "must be a whole number, 0 to"),
    ],
)
def test_what_is_no_schedule_or_option_is_refused(name, options, said) -> None:
    with pytest.raises(ScenarioError, match=said):
        schedule_options(name, options)


def test_the_page_has_a_row_for_every_schedule() -> None:
    page = Path(__file__).parents[3] / "docs/background/schedules.md"
    rows = re.findall(r"^\| `(\w+)` \|", page.read_text(), re.MULTILINE)
    assert sorted(rows) == sorted(schedule_names())
