"""Bring-up of a planned network: built, addressed, tuned, shaped, read back."""

import json
import re
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final

from emu.network import commands, readback, receive_steering, tc, tcp
from emu.network.punctuality import MACHINE, Punctuality
from netcosim.errors import NetworkError
from netcosim.scenario import TcpSpec
from topo.paths import bottleneck_bps, hosts_behind, paths_from, round_trip_ns
from topo.spec import PREFIX_BITS, HostSpec, NetLink, NetSpec

if TYPE_CHECKING:
    from topo.mininet_build import BuiltNet

PORT_GROUP: Final = 77
_OFFLOADS: Final = {
    "tso": "tcp-segmentation-offload",
    "gso": "generic-segmentation-offload",
    "gro": "generic-receive-offload",
}
_FEATURE = re.compile(r"^\s*([a-z-]+): (on|off)")
_FORWARDING: Final = "3"
_FORWARDING_TIMEOUT_S: Final = 60.0


@dataclass(frozen=True, kw_only=True, slots=True)
class Place:
    """One end of a link: its interface, the node it is in, and how it is shaped."""

    link: NetLink
    node: str
    interface: str
    shape: tc.Shape


@dataclass(frozen=True, kw_only=True, slots=True)
class Applied:
    """A network as brought up, with what was read back of it.

    `steering` says which processor handles what every interface receives.
    """

    built: "BuiltNet"
    places: tuple[Place, ...]
    sysctls: dict[str, dict[str, str]]
    offloads: dict[str, dict[str, str]]
    steering: receive_steering.Steering


def bring_up(
    spec: NetSpec,
    tcp_settings: TcpSpec,
    log: Callable[[str], None],
    punctuality: Punctuality = MACHINE,
) -> Applied:
    """Build and configure the network; the caller tears down `Applied.built`.

    What fails, or is interrupted, leaves no process behind.

    Raises
    ------
    NetworkError
        A command failed, or something reads back different from what was asked for.
    """
    from topo.mininet_build import (
        build_net,
        destroy_net,
    )  # only here: planning is quick without Mininet

    log(f"building {len(spec.hosts)} hosts, {len(spec.links)} links")
    tcp.quiet_namespace()
    built = build_net(spec)
    try:
        return _configured(spec, tcp_settings, built, log, punctuality)
    except BaseException as failure:
        try:
            if isinstance(failure, Exception):
                for node in spec.node_names:
                    built.pid(node)  # raises if its shell died, which is why all else failed
        finally:
            destroy_net(built.net)
        raise


def _configured(
    spec: NetSpec,
    tcp_settings: TcpSpec,
    built: "BuiltNet",
    log: Callable[[str], None],
    punctuality: Punctuality,
) -> Applied:
    places = _places(spec, built, punctuality)
    ends = [(built.pid(place.node), place.interface) for place in places]
    steering = receive_steering.steer_interfaces(ends)
    log("addresses, TCP settings, shaping")
    sysctls, offloads = {}, {}
    for host in spec.hosts:
        reach = _reach(spec, host)
        chosen = tcp.choose_sysctls(tcp_settings, *reach, punctuality)
        if punctuality.most_segments(spec):
            chosen |= tcp.ONE_AFTER_THE_OTHER
        route = partial(
            tcp.route,
            built.host_interface(host.name),
            built.addresses[host.name],
            PREFIX_BITS,
            congestion_control=tcp_settings.congestion_control,
            window_bytes=tcp.window_clamp(tcp_settings, *reach),
            acknowledges_each=punctuality.prompt,
            initial_segments=punctuality.initial_segments(*reach),
        )
        neighbours = _neighbours(spec, host, built)

        sysctls[host.name] = commands.within(
            built.pid(host.name), partial(_configure, chosen, route, neighbours)
        )
    for node in spec.node_names:
        mine = [place for place in places if place.node == node]
        offloads.update(commands.within(built.pid(node), partial(_shape, mine, punctuality)))
    _ports_ready(spec, places)
    return Applied(
        built=built,
        places=places,
        sysctls=sysctls,
        offloads=offloads,
        steering=steering,
    )


def _configure(
    chosen: dict[str, str], route: Callable[[], None], arp: list[list[str]]
) -> dict[str, str]:
    tcp.quiet_namespace()
    found = tcp.apply_sysctls(chosen)
    route()
    commands.run_batch("ip", arp)
    return found


def _places(spec: NetSpec, built: "BuiltNet", punctuality: Punctuality) -> tuple[Place, ...]:
    return tuple(
        Place(
            link=link,
            node=node,
            interface=built.interfaces[link.name, node],
            shape=tc.plan_shape(
                link.link, _crossing(spec, link, node, built.addresses), punctuality
            ),
        )
        for link in spec.links
        for node in (link.a, link.b)
    )


