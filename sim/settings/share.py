"""Check that the share strategy supports the network's servers and ports."""

import numpy as np

from netcosim.errors import ScenarioError
from netcosim.units import format_rate
from sim.plan import Network


def check_share(network: Network) -> None:
    """Refuse servers, and workers' ports, that the network's share strategy would ignore.

    Raises
    ------
    ScenarioError
        Too many servers, or a worker's port that is slower than a server's.
    """
    servers = len(network.server_bps)
    if network.share == "two_servers" and servers > 2:
        allowed = f"is for two servers, not {servers}; take equal or max_min"
        raise ScenarioError.at("training.share", network.share, allowed)
    slow = np.flatnonzero(network.worker_bps < network.server_bps.max())
    if network.share != "max_min" and len(slow):
        worker, server = int(slow[0]), int(network.server_bps.argmax())
        rates = network.worker_bps[worker], network.server_bps[server]
        slower, faster = (format_rate(int(rate)) for rate in rates)
        allowed = (
            f"does not look at workers' links, and w{worker} has {slower} where s{server} has"
            f" {faster}; take max_min"
        )
        raise ScenarioError.at("training.share", network.share, allowed)
