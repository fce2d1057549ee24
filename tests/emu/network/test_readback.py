"""Read-back of tc: its output is understood, and every difference from the request is named.

The samples have the form that tc prints (iproute2 6.1): qdiscs as JSON, classes as text.
"""

import json
from typing import Any

import pytest

from emu.network.readback import ReadBack, mismatch, parse_classes, parse_qdiscs
from emu.network.tc import Match, Shape, plan_shape
from netcosim.scenario import LinkSpec

CLASSES = """\
class htb 2:11 parent 2:1 leaf 111: prio 1 rate 8bit ceil 100Mbit burst 100b cburst 25000b
 Sent 1514 bytes 1 pkt (dropped 0, overlimits 0 requeues 0)
 backlog 0b 0p requeues 0
class htb 2:10 parent 2:1 leaf 110: prio 1 rate 8bit ceil 100Mbit burst 100b cburst 25000b
class htb 2:1 root rate 100Mbit ceil 100Mbit burst 25000b cburst 25000b
class htb 2:f parent 2:1 leaf 10f: prio 1 rate 8bit ceil 100Mbit burst 100b cburst 25000b
class htb 2:e parent 2:1 leaf 10e: prio 0 rate 8bit ceil 100Mbit burst 100b cburst 25000b
"""
STATISTICS = {
    "bytes": 90,
    "packets": 1,
    "drops": 0,
    "overlimits": 0,
    "requeues": 0,
    "backlog": 0,
    "qlen": 0,
}


def bfifo(handle: str, parent: str, limit: int = 268435456) -> dict[str, Any]:
    options = {"limit": limit}
    return {"kind": "bfifo", "handle": handle, "parent": parent, "options": options, **STATISTICS}


HTB = {
    "kind": "htb",
    "handle": "2:",
    "root": True,
    "refcnt": 3,
    "options": {"r2q": 10, "default": "0xf", "direct_packets_stat": 0, "direct_qlen": 1000},
    **STATISTICS,
}
NETEM = {
    "kind": "netem",
    "handle": "1:",
    "root": True,
    "refcnt": 3,
    "options": {
        "limit": 1000000,
        "delay": {"delay": 0.005, "jitter": 0.000249, "correlation": 0},  # rounded down
        "loss-random": {"loss": 0.01, "correlation": 0},
        "ecn": False,
        "gap": 0,
    },
    **STATISTICS,
}
LEAVES = [bfifo(f"1{n}:", f"2:{n.lstrip('0')}") for n in ("0e", "10", "11", "0f")]
PLAIN = LinkSpec.model_validate({"rate": "100mbit"})
FAR = LinkSpec.model_validate({"rate": "100mbit", "delay": "5ms", "jitter": "250us", "loss": 0.01})


def shape(link: LinkSpec = PLAIN) -> Shape:
    return plan_shape(link, [Match(address=f"10.0.2.{i}", side="dst") for i in (1, 2)])


def found(qdiscs: list[dict[str, Any]], classes: str = CLASSES) -> ReadBack:
    text = json.dumps([{**qdisc, "dev": "s0-eth0"} for qdisc in qdiscs])
    return ReadBack(qdiscs=parse_qdiscs(text).get("s0-eth0", {}), classes=parse_classes(classes))


def test_what_was_asked_for_is_found() -> None:
    assert mismatch(shape(), "s0-eth0", found([HTB, *LEAVES])) is None
    assert mismatch(shape(FAR), "s0-eth0", found([NETEM, HTB, *LEAVES])) is None


@pytest.mark.parametrize(
    ("text", "rates"),
    [
        ("class htb 2:1 root rate 1500bit ceil 33333Kbit burst 1b", (1500, 33_333_000)),
        ("class htb 2:1 root prio 1 rate 12Gbit ceil 40Gbit burst 1b", (12 * 10**9, 40 * 10**9)),
        ("class htb 2:1 root rate 1Tbit ceil 1Tbit burst 1b", (10**12, 10**12)),
    ],
)
def test_units_of_rates(text: str, rates: tuple[int, int]) -> None:
    assert parse_classes(text) == {"2:1": rates}


def test_qdiscs_without_a_handle_of_ours_are_passed_over() -> None:
    noqueue = {"kind": "noqueue", "handle": "0:", "dev": "lo", "root": True, "options": {}}
    assert parse_qdiscs(json.dumps([noqueue])) == {}
    assert parse_qdiscs("") == {}


@pytest.mark.parametrize(
    ("qdiscs", "classes", "said"),
    [
        (LEAVES, CLASSES, "s0-eth0: htb is not there"),
        (
            [HTB, *LEAVES],
            CLASSES.replace("2:1 root rate 100Mbit", "2:1 root rate 99Mbit"),
            "rate is 99000000 bit/s, asked for 100000000",
        ),
        (
            [HTB, *LEAVES],
            CLASSES.replace("ceil 100Mbit burst 100b", "ceil 1Gbit burst 100b"),
            "ceil is 1000000000 bit/s, asked for 100000000",
        ),
        ([HTB, *LEAVES], "", "the class is not there"),
        ([HTB, *LEAVES[1:]], CLASSES, "handle 10e: bfifo limit 268435456: the queue is not there"),
        (
            [HTB, *LEAVES[:3], bfifo("10f:", "2:f", 3000)],
            CLASSES,
            "limit is 3000 bytes, asked for 268435456",
        ),
    ],
)
def test_what_differs_is_named_with_its_command(qdiscs, classes, said) -> None:
    problem = mismatch(shape(), "s0-eth0", found(qdiscs, classes))
    assert problem is not None
    assert said in problem


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"delay": {"delay": 0.004, "jitter": 0.00025}}, "delay is 4000000 ns, asked for 5000000"),
        ({"delay": {"delay": 0.005, "jitter": 0.0}}, "jitter is 0 ns, asked for 250000"),
        ({"loss-random": {"loss": 0.02}}, "loss is 0.02, asked for 0.01"),
        ({"delay": {}}, "delay is 0 ns"),
    ],
)
def test_a_netem_that_differs_is_named(options: dict[str, Any], said: str) -> None:
    netem = {**NETEM, "options": {**NETEM["options"], **options}}  # type: ignore[dict-item]
    problem = mismatch(shape(FAR), "s0-eth0", found([netem, HTB, *LEAVES]))
    assert problem is not None
    assert problem.startswith("tc qdisc add dev s0-eth0 root handle 1: netem")
    assert said in problem


def test_a_missing_netem_is_named() -> None:
    problem = mismatch(shape(FAR), "s0-eth0", found([HTB, *LEAVES]))
    assert problem is not None
    assert "netem is not there" in problem
