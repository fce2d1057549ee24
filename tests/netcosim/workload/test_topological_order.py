"""Graphs of names: sorted, or with a cycle that is shown."""

import itertools

from hypothesis import given
from hypothesis import strategies as st

from netcosim.workload.topological_order import cycle_text, find_cycle, sorted_nodes


@given(st.lists(st.tuples(st.integers(0, 7), st.integers(0, 7)), max_size=14))
def test_a_graph_is_sorted_or_has_a_cycle(edges):
    after = {f"n{i}": [f"n{a}" for a, b in edges if b == i] for i in range(8)}
    order, cycle = sorted_nodes(after), find_cycle(after)
    place = {name: i for i, name in enumerate(order)}
    for name in order:
        assert all(place[other] < place[name] for other in after[name])
    assert (len(order) == 8) == (not cycle)
    if cycle:
        for earlier, later in itertools.pairwise([*cycle, cycle[0]]):
            assert earlier in after[later]
        assert len(set(cycle)) == len(cycle)


def test_a_graph_that_needs_no_sorting_stays_as_it_is():
    assert sorted_nodes({"c": [], "a": ["c"], "b": []}) == ["c", "a", "b"]


def test_a_long_cycle_is_cut_in_the_middle():
    assert cycle_text(["a", "b"]) == "a -> b -> a"
    assert cycle_text([str(i) for i in range(20)]) == (
        "0 -> 1 -> 2 -> 3 -> 4 -> 5 -> ... (13 more) -> 19 -> 0"
    )
