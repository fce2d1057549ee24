"""Paths between hosts: links, lowest rate, round trip, and the hosts on a side of a link."""

from collections import deque

from netcosim.errors import ScenarioError
from topo.spec import NetLink, NetSpec


def path_between(spec: NetSpec, source: str, destination: str) -> tuple[NetLink, ...]:
    """The links from one node to another, in order; empty from a node to itself.

    Raises
    ------
    ScenarioError
        A node that the network does not have.
    """
    for name in (source, destination):
        if name not in spec.node_names:
            raise ScenarioError.at(
                "path", name, f"unknown node; there are {', '.join(spec.node_names)}"
            )
    return paths_from(spec, source)[destination]


def bottleneck_bps(path: tuple[NetLink, ...]) -> int:
    """The lowest rate of a path, in bits per second."""
    return min(link.link.rate for link in path)


def round_trip_ns(path: tuple[NetLink, ...]) -> int:
    """Twice the configured one-way delays of a path, in nanoseconds; no queue, no serialisation."""
    return 2 * sum(link.link.delay for link in path)


def hosts_behind(spec: NetSpec, link: NetLink, node: str) -> frozenset[str]:
    """The hosts on the side of `link` where `node`, one of its ends, is."""
    reached = paths_from(spec, node, without=link)
    return frozenset(host.name for host in spec.hosts if host.name in reached)


def paths_from(
    spec: NetSpec, start: str, *, without: NetLink | None = None
) -> dict[str, tuple[NetLink, ...]]:
    """The path to every node that can be reached, as if the link `without` were cut."""
    links: dict[str, list[NetLink]] = {}
    for link in spec.links:
        if link is not without:
            links.setdefault(link.a, []).append(link)
            links.setdefault(link.b, []).append(link)
    paths: dict[str, tuple[NetLink, ...]] = {start: ()}
    queue = deque([start])
    while queue:
        node = queue.popleft()
        for link in links.get(node, ()):
            other = link.other(node)
            if other not in paths:
                paths[other] = (*paths[node], link)
                queue.append(other)
    return paths
