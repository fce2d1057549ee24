"""Builds the Mininet network of a plan; no other module does.

Every host, switch and link of a run is a Mininet object made here. Mininet's own traffic shaping
is not used: it ignores rates above 1 Gbit/s, fixes the token bucket, and carries on after
errors. Its ``fixLimits`` is kept from running, for it rewrites the host's sysctls. Teardown goes
around the shells of its nodes, since a shell that was killed would be waited for.
"""

import contextlib
import logging
import os
import select
import signal
import warnings
from dataclasses import dataclass
from typing import Any, Final

with warnings.catch_warnings():  # Mininet imports distutils, which warns until Python 3.12
    warnings.simplefilter("ignore", DeprecationWarning)
    from mininet.link import Link
    from mininet.log import lg
    from mininet.net import Mininet
    from mininet.node import Host, OVSBridge
    from mininet.nodelib import LinuxBridge

from netcosim.errors import NetworkError
from topo.addresses import address_of, mac_of
from topo.spec import PREFIX_BITS, NetSpec

_SHELL_POLL_MS: Final = 200


class _WatchedShell:
    """Mixin of Mininet nodes: waiting for a shell that has died raises instead of hanging."""

    name: str
    shell: Any
    stdout: Any

    def read(self, size: int = 1024) -> str:
        """Read from the shell; everything Mininet waits for comes through here."""
        poll = select.poll()
        poll.register(self.stdout, select.POLLIN)
        while not poll.poll(_SHELL_POLL_MS):
            if self.shell.poll() is not None:
                raise NetworkError(f"{self.name}: its Mininet shell died")
        text: str = super().read(size)  # type: ignore[misc] # mixed into a Mininet node
        return text


class _Host(_WatchedShell, Host):  # type: ignore[misc] # Mininet has no types
    pass


class _Bridge(_WatchedShell, LinuxBridge):  # type: ignore[misc] # Mininet has no types
    pass


class _OpenVSwitch(_WatchedShell, OVSBridge):  # type: ignore[misc] # Mininet has no types
    pass


class _Log(logging.Handler):
    """Log handler that collects Mininet's messages."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.lines: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        text = record.getMessage().strip()
        if text:
            self.lines.append(text)


@dataclass(frozen=True, kw_only=True, slots=True)
class BuiltNet:
    """A started Mininet with its interfaces and addresses.

    `interfaces` maps (link name, node name) to the interface at that end.
    """

    net: Mininet
    interfaces: dict[tuple[str, str], str]
    addresses: dict[str, str]
    macs: dict[str, str]
    complaints: tuple[str, ...]

    def host_interface(self, host: str) -> str:
        """The one interface of a host."""
        return next(name for (_, node), name in self.interfaces.items() if node == host)

    def pid(self, node: str) -> int:
        """The process that holds the node's namespaces.

        Raises
        ------
        NetworkError
            That process is gone.
        """
        found = self.net.get(node)
        if found.shell is None or found.shell.poll() is not None:
            raise NetworkError(f"{node}: its Mininet shell died")
        return int(found.pid)


def build_net(spec: NetSpec) -> BuiltNet:
    """Build and start the network; call it inside private namespaces only.

    Raises
    ------
    NetworkError
        Mininet could not build it; the message is Mininet's.
    """
    log = _listen()
    Mininet.inited = True  # its init() would run fixLimits
    net = Mininet(controller=None, build=False, autoStaticArp=False, autoSetMacs=False)
    addresses, macs = {}, {}
    try:
        for host in spec.hosts:
            address, macs[host.name] = address_of(spec, host), mac_of(spec, host)
            addresses[host.name] = address
            net.addHost(host.name, cls=_Host, ip=f"{address}/{PREFIX_BITS}", mac=None)
        for index, switch in enumerate(spec.switches):
            kind = _Bridge if switch.kind == "linuxbridge" else _OpenVSwitch
            net.addSwitch(switch.name, cls=kind, dpid=f"{index + 1:x}")
        interfaces = _link_up(net, spec, macs)
        net.build()
        net.start()
    except NetworkError:
        destroy_net(net)
        raise
    except (Exception, SystemExit) as problem:  # noqa: BLE001 - Mininet raises it bare, and exits
        destroy_net(net)
        said = [*log.lines, str(problem).strip() or type(problem).__name__]
        raise NetworkError(f"Mininet: {' '.join(' '.join(said).split())}") from None
    except BaseException:
        destroy_net(net)
        raise
    return BuiltNet(
        net=net,
        interfaces=interfaces,
        addresses=addresses,
        macs=macs,
        complaints=tuple(log.lines),
    )


def destroy_net(net: Mininet) -> None:
    """Kill every node's shell and whatever runs beside it in its session; may be called twice.

    Namespaces and links of hosts go with them; bridges are the caller's to remove.
    """
    for node in (*net.hosts, *net.switches):
        if node.shell is None:
            continue
        with contextlib.suppress(ProcessLookupError):
            os.killpg(node.shell.pid, signal.SIGKILL)
        node.cleanup()


def _link_up(net: Mininet, spec: NetSpec, macs: dict[str, str]) -> dict[tuple[str, str], str]:
    interfaces = {}
    for index, plan in enumerate(spec.links):
        near, far = (
            macs.get(end, f"02:00:{side:02x}:00:{index >> 8:02x}:{index & 255:02x}")
            for side, end in ((0xA, plan.a), (0xB, plan.b))
        )
        link: Link = net.addLink(net.get(plan.a), net.get(plan.b), addr1=near, addr2=far)
        interfaces[plan.name, plan.a] = str(link.intf1)
        interfaces[plan.name, plan.b] = str(link.intf2)
    return interfaces


def _listen() -> _Log:
    log = _Log()
    lg.handlers.clear()
    lg.addHandler(log)
    lg.setLevel(logging.WARNING)
    return log
