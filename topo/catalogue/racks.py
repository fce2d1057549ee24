"""Two racks joined by a link named ``uplink``: servers in the one, workers in the other."""

from netcosim.scenario import ClusterSpec
from topo.catalogue import _parts
from topo.spec import NetSpec, SwitchSpec


def lay_out(cluster: ClusterSpec) -> NetSpec:
    """Attach servers to switch ``b0``, workers to ``b1``, and join the two."""
    near, far = _parts.servers(cluster), _parts.workers(cluster)
    return NetSpec(
        hosts=(*near, *far),
        switches=tuple(SwitchSpec(name=name, kind=cluster.switch) for name in ("b0", "b1")),
        links=(
            *(_parts.join(cluster, host.name, host.name, "b0") for host in near),
            *(_parts.join(cluster, host.name, host.name, "b1") for host in far),
            _parts.join(cluster, "uplink", "b0", "b1"),
        ),
    )
