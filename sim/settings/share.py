"""The share strategy of a network: chosen where it is not given, checked where it is."""

from collections.abc import Iterable
from typing import Final

import numpy as np

from netcosim.errors import ScenarioError
from netcosim.units import format_rate
from sim.plan import Network
from sim.shares import load_share, most_servers, share_names

RIGHT_FOR_ALL: Final = "max_min"
"""Share strategy that is right for any network."""

RIGHT_FOR_ONE_SERVER: Final = "equal"
"""The cheaper one that gives the same where one server's port alone limits connections."""

_IN_WORDS: Final = {1: "one server", 2: "two servers"}


def check_share(network: Network) -> None:
    """Refuse servers, and workers' ports, that the network's share strategy would ignore.

    Raises
    ------
    ScenarioError
        Too many servers, or a worker's port that is slower than a server's.
    """
    servers, most = len(network.server_bps), most_servers(network.share)
    if most is not None and servers > most:
        others = _any_of(name for name in share_names() if most_servers(name) is None)
        allowed = f"is for {_IN_WORDS.get(most, f'{most} servers')}, not {servers}; take {others}"
        raise ScenarioError.at("training.share", network.share, allowed)
    slow = np.flatnonzero(network.worker_bps < network.server_bps.max())
    if not load_share(network.share).USES_WORKER_PORTS and len(slow):
        worker, server = int(slow[0]), int(network.server_bps.argmax())
        rates = network.worker_bps[worker], network.server_bps[server]
        slower, faster = (format_rate(int(rate)) for rate in rates)
        others = _any_of(name for name in share_names() if load_share(name).USES_WORKER_PORTS)
        allowed = (
            f"does not look at workers' links, and w{worker} has {slower} where s{server} has"
            f" {faster}; take {others}"
        )
        raise ScenarioError.at("training.share", network.share, allowed)


def _any_of(names: Iterable[str]) -> str:
    return " or ".join(names)


def right_share(networks: Iterable[Network]) -> str:
    """Choose the cheapest share strategy that is right for all of these networks.

    With one server and no worker's port that is slower than the server's, n connections get 1/n
    of the server's port, whichever strategy is asked.
    """
    alone = all(
        len(network.server_bps) == 1 and bool((network.worker_bps >= network.server_bps[0]).all())
        for network in networks
    )
    return RIGHT_FOR_ONE_SERVER if alone else RIGHT_FOR_ALL


def overfilled(network: Network) -> str:
    """Describe a worker's port that this share strategy may let carry more than its rate.

    Returns
    -------
    A clause for a person, of the slowest port; empty if there is none.
    """
    from_servers_bps = int(network.server_bps.sum())
    worker = int(network.worker_bps.argmin())
    port_bps = int(network.worker_bps[worker])
    if not load_share(network.share).MAY_OVERFILL or port_bps >= from_servers_bps:
        return ""
    return (
        f"share {network.share} does not look at workers' links: w{worker} has"
        f" {format_rate(port_bps)}, and may get {format_rate(from_servers_bps)} from all servers"
        f" at once; {RIGHT_FOR_ALL} keeps to it"
    )
