"""One server and one worker joined by one link, named ``link``, without a switch."""

from netcosim.errors import ScenarioError
from netcosim.scenario import ClusterSpec
from topo.catalogue import _parts
from topo.spec import NetSpec


def lay_out(cluster: ClusterSpec) -> NetSpec:
    """Join the two hosts."""
    for field in ("servers", "workers"):
        count = getattr(cluster, field)
        if count != 1:
            allowed = "topology pair has exactly 1; topology star has more"
            raise ScenarioError.at(f"cluster.{field}", count, allowed)
    return NetSpec(
        hosts=(*_parts.servers(cluster), *_parts.workers(cluster)),
        switches=(),
        links=(_parts.join(cluster, "link", "s0", "w0"),),
    )
