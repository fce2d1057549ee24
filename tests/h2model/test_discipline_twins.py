"""Every discipline decides what its naive twin decides."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from h2model.disciplines import names
from h2model.grpc_write import TARGET
from h2model.machine import Machine
from tests.h2model.discipline_twins import TWINS
from tests.h2model.machine_driver import Driver, operations, setups


def test_every_discipline_has_a_twin():
    assert set(TWINS) == set(names())


@pytest.mark.parametrize("name", names())
@settings(max_examples=300, deadline=None)
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
