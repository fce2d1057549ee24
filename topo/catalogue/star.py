"""Servers and workers around one switch, each on a link of its own."""

from netcosim.scenario import ClusterSpec
from topo.catalogue import _parts
from topo.spec import NetSpec, SwitchSpec


def lay_out(cluster: ClusterSpec) -> NetSpec:
    """Attach every host to switch ``b0``."""
    hosts = (*_parts.servers(cluster), *_parts.workers(cluster))
    return NetSpec(
        hosts=hosts,
        switches=(SwitchSpec(name="b0", kind=cluster.switch),),
        links=tuple(_parts.join(cluster, host.name, host.name, "b0") for host in hosts),
    )
