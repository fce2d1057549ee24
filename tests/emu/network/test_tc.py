"""tc commands follow from a link's properties, without a kernel to run them."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from emu.network.tc import Match, Shape, plan_shape
from netcosim.scenario import LinkSpec


def link(rate: str = "100mbit", **more: Any) -> LinkSpec:
    return LinkSpec.model_validate({"rate": rate, **more})


def workers(count: int) -> list[Match]:
    return [Match(address=f"10.0.2.{i + 1}", side="dst") for i in range(count)]


def lines(shape: Shape) -> list[str]:
    return [" ".join(command) for command in shape.commands("s0-eth0")]


def test_fair_gives_every_worker_a_class_that_borrows_the_whole_rate() -> None:
    assert lines(plan_shape(link(), workers(2))) == [
        "qdisc add dev s0-eth0 root handle 2: htb default f",
        "class add dev s0-eth0 parent 2: classid 2:1 htb rate 100000000bit ceil 100000000bit "
        "burst 25000 cburst 25000 prio 1 quantum 1514",
        "class add dev s0-eth0 parent 2:1 classid 2:e htb rate 8bit ceil 100000000bit "
        "burst 100 cburst 25000 prio 0 quantum 1514",
        "class add dev s0-eth0 parent 2:1 classid 2:10 htb rate 8bit ceil 100000000bit "
        "burst 100 cburst 25000 prio 1 quantum 1514",
        "class add dev s0-eth0 parent 2:1 classid 2:11 htb rate 8bit ceil 100000000bit "
        "burst 100 cburst 25000 prio 1 quantum 1514",
        "class add dev s0-eth0 parent 2:1 classid 2:f htb rate 8bit ceil 100000000bit "
        "burst 100 cburst 25000 prio 1 quantum 1514",
        "qdisc add dev s0-eth0 parent 2:e handle 10e: bfifo limit 268435456",
        "qdisc add dev s0-eth0 parent 2:10 handle 110: bfifo limit 268435456",
        "qdisc add dev s0-eth0 parent 2:11 handle 111: bfifo limit 268435456",
        "qdisc add dev s0-eth0 parent 2:f handle 10f: bfifo limit 268435456",
        "filter add dev s0-eth0 parent 2: protocol ip prio 1 u32 match ip protocol 6 0xff "
        "match u16 52 0xffff at 2 match u8 0x10 0xff at 33 flowid 2:e",
        "filter add dev s0-eth0 parent 2: protocol ip prio 2 u32 match ip dst 10.0.2.1/32 "
        "flowid 2:10",
        "filter add dev s0-eth0 parent 2: protocol ip prio 2 u32 match ip dst 10.0.2.2/32 "
        "flowid 2:11",
    ]


def test_a_worker_s_class_is_dealt_out_to_the_servers_that_it_meets() -> None:
    matches = [Match(address="10.0.2.1", side="src", peers=("10.0.1.1", "10.0.1.2"))]
    made = lines(plan_shape(link(), matches))
    assert [line for line in made if line.startswith("class") and "parent 2:10 " in line] == [
        f"class add dev s0-eth0 parent 2:10 classid 2:{name} htb rate 16600000bit ceil "
        "100000000bit burst 4150 cburst 25000 prio 1 quantum 1514"
        for name in ("100", "101")
    ]
    assert [line for line in made if "prio 2" in line] == [
        "filter add dev s0-eth0 parent 2: protocol ip prio 2 u32 match ip src 10.0.2.1/32 "
        f"match ip dst 10.0.1.{i + 1}/32 flowid 2:10{i}"
        for i in range(2)
    ]
    # A class with classes below it has no queue of its own.
    assert not [line for line in made if line.startswith("qdisc") and "parent 2:10 " in line]


def test_fifo_is_one_bounded_queue_for_all() -> None:
    assert lines(plan_shape(link(model="fifo"), workers(4))) == [
        "qdisc add dev s0-eth0 root handle 2: htb default f",
        "class add dev s0-eth0 parent 2: classid 2:1 htb rate 100000000bit ceil 100000000bit "
        "burst 25000 cburst 25000 prio 1 quantum 1514",
        "class add dev s0-eth0 parent 2:1 classid 2:f htb rate 100000000bit ceil 100000000bit "
        "burst 25000 cburst 25000 prio 1 quantum 1514",
        "qdisc add dev s0-eth0 parent 2:f handle 10f: bfifo limit 150000",
    ]


def test_a_queue_that_was_asked_for_bounds_both_models() -> None:
    for model in ("fair", "fifo"):
        shape = plan_shape(link(model=model, queue="30kB"), workers(1))
        assert {c.queue_bytes for c in shape.classes} == {None, 30_000}


def test_delay_jitter_and_loss_stand_before_the_rate() -> None:
    asked = link(delay="5ms", jitter="250us", loss=0.01, model="fifo")
    first, second = lines(plan_shape(asked, []))[:2]
    assert first == (
        "qdisc add dev s0-eth0 root handle 1: netem limit 1000000 "
        "delay 5000.000us 250.000us loss random 1.0000000%"
    )
    assert second == "qdisc add dev s0-eth0 parent 1:1 handle 2: htb default f"


def test_jitter_alone_still_names_its_delay() -> None:
    words = lines(plan_shape(link(jitter="10us"), []))[0]
    assert "delay 0.000us 10.000us" in words
    assert "loss" not in words


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