def _crossing(spec: NetSpec, link: NetLink, node: str, addresses: dict[str, str]) -> list[tc.Match]:
    """The workers whose exchange with a server leaves `node` over `link`."""
    behind = hosts_behind(spec, link, node)
    found: list[tc.Match] = []
    ways: tuple[tuple[tc.Side, bool], ...] = (("dst", False), ("src", True))
    for side, inside in ways:
        servers = [addresses[s.name] for s in spec.servers if (s.name in behind) != inside]
        workers = [addresses[w.name] for w in spec.workers if (w.name in behind) == inside]
        peers = tuple(servers) if len(servers) > 1 else ()
        found += [
            tc.Match(address=address, side=side, peers=peers) for address in workers if servers
        ]
    return found


def _reach(spec: NetSpec, host: HostSpec) -> tuple[int, int]:
    """A host's highest rate to a peer, bits a second, and its longest round trip, ns."""
    reached = paths_from(spec, host.name)
    paths = [reached[peer.name] for peer in spec.hosts if peer != host]
    return max(bottleneck_bps(path) for path in paths), max(round_trip_ns(path) for path in paths)


def _neighbours(spec: NetSpec, host: HostSpec, built: "BuiltNet") -> list[list[str]]:
    """Commands that set static ARP entries, so that no burst begins with an ARP request."""
    device = built.host_interface(host.name)
    return [
        f"neigh replace {built.addresses[peer.name]} lladdr {built.macs[peer.name]} "
        f"dev {device} nud permanent".split()
        for peer in spec.hosts
        if peer != host
    ]


def _shape(places: list[Place], punctuality: Punctuality) -> dict[str, dict[str, str]]:
    """Turn offloads off and shaping on for all interfaces of one namespace, and read back both."""
    offloads = {}
    for place in places:
        words = [word for short in _OFFLOADS for word in (short, "off")]
        commands.run(["ethtool", "-K", place.interface, *words])
        # TCP bunches 64 kB even for an interface without TSO or GSO, and they are cut up only
        # behind the queues: 45 frames would come at once, every 4 ms at 100 Mbit/s.
        link = place.link.link
        bunch = str(punctuality.bunch_segments(link.rate, link.loss))
        commands.run(["ip", "link", "set", "dev", place.interface, "gso_max_segs", bunch])
        offloads[place.interface] = _read_offloads(place.interface, bunch)
    commands.run_batch("tc", [c for p in places for c in p.shape.commands(p.interface)])
    qdiscs = readback.parse_qdiscs(commands.run(["tc", "-j", "-s", "qdisc", "show"]))
    for place in places:
        classes = commands.run(["tc", "class", "show", "dev", place.interface])
        found = readback.ReadBack(
            qdiscs=qdiscs.get(place.interface, {}), classes=readback.parse_classes(classes)
        )
        problem = readback.mismatch(place.shape, place.interface, found)
        if problem:
            raise NetworkError(problem)
    return offloads


def _read_offloads(interface: str, bunch: str) -> dict[str, str]:
    found = {}
    for line in commands.run(["ethtool", "-k", interface]).splitlines():
        match = _FEATURE.match(line)
        if match and match[1] in _OFFLOADS.values():
            found[match[1]] = match[2]
    for name in _OFFLOADS.values():
        if found.get(name) != "off":
            raise NetworkError(f"ethtool -K {interface}: {name} is {found.get(name)}, not off")
    details = json.loads(commands.run(["ip", "-d", "-j", "link", "show", "dev", interface]))[0]
    found["gso_max_segs"] = str(details["gso_max_segs"])
    if found["gso_max_segs"] != bunch:
        got = found["gso_max_segs"]
        raise NetworkError(f"ip link set dev {interface} gso_max_segs {bunch}: is {got}")
    return found


def _ports_ready(spec: NetSpec, places: tuple[Place, ...]) -> None:
    """Set up switch ports, and wait until Linux bridges forward: what comes earlier is lost."""
    switches = {switch.name: switch.kind for switch in spec.switches}
    ports = [place.interface for place in places if place.node in switches]
    batch = [["link", "set", "dev", port, "group", str(PORT_GROUP)] for port in ports]
    for name, kind in switches.items():
        if kind == "linuxbridge":
            batch.append(["link", "set", "dev", name, "type", "bridge", "mcast_snooping", "0"])
    commands.run_batch("ip", batch)
    deadline = time.monotonic() + _FORWARDING_TIMEOUT_S
    waiting = [p.interface for p in places if switches.get(p.node) == "linuxbridge"]
    while waiting:
        waiting = [port for port in waiting if not _forwards(port)]
        if waiting and time.monotonic() > deadline:
            raise NetworkError(f"bridge port {waiting[0]} does not forward")
        time.sleep(0.005 if waiting else 0)


def _forwards(port: str) -> bool:
    try:
        state = Path(f"/sys/class/net/{port}/brport/state").read_text().strip()
    except OSError:
        return False
    return state == _FORWARDING
