"""tc commands follow from a link's properties, without a kernel to run them."""

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from emu.network.tc import Match, Shape, plan_shape
from netcosim.scenario import LinkSpec
from tests.snapshots import assert_kept, sections


def link(rate: str = "100mbit", **more: Any) -> LinkSpec:
    return LinkSpec.model_validate({"rate": rate, **more})


def workers(count: int) -> list[Match]:
    return [Match(address=f"10.0.2.{i + 1}", side="dst") for i in range(count)]


def lines(shape: Shape) -> list[str]:
    return [" ".join(command) for command in shape.commands("s0-eth0")]


MET = [Match(address="10.0.2.1", side="src", peers=("10.0.1.1", "10.0.1.2"))]
SHAPES = {
    "fair: every worker has a class that borrows the whole rate": (link(), workers(2)),
    "fair: a worker's class is dealt out to the servers that it meets": (link(), MET),
    "fifo: one bounded queue for all": (link(model="fifo"), workers(4)),
    "delay, jitter and loss stand before the rate": (
        *(link(delay="5ms", jitter="250us", loss=0.01, model="fifo"), []),
    ),
    "jitter alone still names its delay": (link(jitter="10us"), []),
}


def test_the_commands_of_each_shape() -> None:
    made = {name: "\n".join(lines(plan_shape(*asked))) for name, asked in SHAPES.items()}
    assert_kept(Path(__file__).parent / "snapshots/tc.txt", sections(made))


def test_a_queue_that_was_asked_for_bounds_both_models() -> None:
    for model in ("fair", "fifo"):
        shape = plan_shape(link(model=model, queue="30kB"), workers(1))
        assert {c.queue_bytes for c in shape.classes} == {None, 30_000}


@pytest.mark.oracle
@given(
    rate=st.integers(10**6, 10**11), count=st.integers(0, 64), peers=st.sampled_from((0, 2, 3, 64))
)
def test_every_class_may_reach_the_rate_and_guarantees_never_exceed_it(rate, count, peers) -> None:
    spec = link(f"{rate}bit")
    servers = tuple(f"10.0.1.{i + 1}" for i in range(peers))
    matches = [Match(address=f"10.0.2.{i + 1}", side="src", peers=servers) for i in range(count)]
    shape = plan_shape(spec, matches)
    whole = shape.classes[0]
    assert whole.rate_bps == whole.ceil_bps == rate
    for above in shape.classes:
        below = [c for c in shape.classes if c.parent == above.classid]
        assert (above.queue_bytes is None) == bool(below)
        assert sum(c.rate_bps for c in below) <= above.rate_bps
        assert len({c.rate_bps for c in below}) <= 1
    assert {c.ceil_bps for c in shape.classes} == {rate}
    leaves = [c for c in shape.classes if c.queue_bytes is not None]
    if peers and count:
        # Two frames leave at once: HTB charges a frame when it has left.
        assert all(c.burst_bytes > 1514 for c in shape.classes)
    else:
        # A frame a minute of each, as HTB remembers no longer debt: no more together than the rate.
        assert {(c.rate_bps, c.burst_bytes) for c in leaves} == {(8, 100)}
    assert whole.burst_bytes >= 2 * 1514
    handles = [leaf.queue_handle for leaf in leaves] + ["1:", "2:"]
    assert len(set(handles)) == len(handles)
    assert len({c.classid for c in shape.classes}) == len(shape.classes)
    assert len(shape.matches) == count * (peers or 1)
