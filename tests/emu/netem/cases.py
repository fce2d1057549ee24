"""Cases on a kernel that has netem; called in private namespaces."""

import json
import os
import subprocess
import time
from typing import Any

from emu.endpoints import Connection, Place, StreamRequest, pair
from emu.network import LiveNetwork, open_network
from emu.network.expected import expected_goodput_bps
from emu.network.probe_processes import asking, serving
from emu.network.rate_readings import goodput_bps, steady
from netcosim.errors import EnvironmentRefusedError
from netcosim.scenario import ClusterSpec, TcpSpec, TransportSpec
from topo.catalogue import build_spec
from topo.paths import bottleneck_bps, path_between
from topo.spec import NetSpec

Json = dict[str, Any]

_PORT = 4711
# A slow guest delays packets, at which cubic leaves its slow start (HyStart): then a message may
# wait for TCP's window, not for HTTP/2's. Reno leaves it at a loss.
_UNHURRIED = "reno"


def refusal(cluster: Json) -> str | None:
    """Refusal of a network that this kernel can't emulate; None if it is brought up."""
    try:
        with open_network(_plan(cluster)):
            return None
    except EnvironmentRefusedError as refused:
        return str(refused)


def observe(cluster, round_trips_s, downloads_s, burst) -> Json:
    """Bring up a network and see what it does to round trips, downloads and messages.

    `downloads_s` are seconds by worker; `burst` has ``worker``, ``size_bytes`` and ``windows``.
    """
    with open_network(_plan(cluster)) as live, serving(live, ["s0"]):
        workers = [worker.name for worker in live.spec.workers]
        paths = {w: _path(live, w, round_trips_s, downloads_s.get(w)) for w in workers}
        counters = live.counters()
        return {
            "kernel": os.uname().release,
            "paths": paths,
            "counted": {worker: counters[_entrance(live, worker)] for worker in workers},
            "qdiscs": {host: _qdiscs(live, host) for host in live.hosts},
            "bursts_ns": _bursts(live, **burst),
        }


def _path(live: LiveNetwork, worker: str, round_trips_s: float, download_s: float | None) -> Json:
    with asking(live, "s0", worker) as ask:
        found = ask({"do": "rtt", "seconds": round_trips_s})
        if download_s is not None:
            samples = ask({"do": "down", "seconds": download_s})["samples"]
            rate = bottleneck_bps(path_between(live.spec, "s0", worker))
            found["goodput_bps"] = goodput_bps(steady(samples))
            found["expected_bps"] = expected_goodput_bps(rate)
    return found


def _entrance(live: LiveNetwork, worker: str) -> str:
    """Name the interface through which packets enter the worker's link."""
    ends = live.record()["links"][worker]["ends"]
    return next(end["interface"] for node, end in ends.items() if node != worker)


def _qdiscs(live: LiveNetwork, host: str) -> dict[str, Json]:
    """Read the options of the host's qdiscs by kind, with a tc of our own."""
    tc = live.popen(host, ["tc", "-j", "qdisc", "show"], stdout=subprocess.PIPE, text=True)
    text, _ = tc.communicate(timeout=240)
    return {
        qdisc["kind"]: qdisc["options"]
        for qdisc in json.loads(text)
        if qdisc["dev"] == live.interface(host)
    }


def _bursts(live, worker, size_bytes, windows) -> dict[str, int]:
    """Shortest time of a message from server to worker, by the receiver's window."""
    took = {}
    for i, window in enumerate(windows):
        transport = TransportSpec.model_validate(
            {
                **{"name": "t", "sender": "h2", "receiver": "h2", "discipline": "fifo"},
                **{"window": window, "connection_window": "16MiB", "credit": "half"},
            }
        )
        plan = pair(
            transport,
            "pull",
            worker=Place(host=worker, address=live.address(worker)),
            server=Place(host="s0", address=live.address("s0")),
            port=_PORT + i,
            tcp=TcpSpec(congestion_control=_UNHURRIED),
        )
        with Connection(plan, live.popen) as connection:
            _burst(connection, 0, size_bytes)  # leaves TCP's window open
            took[window] = min(_burst(connection, number, size_bytes) for number in (1, 2))
    return took


def _burst(connection: Connection, number: int, size_bytes: int) -> int:
    start_ns = time.time_ns() + 200_000_000
    asked = StreamRequest(tensor="t0", index=0, size_bytes=size_bytes)
    stream = connection.run_burst(number, [asked], start_ns, 20).streams[0]
    return stream.delivered_ns - stream.requested_ns


def _plan(cluster: Json) -> NetSpec:
    return build_spec(ClusterSpec.model_validate(cluster))
