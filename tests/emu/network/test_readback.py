"""Read-back of tc: its output is understood, and every difference from the request is named.

The samples have the form that tc prints (iproute2 6.1): qdiscs as JSON, classes as text.
"""

import json
from pathlib import Path
from typing import Any

import pytest

from emu.network.readback import ReadBack, mismatch, parse_classes, parse_qdiscs
from emu.network.tc import Match, Shape, plan_shape
from netcosim.scenario import LinkSpec
from tests.snapshots import assert_kept

CLASSES = """\
class htb 2:11 parent 2:1 leaf 111: prio 1 rate 8bit ceil 100Mbit burst 100b cburst 25000b
 Sent 1514 bytes 1 pkt (dropped 0, overlimits 0 requeues 0)
 backlog 0b 0p requeues 0
class htb 2:10 parent 2:1 leaf 110: prio 1 rate 8bit ceil 100Mbit burst 100b cburst 25000b
class htb 2:1 root rate 100Mbit ceil 100Mbit burst 25000b cburst 25000b
class htb 2:f parent 2:1 leaf 10f: prio 1 rate 8bit ceil 100Mbit burst 100b cburst 25000b
class htb 2:e parent 2:1 leaf 10e: prio 0 rate 8bit ceil 100Mbit burst 100b cburst 25000b
"""
NONE = dict.fromkeys(("drops", "overlimits", "requeues", "backlog", "qlen"), 0)
STATISTICS = {"bytes": 90, "packets": 1, **NONE}


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


def slower(was: str, becomes: str) -> str:
    assert was in CLASSES
    return CLASSES.replace(was, becomes)


def differing(**options: dict[str, float]) -> list[dict[str, Any]]:
    return [{**NETEM, "options": {**NETEM["options"], **options}}, HTB, *LEAVES]


DIFFERENCES: dict[str, tuple[Shape, ReadBack]] = {
    "no htb": (shape(), found(LEAVES)),
    "another rate": (
        *(shape(), found([HTB, *LEAVES], slower("root rate 100Mbit", "root rate 99Mbit"))),
    ),
    "another ceiling": (
        shape(),
        found([HTB, *LEAVES], slower("ceil 100Mbit burst 100b", "ceil 1Gbit burst 100b")),
    ),
    "no class": (shape(), found([HTB, *LEAVES], "")),
    "no queue": (shape(), found([HTB, *LEAVES[1:]])),
    "another bound": (shape(), found([HTB, *LEAVES[:3], bfifo("10f:", "2:f", 3000)])),
    "another delay": (shape(FAR), found(differing(delay={"delay": 0.004, "jitter": 0.00025}))),
    "no jitter": (shape(FAR), found(differing(delay={"delay": 0.005, "jitter": 0.0}))),
    "another loss": (shape(FAR), found(differing(**{"loss-random": {"loss": 0.02}}))),
    "no delay": (shape(FAR), found(differing(delay={}))),
    "no netem": (shape(FAR), found([HTB, *LEAVES])),
}


def test_what_differs_is_named_with_its_command() -> None:
    said = "".join(
        f"{name}: {mismatch(asked, 's0-eth0', seen)}\n"
        for name, (asked, seen) in DIFFERENCES.items()
    )
    assert_kept(Path(__file__).parent / "snapshots/readback.txt", said)
