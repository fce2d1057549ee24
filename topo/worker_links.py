"""Links of single hosts: find a host's, and change those of workers."""

from collections.abc import Sequence
from dataclasses import replace

from topo.spec import NetLink, NetSpec


def host_link(spec: NetSpec, host: str) -> NetLink:
    """The one link of a host."""
    return next(link for link in spec.links if host in (link.a, link.b))


def with_worker_links(
    spec: NetSpec, rates_bps: Sequence[int], more_delay_ns: Sequence[int]
) -> NetSpec:
    """The network with these rates of its first workers' links, and so much more delay one way."""
    links = {link.name: link for link in spec.links}
    for worker, rate_bps, more_ns in zip(spec.workers, rates_bps, more_delay_ns, strict=False):
        found = host_link(spec, worker.name)
        update = {"rate": rate_bps, "delay": found.link.delay + more_ns}
        links[found.name] = replace(found, link=found.link.model_copy(update=update))
    return replace(spec, links=tuple(links.values()))
