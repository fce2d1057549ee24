"""Speed of shared links in a burst, relative to their measurement before the run."""

from collections.abc import Sequence

from h2model.event_loop import Shares
from netcosim.spans import Span, united


def own_speed(
    spans: Sequence[Sequence[Span]], moved_bytes: float, shares: Shares, slack_ns: float
) -> float:
    """Ratio of bytes that the links carried to those due while the same connections were busy.

    Parameters
    ----------
    spans
        Of each connection the times, in order of their begin, in which its DATA arrived.
    moved_bytes
        Bytes that all of them moved, with frame headers.
    shares
        Gives the rates of those that are busy.
    slack_ns
        A pause counts as far as it is longer: the links' buckets make that much good.
    """
    edges = sorted(
        edge
        for i, mine in enumerate(spans)
        for begin, end in united((start, end + slack_ns) for start, end in mine)
        for edge in ((begin, i, True), (end, i, False))
    )
    busy: frozenset[int] = frozenset()
    known: dict[frozenset[int], float] = {frozenset(): 0.0}
    due_bytes = before = 0.0
    for time, i, begins in edges:
        if busy not in known:
            known[busy] = sum(shares(busy).values())
        due_bytes += known[busy] * (time - before) / 8e9
        busy = busy | {i} if begins else busy - {i}
        before = time
    return moved_bytes / due_bytes
