"""Cases of the root tests, run inside namespaces; each function returns plain values."""

import re
import subprocess
import time
from pathlib import Path
from typing import Any

import numpy as np

from emu.network import LiveNetwork, commands, measure_and_verify, open_network, readback
from emu.network.probe_processes import ask_at_once, asking, serving
from emu.network.punctuality import VIRTUAL
from netcosim.errors import NetcosimError, NetworkError
from netcosim.scenario import ClusterSpec
from topo.catalogue import build_spec
from topo.mininet_build import Host, Link, LinuxBridge

Json = dict[str, Any]


def cluster(**settings: Any) -> ClusterSpec:
    return ClusterSpec.model_validate({"link": {"rate": "100mbit"}, **settings})


def walk(**settings: Any) -> Json:
    """The live net as Mininet sees it, and what every host reaches."""
    asked = cluster(**settings)
    spec = build_spec(asked)
    with open_network(spec, tcp=asked.tcp) as live:
        net = live.mininet
        links = [sorted([link.intf1.node.name, link.intf2.node.name]) for link in net.links]
        pings = [
            live.popen(
                worker.name,
                ["ping", "-n", "-c", "1", "-W", "2", live.address(server.name)],
                stdout=subprocess.DEVNULL,
            )
            for worker in spec.workers
            for server in spec.servers
        ]
        answered = [ping.wait(timeout=240) == 0 for ping in pings]
        inside = {host.name: host.cmd("ls /sys/class/net").split() for host in net.hosts}
        return {
            "hosts": sorted(host.name for host in net.hosts),
            "strangers": [
                *(str(host) for host in net.hosts if not isinstance(host, Host)),
                *(str(switch) for switch in net.switches if not isinstance(switch, LinuxBridge)),
                *(str(link) for link in net.links if not isinstance(link, Link)),
            ],
            "switches": sorted(switch.name for switch in net.switches),
            "links": sorted(links),
            "planned_links": sorted(sorted([link.a, link.b]) for link in spec.links),
            "planned_nodes": sorted(spec.node_names),
            "interfaces": {name: sorted(found) for name, found in inside.items()},
            "named": {host: live.interface(host) for host in live.hosts},
            "answered": answered,
        }


def host_interfaces_after() -> list[str]:
    """Remains in the namespace of a network that was closed."""
    spec = build_spec(cluster(topology="racks", servers=2, workers=2))
    with open_network(spec):
        pass
    return sorted(path.name for path in Path("/sys/class/net").iterdir())


def refused(**settings: Any) -> list[str]:
    """The error that opening ends with, and the interfaces there are then."""
    asked = cluster(**settings)
    try:
        with open_network(build_spec(asked), tcp=asked.tcp):
            return ["opened"]
    except NetcosimError as problem:
        left = sorted(path.name for path in Path("/sys/class/net").iterdir())
        return [type(problem).__name__, str(problem), *left]


def tampered() -> str | None:
    """Message of the read-back on a class that is not as it was made."""
    spec = build_spec(cluster(topology="star"))
    with open_network(spec) as live:
        place = next(p for p in live._applied.places if p.interface == "b0-eth1")
        change = "class change dev b0-eth1 parent 2:1 classid 2:10 htb rate 5mbit ceil 7mbit"
        commands.run(["tc", *change.split()])
        found = readback.ReadBack(
            qdiscs=readback.parse_qdiscs(commands.run(["tc", "-j", "qdisc", "show"]))["b0-eth1"],
            classes=readback.parse_classes(commands.run(["tc", "class", "show", "dev", "b0-eth1"])),
        )
        return readback.mismatch(place.shape, "b0-eth1", found)


def usual_bps(samples: list[list[int]]) -> float:
    """The median rate of a transfer's twentieths behind its first third: pauses take few of them.

    `samples` are times in ns and bytes so far; see `emu.remote.link_probe.receive`.
    """
    time_ns, size = np.array(samples).T
    edges = np.linspace(time_ns[0] + (time_ns[-1] - time_ns[0]) / 3, time_ns[-1], 21)
    return float(np.median(8e9 * np.diff(np.interp(edges, time_ns, size)) / np.diff(edges)))


def buckets(**settings: Any) -> list[tuple[int, int, int]]:
    """Rate, bytes and ticks in the kernel of each bucket on the first server's interface."""
    asked = cluster(**settings)
    with open_network(build_spec(asked), tcp=asked.tcp, punctuality=VIRTUAL) as live:
        (shape,) = (p.shape for p in live._applied.places if p.interface == "s0-eth0")
        show = ["tc", "-raw", "-details", "class", "show", "dev", "s0-eth0"]
        tc = live.popen("s0", show, stdout=subprocess.PIPE, text=True)
        shown = tc.communicate()[0]
    told = re.findall(r"class htb (\S+) .* buffer \[(\w+)\] cbuffer \[(\w+)\]", shown)
    kernel = {classid: (int(buffer, 16), int(cbuffer, 16)) for classid, buffer, cbuffer in told}
    return [
        each
        for made in shape.classes
        for each in (
            (made.rate_bps, made.burst_bytes, kernel[made.classid][0]),
            (made.ceil_bps, made.cburst_bytes, kernel[made.classid][1]),
        )
    ]


