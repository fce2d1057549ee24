"""Reduce a cluster's topology to the ports of servers and workers.

The engine knows ports, not links between switches. A link in the middle is left out where it can't
be a bottleneck, and becomes part of the port where all traffic of one server, or of one
worker, goes through it. What is neither is refused.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

import numpy as np

from netcosim.errors import ScenarioError
from netcosim.nearest import unknown
from netcosim.scenario import ClusterSpec, LinkSpec, Scenario
from netcosim.training.plan import Ints
from netcosim.units import format_duration, format_rate
from sim.plan import Network
from sim.settings.share import RIGHT_FOR_ALL, check_share
from sim.shares import share_names
from topo.catalogue import build_spec
from topo.paths import paths_from
from topo.spec import NetLink, NetSpec

MOST_LAID_OUT: Final = 1024
"""Most workers laid out; of more, those whose links are alike are laid out once."""

_WORKER_LINK: Final = re.compile(r"w(0|[1-9][0-9]{0,5})", re.ASCII)


def network_of(scenario: Scenario, workers: int, *, payload_share: float = 1.0) -> Network:
    """Build the network of the first so many workers of the cluster.

    The cluster has as many workers as it says, or as the largest run of the training if that is
    more; exceptions under ``cluster.links`` hold for those that take part.

    Parameters
    ----------
    scenario : its cluster and its training's share; where that is not set, one that is right for
        any network
    workers : that take part
    payload_share : what part of a link's rate carries messages; 1448/1514 for TCP in full frames

    Raises
    ------
    ScenarioError
        A topology or link that is not there, or what this share strategy can't express.
    """
    training = scenario.training
    allowed = share_names()
    if training.share is not None and training.share not in allowed:
        raise ScenarioError.at("training.share", training.share, unknown(training.share, allowed))
    size = max(scenario.cluster.workers, workers, *(training.workers or ()))
    laid_out, standing_for = _laid_out(scenario.cluster, size)
    ports = _Ports.of(build_spec(laid_out), standing_for[:workers])
    ports.fold_middle(scenario.cluster.topology)
    network = Network(
        share=training.share or RIGHT_FOR_ALL,
        server_bps=_scaled(ports.server_bps, payload_share),
        worker_bps=_scaled(ports.worker_bps, payload_share)[standing_for[:workers]],
        delay_ns=np.array(ports.delay_ns, dtype=np.int64)[standing_for[:workers]],
        both_busy=training.both_busy,
    )
    check_share(network)
    return network


def _laid_out(cluster: ClusterSpec, size: int) -> tuple[ClusterSpec, Ints]:
    """A cluster with at most `MOST_LAID_OUT` workers, and which of them stands for each worker."""
    if size <= MOST_LAID_OUT:
        return cluster.model_copy(update={"workers": size}), np.arange(size, dtype=np.int64)
    own = {name: link for name, link in cluster.links.items() if _WORKER_LINK.fullmatch(name)}
    kinds: list[LinkSpec] = []
    standing_for = np.full(size, MOST_LAID_OUT - 1, dtype=np.int64)
    for name, link in own.items():
        worker = int(name[1:])
        if worker >= size:
            raise ScenarioError.at(
                "cluster.links", name, f"unknown link; there are w0 to w{size - 1}"
            )
        if link not in kinds:
            kinds.append(link)
        standing_for[worker] = kinds.index(link)
    if len(kinds) >= MOST_LAID_OUT:
        allowed = f"must be < {MOST_LAID_OUT} different ones with so many workers"
        raise ScenarioError.at("cluster.links", f"{len(kinds)} links of workers", allowed)
    links = {name: link for name, link in cluster.links.items() if name not in own}
    links |= {f"w{i}": link for i, link in enumerate(kinds)}
    update = {"workers": MOST_LAID_OUT, "links": links}
    return cluster.model_copy(update=update), standing_for


@dataclass(slots=True)
class _Middle:
    """A link between switches, with the servers and workers whose traffic uses it."""

    rate_bps: int
    servers: set[int] = field(default_factory=set)
    workers: set[int] = field(default_factory=set)


@dataclass(slots=True)
class _Ports:
    """Port rates and delays of servers and of the workers that are laid out.

    `taking_part` says how many workers each of those that are laid out stands for.
    """

    server_bps: list[int]
    worker_bps: list[int]
    delay_ns: list[int]
    taking_part: Mapping[int, int]
    middle: dict[str, _Middle]

    @classmethod
    def of(cls, spec: NetSpec, standing_for: Ints) -> "_Ports":
        numbers, counts = np.unique(standing_for, return_counts=True)
        ports = cls(
            server_bps=[0] * len(spec.servers),
            worker_bps=[0] * len(spec.workers),
            delay_ns=[-1] * len(spec.workers),
            taking_part=dict(zip(numbers.tolist(), counts.tolist(), strict=True)),
            middle={},
        )
        for server, host in enumerate(spec.servers):
            paths = paths_from(spec, host.name)
            for worker in ports.taking_part:
                ports._add(server, worker, paths[spec.workers[worker].name])
        return ports

    def _add(self, server: int, worker: int, path: Sequence[NetLink]) -> None:
        for link in path:
            _check_link(link)
        self.server_bps[server] = path[0].link.rate
        self.worker_bps[worker] = path[-1].link.rate
        delay_ns = sum(link.link.delay for link in path)
        if self.delay_ns[worker] not in (-1, delay_ns):
            both = f"{format_duration(self.delay_ns[worker])} and {format_duration(delay_ns)}"
            allowed = "a simulated worker has the same delay to every server"
            raise ScenarioError.at(f"delay of w{worker}", both, allowed)
        self.delay_ns[worker] = delay_ns
        for link in path[1:-1]:
            middle = self.middle.setdefault(link.name, _Middle(rate_bps=link.link.rate))
            middle.servers.add(server)
            middle.workers.add(worker)

    def fold_middle(self, topology: str) -> None:
        """Leave out links in the middle that can't be a bottleneck; make others part of a port.

        Raises
        ------
        ScenarioError
            One that several servers and several workers may fill.
        """
        for name, middle in self.middle.items():
            from_servers = sum(self.server_bps[s] for s in middle.servers)
            to_workers = sum(self.worker_bps[w] * self.taking_part[w] for w in middle.workers)
            if middle.rate_bps >= min(from_servers, to_workers):
                continue
            if len(middle.servers) == 1 and len(middle.workers) == len(self.taking_part):
                (server,) = middle.servers
                self.server_bps[server] = min(self.server_bps[server], middle.rate_bps)
            elif (
                len(middle.servers) == len(self.server_bps)
                and sum(self.taking_part[w] for w in middle.workers) == 1
            ):
                (worker,) = middle.workers
                self.worker_bps[worker] = min(self.worker_bps[worker], middle.rate_bps)
            else:
                needed = format_rate(min(from_servers, to_workers))
                allowed = (
                    f"link {name} of topology {topology} is shared by several servers and workers,"
                    f" which the simulator can't express; give it {needed} or more, or take star"
                )
                raise ScenarioError.at(
                    f"cluster.links.{name}.rate", format_rate(middle.rate_bps), allowed
                )


def _check_link(link: NetLink) -> None:
    if link.link.loss:
        raise ScenarioError.at(f"link {link.name}", f"loss {link.link.loss:g}", _NO_SUCH)
    if link.link.jitter:
        shown = f"jitter {format_duration(link.link.jitter)}"
        raise ScenarioError.at(f"link {link.name}", shown, _NO_SUCH)


_NO_SUCH: Final = "simulated links have rate and delay only; leave it out"


def _scaled(rates_bps: Sequence[int], share: float) -> Ints:
    return np.array([round(rate * share) for rate in rates_bps], dtype=np.int64)
