"""A plan that can't be built is refused with a line that names what is wrong."""

import time

import pytest

from netcosim.scenario import LinkSpec
from tests.snapshots import refusal
from topo.spec import HostSpec, NetLink, NetSpec, SwitchSpec

LINK = LinkSpec.model_validate({"rate": "100mbit"})


def spec(hosts: str, switches: str, links: str) -> NetSpec:
    """Names separated by blanks; links as name:a-b."""
    return NetSpec(
        hosts=tuple(
            HostSpec(name=h, role="server" if h.startswith("s") else "worker")
            for h in hosts.split()
        ),
        switches=tuple(SwitchSpec(name=b) for b in switches.split()),
        links=tuple(
            NetLink(name=name, a=ends.partition("-")[0], b=ends.partition("-")[2], link=LINK)
            for name, _, ends in (link.partition(":") for link in links.split())
        ),
    )


def test_a_star_is_accepted() -> None:
    plan = spec("s0 w0 w1", "b0", "s0:s0-b0 w0:w0-b0 w1:w1-b0")
    assert plan.node_names == ("s0", "w0", "w1", "b0")
    assert [h.name for h in plan.servers] == ["s0"]
    assert [h.name for h in plan.workers] == ["w0", "w1"]


@pytest.mark.parametrize(
    ("hosts", "switches", "links", "said"),
    [
        ("s0 w0", "", "l:s0-w9", 'links.l: "w9": unknown node'),
        ("s0 w0 w0", "b0", "a:s0-b0", 'nodes: "w0": is there more than once'),
        ("s0 w0", "b0", "l:s0-b0 l:w0-b0", 'links: "l": is there more than once'),
        ("s0 w0", "", "a:s0-w0 b:w0-s0", 'links.b: "w0-s0": duplicates link a'),
        ("s0 w0", "b0", "a:s0-b0", 'hosts.w0: "0 links": must have exactly 1'),
        ("s0 w0", "b0 b1", "a:s0-b0 b:w0-b1", 'nodes: "w0": is not connected'),
        ("s0", "", "a:s0-s0", 'links.a: "s0": a link needs two different ends'),
        ("s0 w0", "b0 b1 b2", "a:s0-b0 b:w0-b1 c:b0-b1 d:b1-b2 e:b2-b0", "form a loop"),
        ("s0 averylongname", "", "a:s0-averylongname", "must have 1 to 8 characters"),
    ],
)
def test_what_is_wrong_is_named(hosts: str, switches: str, links: str, said: str) -> None:
    assert said in refusal(spec, hosts, switches, links)


def test_large_networks_are_checked_in_time() -> None:
    """A row of switches with a host each: time grows as their number, not as its square."""

    def seconds(count: int) -> float:
        switches = [f"b{i}" for i in range(count)]
        row = [f"l{i}:b{i}-b{i + 1}" for i in range(count - 1)]
        hosts = [f"w{i}" for i in range(count)]
        links = [*row, *(f"w{i}:w{i}-b{i}" for i in range(count))]
        begun = time.process_time()
        spec(" ".join(hosts), " ".join(switches), " ".join(links))
        return time.process_time() - begun

    small = min(seconds(200) for _ in range(5))
    assert min(seconds(4000) for _ in range(3)) < 20 * small * 5
