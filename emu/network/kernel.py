"""Kernel features that networks need, tested in a network namespace of its own."""

import socket
import struct
from dataclasses import dataclass
from typing import Final

from emu.network import commands, openvswitch
from netcosim.errors import EnvironmentRefusedError, NetworkError
from netcosim.scenario import TcpSpec
from netcosim.units import format_duration
from topo.spec import NetSpec

_PROBE: Final = "probe0"
_QDISCS: Final = {
    "htb": ["htb", "default", "f"],
    "bfifo": ["bfifo", "limit", "30000"],
    "netem": ["netem", "delay", "1ms"],
}
_NETLINK_GENERIC, _GENL_ID_CTRL, _CTRL_CMD_GETFAMILY, _CTRL_ATTR_FAMILY_NAME = 16, 16, 3, 2
_NLM_F_REQUEST, _NLMSG_ERROR = 1, 2


@dataclass(frozen=True, kw_only=True, slots=True)
class Kernel:
    """Tested features by name, each with why it is missing; an empty reason means present."""

    missing: dict[str, str]

    def has(self, feature: str) -> bool:
        """True if the feature was seen working."""
        return self.missing.get(feature, "was not tried") == ""


def probe_kernel(congestion_controls: tuple[str, ...] = ()) -> Kernel:
    """Try every feature in a fresh network namespace; needs root, changes nothing outside."""
    return commands.within(None, lambda: Kernel(missing=_try_all(congestion_controls)))


def check_kernel(spec: NetSpec, tcp: TcpSpec) -> Kernel:
    """Refuse what the plan needs and this kernel lacks, before anything is built.

    Raises
    ------
    EnvironmentRefusedError
        Names the link or setting, the feature and the kernel's answer.
    """
    commands.check_tools()
    kernel = probe_kernel((tcp.congestion_control,))
    for feature in ("veth", "htb", "bfifo", "u32"):
        _need(kernel, feature, "shaping any link")
    for plan in spec.links:
        if plan.link.needs_netem:
            needed_by = (
                f"link {plan.name} (delay {format_duration(plan.link.delay)}, "
                f"jitter {format_duration(plan.link.jitter)}, loss {plan.link.loss:g})"
            )
            _need(kernel, "netem", needed_by)
    for switch in spec.switches:
        feature = "bridge" if switch.kind == "linuxbridge" else "openvswitch"
        _need(kernel, feature, f"switch {switch.name}")
    if openvswitch.is_wanted(spec):
        openvswitch.check_tools()
    _need(kernel, f"congestion control {tcp.congestion_control}", "cluster.tcp.congestion_control")
    return kernel


def _need(kernel: Kernel, feature: str, needed_by: str) -> None:
    if not kernel.has(feature):
        raise EnvironmentRefusedError(
            f"{needed_by} needs {feature}, which this kernel lacks: {kernel.missing[feature]}"
        )


def _try_all(congestion_controls: tuple[str, ...]) -> dict[str, str]:
    pair = ["ip", "link", "add", _PROBE, "type", "veth", "peer", "name", "probe1"]
    missing = {"veth": _try(pair)}
    for name, words in _QDISCS.items():
        # htb last in effect: the filter below hangs on it.
        missing[name] = _try(["tc", "qdisc", "replace", "dev", _PROBE, "root", *words])
    _try(["tc", "qdisc", "replace", "dev", _PROBE, "root", "handle", "2:", *_QDISCS["htb"]])
    rule = ["filter", "add", "dev", _PROBE, "parent", "2:", "protocol", "ip", "prio", "1"]
    match = ["u32", "match", "ip", "dst", "10.0.0.1/32", "flowid", "2:f"]
    missing["u32"] = _try(["tc", *rule, *match])
    missing["bridge"] = _try(["ip", "link", "add", "probe2", "type", "bridge"])
    missing["openvswitch"] = _openvswitch()
    for name in congestion_controls:
        missing[f"congestion control {name}"] = _congestion_control(name)
    return missing


def _try(argv: list[str]) -> str:
    try:
        commands.run(argv)
    except NetworkError as problem:
        return str(problem)
    return ""


def _congestion_control(name: str) -> str:
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as sock:
        try:
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, name.encode())
        except OSError as problem:
            return f"setting TCP_CONGESTION: {problem.strerror}"
    return ""


def _openvswitch() -> str:
    """Ask for the generic netlink family, which also loads the module where there is one."""
    name = b"ovs_datapath\0"
    attribute = struct.pack("=HH", 4 + len(name), _CTRL_ATTR_FAMILY_NAME) + name
    attribute += bytes(-len(attribute) % 4)
    body = struct.pack("=BBH", _CTRL_CMD_GETFAMILY, 1, 0) + attribute
    header = struct.pack("=IHHII", 16 + len(body), _GENL_ID_CTRL, _NLM_F_REQUEST, 1, 0)
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, _NETLINK_GENERIC) as sock:
        sock.send(header + body)
        answer = sock.recv(65536)
    if struct.unpack_from("=H", answer, 4)[0] == _NLMSG_ERROR:
        return "there is no kernel module openvswitch"
    return ""
