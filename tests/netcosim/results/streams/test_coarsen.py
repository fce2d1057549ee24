"""Intervals of a stream joined where they are close: bytes and extent stay, the limit is kept."""

import itertools

from hypothesis import given
from hypothesis import strategies as st

from netcosim.results.streams.coarsen import merge_close, resolution_for
from netcosim.trace import Service, StreamRow
from tests.netcosim.rows import stream_row

SPANS = st.lists(st.tuples(st.integers(0, 50_000), st.integers(1, 50_000)), max_size=30)


def services(gaps: list[tuple[int, int]]) -> tuple[Service, ...]:
    made, at = [], 0
    for gap, length in gaps:
        made.append(Service(start_ns=at + gap, end_ns=at + gap + length, size_bytes=length))
        at += gap + length
    return tuple(made)


def stream(intervals: tuple[Service, ...]) -> StreamRow:
    return stream_row(services=intervals)


@given(SPANS, st.integers(0, 60_000))
def test_merging_keeps_bytes_and_extent_and_leaves_no_small_gap(
    gaps: list[tuple[int, int]], within_ns: int
) -> None:
    before = services(gaps)
    after = merge_close(before, within_ns)
    assert sum(s.size_bytes for s in after) == sum(s.size_bytes for s in before)
    assert [s.start_ns for s in after[:1]] == [s.start_ns for s in before[:1]]
    assert [s.end_ns for s in after[-1:]] == [s.end_ns for s in before[-1:]]
    for one, other in itertools.pairwise(after):
        assert other.start_ns - one.end_ns > within_ns


@given(st.lists(SPANS, max_size=4), st.integers(1, 40))
def test_the_resolution_keeps_to_the_limit(
    streams: list[list[tuple[int, int]]], limit: int
) -> None:
    rows = [stream(services(gaps)) for gaps in streams]
    resolution = resolution_for(rows, limit)
    merged = [len(merge_close(r.services, resolution)) for r in rows]
    assert sum(merged) <= max(limit, sum(1 for r in rows if r.services))
