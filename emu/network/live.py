"""Running network: starts processes in its hosts, reads its settings and its counters."""

import contextlib
import os
import signal
import subprocess
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from emu.isolation import isolate
from emu.network import commands, kernel, openvswitch
from emu.network.bringup import PORT_GROUP, Applied, Place, bring_up
from emu.network.counters import read_counters
from emu.network.punctuality import MACHINE, Punctuality
from netcosim.errors import EnvironmentRefusedError, NetworkError
from netcosim.scenario import TcpSpec
from netcosim.units import format_rate
from topo.spec import NetSpec

Json = dict[str, Any]


class LiveNetwork:
    """A network brought up by `open_network`; hosts are named as in the plan."""

    def __init__(self, spec: NetSpec, applied: Applied, punctuality: Punctuality = MACHINE) -> None:
        self.spec = spec
        self.punctuality = punctuality
        self._applied = applied
        self._children: list[subprocess.Popen[Any]] = []

    @property
    def hosts(self) -> tuple[str, ...]:
        """All hosts by name, servers first."""
        return tuple(host.name for host in self.spec.hosts)

    @property
    def mininet(self) -> Any:
        """The Mininet object that holds every host, switch and link."""
        return self._applied.built.net

    def address(self, host: str) -> str:
        """The host's IPv4 address."""
        return self._applied.built.addresses[host]

    def interface(self, host: str) -> str:
        """The name, inside the host, of its one interface: where to capture."""
        return next(place.interface for place in self._applied.places if place.node == host)

    def bucket_bytes(self, link: str) -> int:
        """Size of a link's token bucket: the bytes it passes at line speed after a pause."""
        return next(p.shape.bucket_bytes for p in self._applied.places if p.link.name == link)

    def popen(self, host: str, argv: Sequence[str], **kwargs: Any) -> subprocess.Popen[Any]:
        """Start a process in a host's namespaces, in a session of its own.

        It is killed with its session when the network closes. `kwargs` are Popen's; streams that
        are not named are inherited.

        Raises
        ------
        NetworkError
            The host is gone.
        """
        pid = self._applied.built.pid(host)
        node = self.mininet.get(host)
        options = {"stdout": None, "stderr": None, "start_new_session": True, **kwargs}
        child: subprocess.Popen[Any] = node.popen(
            list(argv), mncmd=["mnexec", "-a", str(pid)], **options
        )
        self._children.append(child)
        return child

    def check_alive(self) -> None:
        """Raise NetworkError if a host or switch lost the process that holds its namespaces."""
        for node in self.spec.node_names:
            self._applied.built.pid(node)

    def counters(self) -> dict[str, dict[str, int]]:
        """Read the counters of each interface and host, to compare before and after a burst.

        An interface has ``sent_bytes``, ``sent_packets``, ``queue_drops`` (its bounded queues),
        ``loss_drops`` (loss that was asked for), ``backlog_bytes``, and ``backlog_drops``: packets
        for which the backlog of the processor that receives for it had no room. A host, by its
        name, has its TCP's counters: ``tcp_retransmits`` in all, ``tcp_loss_probes`` (tail-loss
        probes), ``tcp_timeouts``, ``tcp_reorders`` (segments seen to have been overtaken),
        ``tcp_spurious`` (sent again though the first one arrived, by the receiver's report).
        """
        found: dict[str, dict[str, int]] = {}
        for node in self.spec.node_names:
            counted = commands.within(self._applied.built.pid(node), read_counters)
            for place in self._applied.places:
                if place.node == node:
                    found[place.interface] = counted.of_interface(place.interface)
            if node in self.hosts:
                found[node] = counted.tcp
        return found

    def record(self) -> Json:
        """Everything applied and read back, ready for JSON."""
        built = self._applied.built
        return {
            "kernel": os.uname().release,
            "hosts": {
                host.name: {
                    "role": host.role,
                    "address": built.addresses[host.name],
                    "mac": built.macs[host.name],
                    "interface": self.interface(host.name),
                    "sysctls": self._applied.sysctls[host.name],
                }
                for host in self.spec.hosts
            },
            "switches": {switch.name: switch.kind for switch in self.spec.switches},
            "links": {link.name: self._link_record(link.name) for link in self.spec.links},
            "receive_processor": self._applied.steering.processor,
            "mininet_messages": list(built.complaints),
        }

    def close(self) -> None:
        """Kill all children, remove the network; may be called twice."""
        for child in self._children:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(child.pid, signal.SIGKILL)
        for child in self._children:
            child.wait()
        self._children.clear()
        _remove(self._applied)

    def _link_record(self, name: str) -> Json:
        ends = [place for place in self._applied.places if place.link.name == name]
        link = ends[0].link.link
        return {
            "rate": format_rate(link.rate),
            "model": link.model,
            "delay_ns": link.delay,
            "jitter_ns": link.jitter,
            "loss": link.loss,
            "bucket_bytes": ends[0].shape.bucket_bytes,
            "ends": {place.node: self._end_record(place) for place in ends},
        }

    def _end_record(self, place: Place) -> Json:
        leaves = [each for each in place.shape.classes if each.queue_bytes is not None]
        return {
            "interface": place.interface,
            "queue_bytes": leaves[0].queue_bytes,
            "classes": len(leaves),
            "offloads": self._applied.offloads[place.interface],
            "rps_cpus": self._applied.steering.mask,
            "tc": [f"tc {' '.join(c)}" for c in place.shape.commands(place.interface)],
        }


@contextlib.contextmanager
def open_network(
    spec: NetSpec,
    *,
    tcp: TcpSpec | None = None,
    punctuality: Punctuality = MACHINE,
    log: Callable[[str], None] = lambda _: None,
) -> Iterator[LiveNetwork]:
    """Check the kernel, bring the network up, yield it, tear it down.

    Must run inside private namespaces (`emu.isolation.isolate.ensure_isolated`).

    Raises
    ------
    EnvironmentRefusedError
        Outside of private namespaces, or the kernel lacks what the plan needs; nothing was built.
    NetworkError
        It could not be built as asked for.
    """
    if _in_first_namespace():
        raise EnvironmentRefusedError("a network is built only inside private namespaces")
    tcp_settings = tcp or TcpSpec()
    log("asking the kernel what it can do")
    kernel.check_kernel(spec, tcp_settings)
    with contextlib.ExitStack() as stack:
        if openvswitch.is_wanted(spec):
            bridges = tuple(switch.name for switch in spec.switches)
            folder = isolate.scratch_dir() / "openvswitch"
            stack.enter_context(openvswitch.daemons(folder, bridges))
        live = LiveNetwork(spec, bring_up(spec, tcp_settings, log, punctuality), punctuality)
        stack.callback(live.close)
        yield live


def _in_first_namespace() -> bool:
    """True if this is a namespace with real interfaces, such as the host's own."""
    return any(Path("/sys/class/net").glob("*/device"))


def _remove(applied: Applied) -> None:
    from topo.mininet_build import destroy_net

    built = applied.built
    switches = {place.node for place in applied.places} & {s.name for s in built.net.switches}
    with contextlib.suppress(NetworkError):
        commands.run(["ip", "link", "del", "group", str(PORT_GROUP)])
    for name in switches:
        with contextlib.suppress(NetworkError):
            commands.run(["ip", "link", "del", name])
    destroy_net(built.net)
