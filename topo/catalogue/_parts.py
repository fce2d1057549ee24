"""Parts of all layouts: names of hosts, and links with their exceptions."""

from netcosim.scenario import ClusterSpec
from topo.spec import HostSpec, NetLink


def servers(cluster: ClusterSpec) -> tuple[HostSpec, ...]:
    """The servers ``s0``, ``s1``, and so on."""
    return tuple(HostSpec(name=f"s{i}", role="server") for i in range(cluster.servers))


def workers(cluster: ClusterSpec) -> tuple[HostSpec, ...]:
    """The workers ``w0``, ``w1``, and so on."""
    return tuple(HostSpec(name=f"w{i}", role="worker") for i in range(cluster.workers))


def join(cluster: ClusterSpec, name: str, a: str, b: str) -> NetLink:
    """A link with the properties given for its name, or those for all."""
    return NetLink(name=name, a=a, b=b, link=cluster.links.get(name, cluster.link))