def shares(**settings: Any) -> Json:
    """Bytes of each worker while all pull at once, and counters of the shared interface."""
    asked = cluster(**settings)
    spec = build_spec(asked)
    workers = [worker.name for worker in spec.workers]
    with open_network(spec, tcp=asked.tcp) as live, serving(live, ["s0"]):
        before = live.counters()
        answers = ask_at_once(live, "s0", workers, {"do": "down", "seconds": 1.0})
        after = live.counters()
        samples = {worker: answer["samples"] for worker, answer in answers.items()}
        begin = max(s[0][0] for s in samples.values()) + 300_000_000
        end = min(s[-1][0] for s in samples.values())
        return {
            "bytes": {
                worker: [s[1] for s in found if s[0] <= end][-1]
                - [s[1] for s in found if s[0] <= begin][-1]
                for worker, found in samples.items()
            },
            "usual_bps": {worker: usual_bps(found) for worker, found in samples.items()},
            "sent": after["s0-eth0"]["sent_bytes"] - before["s0-eth0"]["sent_bytes"],
            "drops": after["s0-eth0"]["queue_drops"] - before["s0-eth0"]["queue_drops"],
            "received": sum(found[-1][1] for found in samples.values()),
        }


def blocked_bytes(options: Json, **settings: Any) -> Json:
    """Bytes past a blocked sender for socket options, and the congestion control in use."""
    asked = cluster(**settings)
    with (
        open_network(build_spec(asked), tcp=asked.tcp) as live,
        serving(live, ["s0"]),
        asking(live, "s0", "w0") as ask,
    ):
        answer = ask({"do": "down", "seconds": 0.4, "options": options})
        trips = ask({"do": "rtt", "seconds": 0.05})["round_trips_ns"]
        return {**answer["sender"], "trips": len(trips), "record": live.record()}


def verified(**settings: Any) -> Json:
    """A network measured and found as asked for."""
    asked = cluster(**settings)
    with open_network(build_spec(asked), tcp=asked.tcp) as live:
        measured, attempts = measure_and_verify(live, asked.tcp)
        return {"measured": measured.record(), "attempts": attempts}


def start_64_hosts() -> Json:
    """A star of 64 hosts that forwards from one end to the other."""
    start = time.monotonic()
    with open_network(build_spec(cluster(topology="star", servers=2, workers=62))) as live:
        up_s = time.monotonic() - start
        argv = ["ping", "-n", "-c", "1", "-W", "2", live.address("s1")]
        ping = live.popen("w61", argv, stdout=subprocess.DEVNULL)
        return {"hosts": len(live.mininet.hosts), "ping": ping.wait(timeout=240), "up_s": up_s}


def shell_killed_while_up() -> list[str]:
    """Message of a host whose Mininet shell was killed, and True if closing still ends."""
    said = []
    with open_network(build_spec(cluster(topology="star"))) as live:
        live.check_alive()
        live.mininet.get("w0").shell.kill()
        live.mininet.get("w0").shell.wait()
        for attempt in (live.check_alive, lambda: live.popen("w0", ["true"])):
            try:
                attempt()
            except NetworkError as problem:
                said.append(str(problem))
    return said


def children_after_close() -> Json:
    """True if a host's process and its own child outlive the network."""
    live: LiveNetwork
    with open_network(build_spec(cluster())) as live:
        child = live.popen("w0", ["sh", "-c", "sleep 1000 & sleep 1000"])
        deadline = time.monotonic() + 600
        while _running("sleep") < 2 and time.monotonic() < deadline:
            time.sleep(0.01)
        before = _running("sleep")
    live.close()
    deadline = time.monotonic() + 600
    while _running("sleep") and time.monotonic() < deadline:
        time.sleep(0.01)
    return {"before": before, "after": _running("sleep"), "returncode": child.returncode}


def names_in_use(seconds: float) -> list[str]:
    """Two of these at the same time must not see each other."""
    with open_network(build_spec(cluster(topology="star", workers=2))) as live:
        time.sleep(seconds)
        argv = ["ping", "-n", "-c", "2", "-i", "0.2", "-W", "2", live.address("s0")]
        assert live.popen("w1", argv, stdout=subprocess.DEVNULL).wait(timeout=240) == 0
        return sorted(path.name for path in Path("/sys/class/net").iterdir())


def _running(program: str) -> int:
    found = 0
    for process in Path("/proc").iterdir():
        if process.name.isdigit():
            try:
                found += (process / "exe").readlink().name in (program, "coreutils") and (
                    process / "stat"
                ).read_text().rpartition(")")[2].split()[0] != "Z"
            except OSError:
                continue
    return found
