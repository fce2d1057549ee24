"""The clock of link work: it stands still in every cut, and runs on in between."""

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from netcosim.results.streams.lost import PAUSE, UNEXPLAINED, LostRow, work_clocks
from netcosim.spans import Spans, united
from netcosim.trace import Service, Stall, StreamRow
from netcosim.work_clock import WorkClock, on_work_clock

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


@given(CUTS, TIME, TIME)
def test_it_never_runs_backwards_and_never_faster_than_the_wall(
    cuts: Spans, one: int, other: int
) -> None:
    clock = WorkClock.without(cuts)
    early, late = min(one, other), max(one, other)
    assert 0 <= clock.at(late) - clock.at(early) <= late - early


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


ROW = StreamRow(
    world="emu",
    cell="w/t",
    burst=1,
    source="s0",
    destination="w0",
    connection=2,
    stream=1,
    tensor="t",
    size_bytes=10,
    wire_bytes=10,
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
