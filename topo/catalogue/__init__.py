"""The catalogue of clusters: one file a topology.

To add one, add a file here with a function ``lay_out(cluster) -> NetSpec``; the first line of
its docstring is what a listing shows.

Names: servers ``s0..``, workers ``w0..``, switches ``b0..``; a link that attaches a host has the
host's name.
"""

import importlib
import pkgutil
from collections.abc import Callable
from functools import cache

from netcosim.errors import ScenarioError
from netcosim.nearest import listed, question, unknown
from netcosim.scenario import ClusterSpec
from topo.spec import NetSpec

Layout = Callable[[ClusterSpec], NetSpec]


@cache
def topologies() -> dict[str, str]:
    """Every topology by name with one line that says what it is."""
    return {name: _module_doc(name) for name in _names()}


def build_spec(cluster: ClusterSpec) -> NetSpec:
    """Lay out the cluster's topology with its links' properties.

    Raises
    ------
    ScenarioError
        A topology or a link that is not there, or numbers of hosts the topology can't have.
    """
    if cluster.topology not in _names():
        allowed = unknown(cluster.topology, _names(), "unknown topology")
        raise ScenarioError.at("cluster.topology", cluster.topology, allowed)
    layout: Layout = importlib.import_module(f"{__name__}.{cluster.topology}").lay_out
    spec = layout(cluster)
    known = [link.name for link in spec.links]
    for name in cluster.links:
        if name not in known:
            asked = question(name, known) or ";"
            allowed = f"unknown link{asked} topology {cluster.topology} has {listed(known)}"
            raise ScenarioError.at("cluster.links", name, allowed)
    return spec


@cache
def _names() -> tuple[str, ...]:
    found = (module.name for module in pkgutil.iter_modules(__path__))
    return tuple(sorted(name for name in found if not name.startswith("_")))


def _module_doc(name: str) -> str:
    doc = importlib.import_module(f"{__name__}.{name}").__doc__ or ""
    return doc.strip().splitlines()[0].replace("``", "")
