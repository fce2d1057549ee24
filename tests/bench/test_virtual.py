"""The benchmark of the virtual clock: how it compares runs."""

from pathlib import Path

import pytest

from bench.virtual.kernels import compare
from bench.virtual.releases import of_role
from bench.virtual.running import Ran
from netcosim.errors import NetworkError
from netcosim.trace import StreamRow
from tests.netcosim.rows import stream_row


def stream(tensor: str, wire_end_ns: int, *, burst: int = 0, role: str = "sender") -> StreamRow:
    return stream_row(
        cell=f"mixed8/{role}",
        burst=burst,
        tensor=tensor,
        size_bytes=1000,
        wire_bytes=1005,
        start_ns=0,
        wire_end_ns=wire_end_ns,
        delivered_ns=wire_end_ns,
    )


BURSTS = [stream("a", 400), stream("b", 1000), stream("a", 500, burst=1)]


def test_a_difference_is_a_share_of_its_burst() -> None:
    found = compare(BURSTS, [BURSTS[0], stream("b", 1010), stream("a", 490, burst=1)])
    assert (found.equal, found.order) == (False, True)
    assert found.end == pytest.approx(0.02)


def test_another_order_of_ends_is_told() -> None:
    found = compare(BURSTS, [stream("a", 1100), *BURSTS[1:]])
    assert not found.order
    assert found.end == pytest.approx(0.7)


@pytest.mark.parametrize("theirs", [[], BURSTS[:2], [*BURSTS[:2], stream("c", 500, burst=1)]])
def test_a_measurement_that_lacks_streams_has_no_difference(theirs: list[StreamRow]) -> None:
    assert compare(BURSTS, theirs).end == float("inf")
    assert compare(theirs, BURSTS).end == float("inf")


def test_of_a_release_bursts_and_their_length_are_told_by_role() -> None:
    trace = [*BURSTS, stream("a", 700, role="both")]
    other = [*BURSTS[:2], stream("a", 700, role="both")]
    sender = of_role("sender", [trace, other])
    assert (sender.bursts, sender.equal, sender.length_ns) == (3, False, 1250)
    both = of_role("both", [trace, other])
    assert (both.bursts, both.equal, both.length_ns) == (2, True, 700)


@pytest.mark.parametrize("code", [3, 5, 130, -9])
def test_a_run_that_failed_is_no_figure_of_how_fast_or_how_equal_runs_are(code: int) -> None:
    with pytest.raises(NetworkError, match=f"equal-3: exit code {code}: no kernel"):
        Ran(folder=Path("equal-3"), seconds=0.1, code=code, said="no kernel").ended()
