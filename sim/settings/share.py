"""Check that the share strategy supports the network's servers and ports."""

from collections.abc import Iterable
from typing import Final

import numpy as np

from netcosim.errors import ScenarioError
from netcosim.units import format_rate
from sim.plan import Network
from sim.shares import load_share, most_servers, share_names

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
