"""The clock of link work: it stands still in every cut, and runs on in between."""

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from netcosim.results.streams.lost import PAUSE, UNEXPLAINED, LostRow, work_clocks
from netcosim.service_positions import byte_positions
from netcosim.spans import Span, Spans, common, total_ns, united, widened, within, without
from netcosim.trace import Service, Stall, StreamRow
from netcosim.work_clock import WorkClock, on_work_clock
from tests.netcosim.rows import stream_row

TIME = st.integers(-50, 150)
CUTS = st.lists(st.tuples(TIME, TIME), max_size=6).map(united)


def test_by_hand() -> None:
    clock = WorkClock.without([(70, 80), (10, 30)])
    assert clock.cut_ns == 30
    assert [clock.at(t) for t in (-5, 0, 10, 20, 30, 31, 70, 75, 80, 100)] == [
        *(-5, 0, 10, 10, 10, 11, 50, 50, 50, 70)
    ]


def test_where_nothing_is_cut_it_is_the_wall_clock() -> None:
    wall = WorkClock.without([])
    assert [wall.at(t) for t in (-7, 0, 10**18)] == [-7, 0, 10**18]
    assert wall.cut_ns == 0


@given(CUTS, TIME)
def test_it_counts_the_ticks_that_are_not_cut(cuts: Spans, time: int) -> None:
    clock = WorkClock.without(cuts)
    before = sum(start <= tick < end for start, end in cuts for tick in range(-50, time))
    assert clock.at(time) == time - before


@given(CUTS, st.integers(-100, 200))
def test_every_work_time_is_that_of_some_wall_time(cuts: Spans, work: int) -> None:
    """Putting the cuts back in is its inverse: it ends where a wall time has this work time."""
    clock = WorkClock.without(cuts)
    wall = work
    for start, end in cuts:
        if start < wall:
            wall += end - start
    assert clock.at(wall) == work


@given(CUTS)
def test_the_order_of_the_cuts_does_not_matter(cuts: Spans) -> None:
    assert WorkClock.without(reversed(cuts)) == WorkClock.without(cuts)


ROW = stream_row(
    burst=1,
    connection=2,
    asked_ns=-3,
    requested_ns=0,
    ready_ns=40,
    start_ns=50,
    wire_end_ns=90,
    delivered_ns=95,
    services=(Service(start_ns=50, end_ns=90, size_bytes=10, position=4),),
    stalls=(Stall(start_ns=60, end_ns=70),),
    link_position=0.5,
)


def lost(start_ns: int, length_ns: int, cause: str = PAUSE, **where: int) -> LostRow:
    place = {"burst": 1, "connection": 2} | where
    return LostRow(cell="w/t", start_ns=start_ns, length_ns=length_ns, cause=cause, **place)


def test_every_time_of_a_row_goes_through_its_connection_s_clock() -> None:
    clocks = work_clocks([lost(42, 6), lost(80, 5)])
    (row,) = on_work_clock([ROW], clocks)
    assert row == replace(
        ROW,
        start_ns=44,
        wire_end_ns=79,
        delivered_ns=84,
        services=(Service(start_ns=44, end_ns=79, size_bytes=10, position=4),),
        stalls=(Stall(start_ns=54, end_ns=64),),
    )


def test_what_a_row_does_not_know_stays_unknown() -> None:
    unknown = replace(ROW, asked_ns=None, requested_ns=None, delivered_ns=None)
    (row,) = on_work_clock([unknown], work_clocks([lost(42, 6)]))
    assert (row.asked_ns, row.requested_ns, row.delivered_ns) == (None, None, None)


def test_other_connections_bursts_and_causes_cut_nothing() -> None:
    others = [lost(42, 6, burst=0), lost(42, 6, connection=1), lost(42, 6, UNEXPLAINED)]
    assert on_work_clock([ROW], work_clocks(others)) == [ROW]


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


def rows_of(served: list[tuple[int, int, int]]) -> list[StreamRow]:
    """Rows of (connection, stream, bytes), served in this order; what is in between is idle."""
    services: dict[tuple[int, int], list[Service]] = {}
    placed: dict[int, int] = {}
    for turn, (connection, stream, size_bytes) in enumerate(served):
        position = placed[connection] = placed.get(connection, -1) + 1
        services.setdefault((connection, stream), []).append(
            Service(
                start_ns=100 * turn, end_ns=100 * turn + 7, size_bytes=size_bytes, position=position
            )
        )
    return [
        stream_row(
            connection=connection,
            stream=stream,
            tensor=f"t{stream}",
            size_bytes=sum(s.size_bytes for s in mine),
            wire_bytes=sum(s.size_bytes for s in mine),
            start_ns=mine[0].start_ns,
            wire_end_ns=mine[-1].end_ns,
            services=tuple(mine),
        )
        for (connection, stream), mine in services.items()
    ]


@pytest.mark.parametrize(
    ("served", "positions"),
    [
        ([(0, 1, 70)], {(0, 1): 1.0}),
        ([(0, 1, 25), (0, 3, 75)], {(0, 1): 0.25, (0, 3): 1.0}),
        ([(0, 1, 10), (0, 3, 20), (0, 1, 10)], {(0, 1): 1.0, (0, 3): 0.75}),
        (
            [(0, 1, 10), (1, 1, 1000), (0, 3, 10), (1, 3, 3000)],  # each its own connection's
            {(0, 1): 0.5, (0, 3): 1.0, (1, 1): 0.25, (1, 3): 1.0},
        ),
    ],
)
def test_positions_by_hand(served, positions) -> None:
    assert byte_positions(rows_of(served)) == positions


def test_streams_that_share_a_packet_end_in_their_order_of_service() -> None:
    """Their times are equal; only their positions tell them apart."""
    rows = [
        replace(row, services=tuple(replace(s, start_ns=5, end_ns=5) for s in row.services))
        for row in rows_of([(0, 5, 30), (0, 1, 30), (0, 3, 40)])
    ]
    assert byte_positions(rows) == {(0, 5): 0.3, (0, 1): 0.6, (0, 3): 1.0}


SERVED = st.lists(
    st.tuples(st.integers(0, 2), st.sampled_from([1, 3, 5, 7]), st.integers(1, 50)),
    min_size=1,
    max_size=25,
)


@given(SERVED)
def test_positions_equal_those_of_a_twin_that_counts_byte_by_byte(served) -> None:
    found = byte_positions(rows_of(served))
    for connection in {c for c, _, _ in served}:
        carried = [stream for c, stream, size in served if c == connection for _ in range(size)]
        for stream in set(carried):
            last = max(place for place, each in enumerate(carried) if each == stream)
            assert found[connection, stream] == (last + 1) / len(carried)
    assert found.keys() == {(c, stream) for c, stream, _ in served}


@given(SERVED, st.integers(0, 2000), st.integers(1, 10**9), st.randoms(use_true_random=False))
def test_neither_a_pause_nor_the_order_of_the_rows_moves_them(
    served: list[tuple[int, int, int]], since_ns: int, length_ns: int, shuffle: Any
) -> None:
    rows = rows_of(served)
    held = [
        replace(
            row,
            services=tuple(
                replace(
                    s,
                    start_ns=s.start_ns + (length_ns if s.start_ns > since_ns else 0),
                    end_ns=s.end_ns + (length_ns if s.end_ns > since_ns else 0),
                )
                for s in row.services
            ),
        )
        for row in rows
    ]
    shuffle.shuffle(held)
    assert byte_positions(held) == byte_positions(rows)
