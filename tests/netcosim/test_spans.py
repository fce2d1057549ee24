"""Sets of times against sets of whole numbers."""

from hypothesis import given
from hypothesis import strategies as st

from netcosim.spans import Span, Spans, common, total_ns, united, widened, within, without

EDGE = st.integers(-20, 40)
ANY = st.lists(st.tuples(EDGE, EDGE), max_size=8)
PROPER = ANY.map(united)


def ticks(spans: list[Span] | Spans) -> set[int]:
    """The units of time that are in it."""
    return {tick for start, end in spans for tick in range(start, end)}


def is_proper(spans: Spans) -> bool:
    """True if it is sorted, without an empty span, and as short as it can be."""
    edges = [edge for span in spans for edge in span]
    return edges == sorted(set(edges))


@given(ANY)
def test_a_union_is_sorted_disjoint_and_holds_every_tick(spans: list[Span]) -> None:
    found = united(spans)
    assert ticks(found) == ticks(spans)
    assert is_proper(found)
    assert united(found) == found


@given(PROPER, PROPER)
def test_intersection_and_difference_are_those_of_sets(one: Spans, other: Spans) -> None:
    assert ticks(common(one, other)) == ticks(one) & ticks(other)
    assert ticks(without(one, other)) == ticks(one) - ticks(other)
    assert is_proper(common(one, other))
    assert is_proper(without(one, other))
    assert common(one, other) == common(other, one)
    assert united([*common(one, other), *without(one, other)]) == one


@given(PROPER, EDGE, EDGE)
def test_a_part_between_two_times(spans: Spans, start: int, end: int) -> None:
    assert ticks(within(spans, start, end)) == ticks(spans) & set(range(start, end))


@given(PROPER, st.integers(0, 5), st.integers(0, 5))
def test_wider_spans_hold_what_is_near_enough(spans: Spans, before: int, after: int) -> None:
    near = {tick + step for tick in ticks(spans) for step in range(-before, after + 1)}
    assert ticks(widened(spans, before, after)) == near
    assert is_proper(widened(spans, before, after))


@given(PROPER)
def test_the_length_counts_ticks(spans: Spans) -> None:
    assert total_ns(spans) == len(ticks(spans))
