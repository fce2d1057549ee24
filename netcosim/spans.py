"""Sets of times: sorted, disjoint spans of (start, end), in nanoseconds, whole or not."""

from collections.abc import Iterable, Sequence
from typing import TypeVar

Span = tuple[int, int]
Spans = tuple[Span, ...]

Time = TypeVar("Time", int, float)


def united(spans: Iterable[tuple[Time, Time]]) -> tuple[tuple[Time, Time], ...]:
    """The union of any spans; empty ones are dropped."""
    found: list[tuple[Time, Time]] = []
    for start, end in sorted(span for span in spans if span[1] > span[0]):
        if found and start <= found[-1][1]:
            found[-1] = (found[-1][0], max(found[-1][1], end))
        else:
            found.append((start, end))
    return tuple(found)


def common(one: Sequence[Span], other: Sequence[Span]) -> Spans:
    """The intersection of two sets."""
    found: list[Span] = []
    i = j = 0
    while i < len(one) and j < len(other):
        start, end = max(one[i][0], other[j][0]), min(one[i][1], other[j][1])
        if start < end:
            found.append((start, end))
        if one[i][1] < other[j][1]:
            i += 1
        else:
            j += 1
    return tuple(found)


def without(one: Sequence[Span], other: Sequence[Span]) -> Spans:
    """The difference of two sets: the times of the first that are not in the second."""
    if not one:
        return ()
    first, last = one[0][0], one[-1][1]
    edges = [first, *(edge for span in other for edge in span), last]
    outside = [(a, b) for a, b in zip(edges[::2], edges[1::2], strict=True) if a < b]
    return common(one, outside)


def total_ns(spans: Iterable[Span]) -> int:
    """The length of a set."""
    return sum(end - start for start, end in spans)


def within(spans: Iterable[Span], start: int, end: int) -> Spans:
    """The part of a set between two times."""
    return common(tuple(spans), ((start, end),)) if start < end else ()


def widened(spans: Iterable[Span], before_ns: int, after_ns: int) -> Spans:
    """The set with each span longer on both sides."""
    return united((start - before_ns, end + after_ns) for start, end in spans)
