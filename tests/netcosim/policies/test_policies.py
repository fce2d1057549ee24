"""Given orders and placements, and synchronisations."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from netcosim.policies import (
    load_order,
    load_synchronisation,
    release_order,
    server_of_each,
    synchronisation_joins,
    synchronisation_names,
)
from netcosim.policies.order_input import OrderInput
from netcosim.scenario import PolicySpec
from tests.snapshots import refusal

NAMES = ["a", "b", "c", "d", "e", "f"]
SIZES = [1] * 6


def rng():
    return np.random.default_rng(0)


def by(**priorities):
    return PolicySpec(order="given", priorities=priorities)


def at(**servers):
    return PolicySpec(placement="given", servers=servers)


class TestOrder:
    def test_higher_first_ties_and_the_rest_as_listed(self):
        found = release_order(by(e=1, c=-7, b=1, f=9), NAMES, SIZES, rng())
        assert "".join(NAMES[i] for i in found) == "fbecad"

    @given(given=st.lists(st.one_of(st.none(), st.integers(-3, 3)), max_size=20))
    def test_is_the_sorted_one(self, given):
        found = load_order("given")(OrderInput(sizes_bytes=[1] * len(given), given=given), rng())
        assert sorted(found) == list(range(len(given)))
        keys = [(given[i] is None, -(given[i] or 0), i) for i in found]
        assert keys == sorted(keys)

    def test_a_tensor_that_is_not_there(self):
        assert refusal(release_order, by(g=1), NAMES, SIZES, rng()) == (
            'policy.priorities: "g": no such tensor; there are a, b, c, d, e, ...'
        )


class TestPlacement:
    def test_as_given(self):
        policy = at(f=0, a=1, b=0, c=1, d=0, e=1)
        assert server_of_each(policy, NAMES, SIZES, 2) == [1, 0, 1, 0, 1, 0]

    @pytest.mark.parametrize(
        ("servers", "line"),
        [
            ({"a": 0, "z": 1}, 'policy.servers: "z": no such tensor; there are a, b'),
            ({"a": 0}, "policy.servers: 1 tensor(s) have none; each needs one"),
            ({"a": 0, "b": 2}, "policy.servers: 2: no such server; must be 0 to 1"),
        ],
    )
    def test_what_is_refused(self, servers, line):
        assert refusal(server_of_each, at(**servers), ["a", "b"], [1, 1], 2) == line


class TestSynchronisation:
    def test_leads(self):
        found = {name: load_synchronisation(name)(7) for name in synchronisation_names()}
        assert found == {"asp": None, "bsp": 0, "join": None, "ssp": 7}
        assert [name for name in found if synchronisation_joins(name)] == ["join"]

    def test_an_unknown_one(self):
        assert refusal(load_synchronisation, "dsp") == (
            'training.synchronisation: "dsp": unknown; allowed: asp, bsp, join, ssp'
        )
