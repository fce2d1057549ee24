"""The machine around a rule: stream numbers, early and late credit, cancelling, refusals."""

import pytest

from h2model.disciplines import names
from h2model.machine import BLOCKED, Machine


def machine(discipline="fifo", window=100, connection=1000, **more):
    return Machine(discipline, initial_window=window, connection_window=connection, **more)


def test_credit_that_comes_before_its_stream_is_kept():
    m = machine(window=10)
    m.credit(3, 15, 0)
    m.enqueue(3, 100, 0)
    assert m.next(1000, 0) == (3, 25)


def test_forgotten_credit_does_not_come_back():
    m = machine(window=10)
    m.credit(3, 15, 0)
    m.forget_credit()
    m.enqueue(3, 100, 0)
    assert m.next(1000, 0) == (3, 10)


def test_late_credit_of_finished_streams_is_not_kept():
    """Thousands of streams whose last WINDOW_UPDATE comes too late leave nothing behind."""
    m = machine(window=10, connection=10**6)
    for stream in range(1, 4001, 2):
        m.enqueue(stream, 10, 0)
        m.sent(*m.next(10, 0), 0)
        m.credit(stream, 99, 0)
    assert m._early == {}
    assert m._finished._above == set()


def test_finished_streams_in_any_order_are_known():
    m = machine(window=10, connection=10**6)
    for stream in (7, 3, 2, 5, 4):
        m.enqueue(stream, 10, 0)
        m.sent(*m.next(10, 0), 0)
    m.credit(1, 5, 0)
    m.credit(3, 5, 0)
    m.credit(6, 5, 0)
    assert m._early == {1: 5, 6: 5}
    m.enqueue(1, 100, 0)
    assert m.next(100, 0) == (1, 15)


def test_a_window_below_zero_recovers_by_its_deficit_first():
    """RFC 9113, section 6.9.2."""
    m = machine(window=100)
    m.enqueue(1, 200, 0)
    assert m.next(80, 0) == (1, 80)
    m.resize_windows(30, 0)
    assert m.next(80, 0) == (BLOCKED, 0)
    m.credit(1, 50, 0)
    assert m.next(80, 0) == (BLOCKED, 0)
    m.credit(1, 7, 0)
    assert m.next(80, 0) == (1, 7)


def test_resized_windows_are_those_of_later_streams():
    m = machine(window=100)
    m.resize_windows(30, 0)
    m.enqueue(1, 200, 0)
    assert m.next(80, 0) == (1, 30)


@pytest.mark.parametrize("name", names())
def test_what_was_decided_before_a_cancel_is_still_taken_by_the_kernel(name):
    m = machine(name, window=1000, connection=10**4, capacity=2)
    m.enqueue(1, 500, 0)
    stream, size = m.next(100, 0)
    m.enqueue(3, 50, 0)
    m.cancel(1, 0)
    m.cancel(1, 0)
    assert not m.done(1)
    with pytest.raises(ValueError, match="stream 1: was cancelled"):
        m.enqueue(1, 5, 0)
    m.sent(stream, size, 0)
    assert m.done(1)
    assert m.next(1000, 0) == (3, 50)
    m.sent(3, 50, 0)
    assert m.idle


@pytest.mark.parametrize("name", names())
def test_a_cancelled_stream_gives_back_connection_credit_it_did_not_use(name):
    m = machine(name, window=1000, connection=100)
    m.enqueue(1, 80, 0)
    m.sent(*m.next(10, 0), 0)
    m.cancel(1, 0)
    m.enqueue(3, 200, 0)
    assert m.next(1000, 0) == (3, 90)


def test_data_added_in_a_round_robin_turn_does_not_prolong_it():
    m = machine("round_robin", window=1000, options={"quantum": 30})
    m.enqueue(1, 20, 0)
    m.enqueue(3, 20, 0)
    assert m.next(10, 0) == (1, 10)
    m.enqueue(1, 50, 0)
    assert m.next(100, 0) == (1, 20)
    assert m.next(100, 0) == (3, 20)
    assert m.next(100, 0) == (1, 30)


def test_data_handed_over_while_the_last_of_it_is_in_the_kernel_waits_at_the_tail():
    m = machine("round_robin", window=1000)
    m.enqueue(1, 20, 0)
    decided = m.next(100, 0)
    m.enqueue(3, 20, 0)
    m.enqueue(1, 5, 0)
    m.sent(*decided, 0)
    assert not m.done(1)
    assert m.next(100, 0) == (3, 20)
    assert m.next(100, 0) == (1, 5)


def test_a_new_message_on_a_stream_has_a_first_visit_of_its_own():
    m = machine("two_visit", window=50)
    m.enqueue(1, 60, 0)
    m.enqueue(3, 10, 0)
    assert [m.next(100, 0), m.next(100, 0)] == [(1, 50), (3, 10)]
    m.credit(1, 30, 0)
    assert m.next(100, 0) == (1, 10)
    m.enqueue(1, 40, 0)  # what was decided is not yet with the kernel
    m.enqueue(5, 10, 0)
    assert m.next(100, 0) == (1, 20)
    m.credit(1, 100, 0)
    assert m.next(100, 0) == (5, 10)
    assert m.next(100, 0) == (1, 20)


def test_credit_that_leaves_a_window_below_zero_does_not_take_a_place_in_the_list():
    m = machine("round_robin", window=10)
    m.enqueue(1, 50, 0)
    assert m.next(100, 0) == (1, 10)
    m.credit(1, -20, 0)
    assert m.next(100, 0) == (BLOCKED, 0)
    m.credit(1, 15, 0)
    m.enqueue(3, 5, 0)
    m.credit(1, 10, 0)
    assert m.next(100, 0) == (3, 5)
    assert m.next(100, 0) == (1, 5)


@pytest.mark.parametrize(
    ("act", "message"),
    [
        (lambda m: m.enqueue(1, 0, 0), "stream 1: size must be > 0, is 0"),
        (lambda m: m.next(0, 0), "budget must be > 0, is 0"),
        (lambda m: [m.enqueue(s, 1, 0) for s in (1, 3)], "stream 3: more than 1 unfinished"),
        (lambda m: machine("stack"), 'unknown discipline "stack"; allowed: fifo, '),
        (lambda m: machine(options={"quantum": 3}), 'fifo has no option "quantum"; allowed: none'),
        (
            lambda m: machine("round_robin", options={"quantum": 0}),
            'option "quantum" of round_robin: 0: must be > 0',
        ),
        (
            lambda m: machine("round_robin", options={"quantum": -1}),
            'option "quantum" of round_robin: -1: must be a whole number, 0 to 9007199254740992',
        ),
        (
            lambda m: machine("round_robin", options={"quantum": "many"}),
            'option "quantum" of round_robin: "many": must be a whole number, 0 to 9007',
        ),
    ],
)
def test_refusals_name_what_is_wrong(act, message):
    with pytest.raises(ValueError, match="^" + message.replace("(", r"\(")):
        act(machine(capacity=1))
