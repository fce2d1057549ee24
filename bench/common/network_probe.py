"""Bring networks up inside private namespaces and print what they deliver, as one JSON line."""

import json
import sys
import time

from emu.isolation import isolate
from emu.network.live import open_network
from emu.network.measure import measure_network
from netcosim.scenario import build_scenario
from topo.catalogue import build_spec
from topo.spec import NetSpec

RATE = "200mbit"


def _star(servers: int, workers: int) -> NetSpec:
    scenario = build_scenario(
        {
            "name": "bench",
            "cluster": {
                "topology": "star",
                "servers": servers,
                "workers": workers,
                "link": {"rate": RATE, "model": "fair"},
            },
            "workload": [{"name": "w", "set": "mixed8"}],
            "transport": [{"name": "t", "sender": "grpc", "receiver": "grpc"}],
        }
    )
    return build_spec(scenario.cluster)


def _jain(workers: int) -> float:
    with open_network(_star(1, workers)) as live:
        return measure_network(live).shares[0].jain


def _up_seconds(hosts: int) -> float:
    spec = _star(hosts // 2, hosts - hosts // 2)
    begin = time.monotonic()
    with open_network(spec):
        return time.monotonic() - begin


def main() -> None:
    """Measure everything."""
    isolate.ensure_isolated([sys.executable, "-m", "bench.common.network_probe"])
    found = {"up_64_s": _up_seconds(64), "jain": {str(n): _jain(n) for n in (2, 3, 4, 8)}}
    print(json.dumps(found))


if __name__ == "__main__":
    main()
