"""Properties of every discipline, whatever its rule."""

import doctest
import importlib.util
import re
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from h2model import credit, disciplines
from h2model.disciplines import load, names, resolve_options
from h2model.file_check import check_file
from h2model.grpc_write import TARGET
from h2model.machine import BLOCKED, Machine
from h2model.state import HEAD, NONE, OUT, READY, STALLED, TAIL
from tests.h2model.discipline_twins import TWINS
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


@pytest.mark.oracle
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


@pytest.mark.oracle
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


@pytest.mark.oracle
@pytest.mark.parametrize("name", names())
def test_as_many_streams_as_there_are(name):
    """More than there was room for at first; the order is that of a machine with room for all."""
    orders = []
    for capacity in (None, 2000):
        machine = Machine(name, initial_window=70, connection_window=10**9, capacity=capacity)
        for stream in range(1, 4001, 2):
            machine.enqueue(stream, 100, 0, priority=stream % 7)
            if stream % 5 == 1:
                machine.credit(stream, 30, 0)
        order = []
        while (decided := machine.next(40, 0))[0] != BLOCKED:
            order.append(decided)
            machine.sent(*decided, 0)
        orders.append(order)
        assert len(machine.unfinished) == 1600
    assert orders[0] == orders[1]
    assert sum(size for _, size in orders[0]) == 2000 * 70 + 400 * 30


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


@pytest.mark.oracle
@settings(max_examples=300, deadline=None)
@given(
    setup=setups(),
    sizes=st.lists(st.integers(1, 4000), min_size=1, max_size=4),
    budget=st.integers(1, 2000),
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


def test_every_discipline_has_a_twin():
    assert set(TWINS) == set(names())


@pytest.mark.parametrize("name", names())
@settings(max_examples=240, deadline=None)
@given(data=st.data(), steps=operations)
def test_twin_decides_the_same(name, data, steps):
    _, options, window, connection = data.draw(setups(name))
    machine = Driver(
        Machine(name, options=options, initial_window=window, connection_window=connection)
    )
    twin = Driver(TWINS[name](window, connection, **options))
    for step in steps:
        machine.play(step)
        twin.play(step)
        assert machine.log == twin.log
        if name == "write_cycle":
            assert machine.machine.state.shared[TARGET] == twin.machine.target
    machine.drain()
    twin.drain()
    assert machine.log == twin.log
    assert machine.machine.idle


FILE = """\
from h2model.disciplines import Traits
from h2model.disciplines.fifo import cancelled, credited, enqueued, select, sent, start
from h2model.state import OWN

ABOUT = "as fifo"
OPTIONS = {}
TRAITS = Traits()
_PLACE = OWN
"""


def check(tmp_path, text):
    path = tmp_path / "odd.py"
    path.write_text(text)
    spec = importlib.util.spec_from_file_location("folder.odd", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    check_file(module, disciplines.Discipline, ("visits",))


@pytest.mark.parametrize("more", ["", "def visits(options):\n    return 1\n", "def _own(s): ...\n"])
def test_what_the_protocol_knows_is_taken(tmp_path, more):
    check(tmp_path, FILE + more)


@pytest.mark.parametrize(
    ("more", "name"),
    [
        ("PREEMTPS = True\n", "PREEMTPS"),
        ("PACED: bool = True\n", "PACED"),
        ("A, _B = 1, 2\n", "A"),
        ("def suggests(observed): ...\n", "suggests"),
    ],
)
def test_another_public_name_is_refused(tmp_path, more, name):
    with pytest.raises(ValueError, match=rf"^folder/odd\.py: {name}: unknown name; allowed: ABOUT"):
        check(tmp_path, FILE + more)


def test_what_is_lacking_is_named(tmp_path):
    with pytest.raises(ValueError, match=r"^folder/odd\.py: TRAITS: is required$"):
        check(tmp_path, FILE.replace("TRAITS = Traits()\n", ""))


def test_a_misspelled_trait_is_refused(tmp_path):
    with pytest.raises(TypeError, match="preemtps"):
        check(tmp_path, FILE.replace("Traits()", "Traits(preemtps=True)"))


@pytest.mark.parametrize("rule", credit.names())
def test_every_credit_rule_has_words(rule):
    assert credit.load(rule).ABOUT


def test_who_waits_for_a_reader():
    assert [name for name in credit.names() if credit.load(name).WAITS_FOR_READER] == [
        "grpc_progress"
    ]


PAGE = Path(__file__).parents[2] / "docs" / "reference" / "disciplines.md"


def test_examples():
    failed, tried = doctest.testfile(str(PAGE), module_relative=False)
    assert tried > 20
    assert failed == 0


def test_every_discipline_and_option_is_described():
    sections = dict(re.findall(r"^## (\w+)\n(.*?)(?=^## )", PAGE.read_text(), re.M | re.S))
    for name in disciplines.names():
        text = sections[name]
        assert "Source:" in text
        assert f'served("{name}"' in text
        for option, default in disciplines.load(name).OPTIONS.items():
            (row,) = [line for line in text.splitlines() if re.match(rf"\|.*`{option}`", line)]
            assert str(default) in row


def test_every_credit_rule_is_described():
    text = PAGE.read_text()
    for name in credit.names():
        assert f"| `{name}` |" in text
        assert f'grants("{name}")' in text
