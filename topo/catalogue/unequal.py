"""A star whose workers differ: at least one worker's link has properties of its own."""

from netcosim.errors import ScenarioError
from netcosim.scenario import ClusterSpec
from topo.catalogue import star
from topo.spec import NetSpec


def lay_out(cluster: ClusterSpec) -> NetSpec:
    """Lay out a star, and insist that its workers are unequal."""
    spec = star.lay_out(cluster)
    names = {worker.name for worker in spec.workers}
    properties = [link.link for link in spec.links if link.name in names]
    if all(link == properties[0] for link in properties):
        allowed = "topology unequal needs a worker's link that differs, such as [cluster.links.w0]"
        raise ScenarioError.at("cluster.links", ", ".join(cluster.links) or "none", allowed)
    return spec
