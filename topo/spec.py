"""The plan of a network: hosts, switches and links as plain records.

A plan is a tree: bridges without a spanning tree protocol would turn a loop into a storm, and
in a tree there is one path between two hosts.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final, Literal

from netcosim.errors import ScenarioError
from netcosim.scenario import LinkSpec

Role = Literal["server", "worker"]
SwitchKind = Literal["linuxbridge", "openvswitch"]

FRAME_BYTES: Final = 1514
"""A full Ethernet frame, as the kernel and HTB count it."""

PAYLOAD_BYTES: Final = 1448
"""TCP's part of a full frame, with time stamps."""

ACKNOWLEDGEMENT_BYTES: Final = FRAME_BYTES - PAYLOAD_BYTES
"""A frame with nothing but its headers, such as an acknowledgement."""

BOTH_WAYS_SHARE: Final = FRAME_BYTES / (FRAME_BYTES + ACKNOWLEDGEMENT_BYTES)
"""Share of its goodput that a link has while full segments go both ways, each one acknowledged."""

GOODPUT_SHARE: Final = PAYLOAD_BYTES / FRAME_BYTES
"""Share of a link's rate for messages, in full frames."""

PREFIX_BITS: Final = 16
"""Length of the network prefix that all hosts of a cluster share."""

# Linux allows 15 characters; Mininet appends "-eth" and the port's number.
_LONGEST_NODE_NAME = 15 - len("-eth000")


@dataclass(frozen=True, kw_only=True, slots=True)
class HostSpec:
    """A host of the job: a server or a worker."""

    name: str
    role: Role


@dataclass(frozen=True, kw_only=True, slots=True)
class SwitchSpec:
    """A switch, and its kind: a Linux bridge or Open vSwitch."""

    name: str
    kind: SwitchKind = "linuxbridge"


@dataclass(frozen=True, kw_only=True, slots=True)
class NetLink:
    """A link between nodes `a` and `b`, by name, with the same properties in both directions."""

    name: str
    a: str
    b: str
    link: LinkSpec

    def other(self, node: str) -> str:
        """The node at the end opposite to `node`."""
        return self.b if node == self.a else self.a


@dataclass(frozen=True, kw_only=True, slots=True)
class NetSpec:
    """A whole network, checked when built.

    Raises
    ------
    ScenarioError
        A name twice, too long or unknown; a host without exactly one link; a node that
        can't be reached; a loop.
    """

    hosts: tuple[HostSpec, ...]
    switches: tuple[SwitchSpec, ...]
    links: tuple[NetLink, ...]

    def __post_init__(self) -> None:
        """Check the plan."""
        nodes = self.node_names
        _check_names(nodes, "nodes")
        _check_names([link.name for link in self.links], "links")
        _check_ends(self.links, nodes)
        _check_host_links(self.hosts, self.links)
        _check_tree(nodes, self.links)

    @property
    def node_names(self) -> tuple[str, ...]:
        """All hosts, then all switches."""
        return (*(host.name for host in self.hosts), *(switch.name for switch in self.switches))

    @property
    def servers(self) -> tuple[HostSpec, ...]:
        """The parameter servers, in order."""
        return tuple(host for host in self.hosts if host.role == "server")

    @property
    def workers(self) -> tuple[HostSpec, ...]:
        """The workers, in order."""
        return tuple(host for host in self.hosts if host.role == "worker")


def _check_names(names: Sequence[str], field: str) -> None:
    counts = Counter(names)
    for name in names:
        if not 0 < len(name) <= _LONGEST_NODE_NAME:
            raise ScenarioError.at(field, name, f"must have 1 to {_LONGEST_NODE_NAME} characters")
        if counts[name] > 1:
            raise ScenarioError.at(field, name, "is there more than once; names must differ")


def _check_ends(links: Iterable[NetLink], nodes: Sequence[str]) -> None:
    known = frozenset(nodes)
    pairs: dict[frozenset[str], str] = {}
    for link in links:
        for end in (link.a, link.b):
            if end not in known:
                raise ScenarioError.at(
                    f"links.{link.name}", end, f"unknown node; there are {', '.join(nodes)}"
                )
        ends = frozenset((link.a, link.b))
        if len(ends) == 1:
            raise ScenarioError.at(f"links.{link.name}", link.a, "a link needs two different ends")
        if ends in pairs:
            raise ScenarioError.at(
                f"links.{link.name}", f"{link.a}-{link.b}", f"duplicates link {pairs[ends]}"
            )
        pairs[ends] = link.name


def _check_host_links(hosts: Iterable[HostSpec], links: Iterable[NetLink]) -> None:
    counts = Counter(end for link in links for end in (link.a, link.b))
    for host in hosts:
        count = counts[host.name]
        if count != 1:
            raise ScenarioError.at(f"hosts.{host.name}", f"{count} links", "must have exactly 1")


def _check_tree(nodes: Sequence[str], links: Sequence[NetLink]) -> None:
    neighbours: dict[str, list[str]] = {node: [] for node in nodes}
    for link in links:
        neighbours[link.a].append(link.b)
        neighbours[link.b].append(link.a)
    reached: set[str] = set()
    ahead = list(nodes[:1])
    while ahead:
        node = ahead.pop()
        if node not in reached:
            reached.add(node)
            ahead += neighbours[node]
    lost = [node for node in nodes if node not in reached]
    if lost:
        raise ScenarioError.at("nodes", lost[0], "is not connected to the rest")
    if len(links) != len(nodes) - 1:
        raise ScenarioError.at("links", f"{len(links)} links", "form a loop; must be a tree")
