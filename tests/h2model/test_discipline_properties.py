"""Properties of every discipline, whatever its rule."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from h2model.disciplines import load, names, resolve_options
from h2model.machine import BLOCKED, Machine
from h2model.state import HEAD, NONE, OUT, READY, STALLED, TAIL
from tests.h2model.ledger import Ledger
from tests.h2model.machine_driver import STREAMS, Driver, operations, setups


def gathers(name, options):
    """True if a discipline uses up credit when it gathers a write, before it emits it."""
    return name == "write_cycle" or options.get("write", 0) > 0


def start(setup):
    name, options, window, connection = setup
    machine = Machine(
        name, options=options, initial_window=window, connection_window=connection, capacity=5
    )
    ledger = Ledger(window, connection, gathers=gathers(name, options))
    return Driver(machine, watch=ledger)


def ready_list(state):
    found, slot, before = [], state.shared[HEAD], NONE
    while slot != NONE:
        assert state.before[slot] == before
        assert state.place[slot] == READY
        found.append(slot)
        before, slot = slot, state.after[slot]
    assert state.shared[TAIL] == before
    return found


@pytest.mark.parametrize("name", names())
def test_module_is_complete(name):
    rule = load(name)
    assert rule.__doc__ is not None
    assert "Source:" in rule.__doc__, "a rule says where it comes from"
    for function in ("start", "enqueued", "credited", "select", "sent", "cancelled"):
        assert callable(getattr(rule, function))
    assert resolve_options(name, {}) == list(rule.OPTIONS.values())


@settings(max_examples=1000, deadline=None)
@given(setup=setups(), steps=operations)
def test_accounts_hold_and_everything_arrives(setup, steps):
    driver = start(setup)
    for step in steps:
        driver.play(step)
    driver.drain()
    ledger = driver.watch
    for stream, size in ledger.enqueued.items():
        if stream not in ledger.cancelled:
            assert ledger.emitted[stream] == size
    assert driver.machine.idle
    assert driver.machine.unfinished == ()
    assert all(driver.machine.done(stream) for stream in STREAMS)


@settings(max_examples=400, deadline=None)
@given(setup=setups(), steps=operations)
def test_ready_list_stays_whole(setup, steps):
    driver = start(setup)
    for step in steps:
        driver.play(step)
        state = driver.machine.state
        listed = ready_list(state)
        assert len(set(listed)) == len(listed)
        for slot, place in enumerate(state.place):
            assert (slot in listed) == (place == READY)
            assert place == OUT or state.left[slot] > 0
            assert place != STALLED or state.credit[slot] <= 0


@pytest.mark.parametrize("name", names())
def test_one_stream_alone_gets_everything(name):
    machine = Machine(name, initial_window=10**6, connection_window=10**6)
    machine.enqueue(1, 100_000, 0)
    got = 0
    while not machine.idle:
        stream, size = machine.next(16384, 0)
        assert stream == 1
        machine.sent(stream, size, 0)
        got += size
    assert got == 100_000
    assert machine.next(16384, 0) == (BLOCKED, 0)


@pytest.mark.parametrize("name", names())
def test_as_many_streams_as_there_are(name):
    """More than there was room for at first; the order is that of a machine with room for all."""
    orders = []
    for capacity in (None, 5000):
        machine = Machine(name, initial_window=70, connection_window=10**9, capacity=capacity)
        for stream in range(1, 10_001, 2):
            machine.enqueue(stream, 100, 0, priority=stream % 7)
            if stream % 5 == 1:
                machine.credit(stream, 30, 0)
        order = []
        while (decided := machine.next(40, 0))[0] != BLOCKED:
            order.append(decided)
            machine.sent(*decided, 0)
        orders.append(order)
        assert len(machine.unfinished) == 4000
    assert orders[0] == orders[1]
    assert sum(size for _, size in orders[0]) == 5000 * 70 + 1000 * 30


@pytest.mark.parametrize("name", names())
def test_slots_are_used_again_without_memory(name):
    """A thousand streams through two slots: each starts with the window and no more."""
    machine = Machine(name, initial_window=50, connection_window=10**9, capacity=2)
    for stream in range(1, 2001, 2):
        machine.enqueue(stream, 80, 0)
        assert machine.next(1000, 0) == (stream, 50)
        machine.sent(stream, 50, 0)
        assert machine.next(1000, 0) == (BLOCKED, 0)
        if stream % 4 == 1:
            machine.cancel(stream, 0)
        else:
            machine.credit(stream, 1000, 0)
            assert machine.next(1000, 0) == (stream, 30)
            machine.sent(stream, 30, 0)
        machine.credit(stream, 500, 0)
        assert machine.idle


@settings(max_examples=300, deadline=None)
@given(
    setup=setups(),
    sizes=st.lists(st.integers(1, 40_000), min_size=1, max_size=4),
    budget=st.integers(1, 20_000),
)
def test_who_says_that_it_conserves_never_rests_while_credit_comes_at_once(setup, sizes, budget):
    name, options, window, connection = setup
    assert load(name).TRAITS.work_conserving
    machine = Machine(
        name,
        options=options,
        initial_window=max(1, window),
        connection_window=max(1, connection),
        capacity=5,
    )
    for i, size in enumerate(sizes):
        machine.enqueue(2 * i + 1, size, 0)
    now = 0
    while not machine.idle:
        stream, size = machine.next(budget, now)
        assert stream != BLOCKED
        now += size
        machine.sent(stream, size, now)
        machine.credit(0, size, now)
        if not machine.done(stream):
            machine.credit(stream, size, now)


def test_strict_priority_alone_preempts():
    assert [name for name in names() if load(name).TRAITS.preempts] == ["priority"]
