"""Kernel counters of one network namespace: queues, interfaces, TCP."""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from emu.network import commands, readback

# Of the thread, not of the process: a thread enters a host's namespace by itself.
_PROC: Final = Path("/proc/thread-self/net")
_RX_DROPPED: Final = 3  # column of /proc/net/dev

# The kernel's names (RFC 1213 and Linux' own) by ours; what a kernel lacks counts as 0.
TCP_COUNTERS: Final = {
    "tcp_retransmits": ("Tcp.RetransSegs",),
    "tcp_loss_probes": ("TcpExt.TCPLossProbes",),
    "tcp_timeouts": ("TcpExt.TCPTimeouts",),
    "tcp_reorders": (
        "TcpExt.TCPSACKReorder",
        "TcpExt.TCPTSReorder",
        "TcpExt.TCPRenoReorder",
    ),
    "tcp_spurious": ("TcpExt.TCPDSACKRecv", "TcpExt.TCPDSACKOfoRecv"),
}

Json = dict[str, Any]


@dataclass(frozen=True, kw_only=True, slots=True)
class NamespaceCounters:
    """Counters of the namespace that the reading thread was in."""

    qdiscs: dict[str, dict[str, Json]]
    receive_drops: dict[str, int]
    tcp: dict[str, int]

    def of_interface(self, interface: str) -> dict[str, int]:
        """Count what one interface sent, and what was dropped at it."""
        qdiscs = self.qdiscs.get(interface, {}).values()
        queues = [q for q in qdiscs if q["kind"] == "bfifo"]
        loss = [q for q in qdiscs if q["kind"] == "netem"]
        return {
            "sent_bytes": sum(q["bytes"] for q in queues),
            "sent_packets": sum(q["packets"] for q in queues),
            "queue_drops": sum(q["drops"] for q in queues),
            "loss_drops": sum(q["drops"] for q in loss) - sum(q["drops"] for q in queues if loss),
            "backlog_bytes": sum(q["backlog"] for q in queues),
            "backlog_drops": self.receive_drops.get(interface, 0),
        }


def read_counters() -> NamespaceCounters:
    """Read the counters of the calling thread's network namespace."""
    return NamespaceCounters(
        qdiscs=readback.parse_qdiscs(commands.run(["tc", "-j", "-s", "qdisc", "show"])),
        receive_drops=parse_receive_drops((_PROC / "dev").read_text()),
        tcp=count_tcp(parse_protocols((_PROC / name).read_text() for name in ("snmp", "netstat"))),
    )


def parse_receive_drops(text: str) -> dict[str, int]:
    """Read ``/proc/net/dev``: packets that each interface received and the kernel dropped.

    A veth's are those for which the processor's backlog had no room.
    """
    lines = (line.partition(":") for line in text.splitlines() if ":" in line)
    return {name.strip(): int(values.split()[_RX_DROPPED]) for name, _, values in lines}


def parse_protocols(texts: Iterable[str]) -> dict[str, int]:
    """Read ``/proc/net/snmp`` and ``netstat``: a line of names, then one of values."""
    found: dict[str, int] = {}
    for text in texts:
        lines = [line.split() for line in text.splitlines()]
        for names, values in zip(lines[::2], lines[1::2], strict=True):
            group = names[0].removesuffix(":")
            pairs = zip(names[1:], values[1:], strict=True)
            found.update({f"{group}.{name}": int(value) for name, value in pairs})
    return found


def count_tcp(found: dict[str, int]) -> dict[str, int]:
    """Sum the kernel's counters under our names."""
    return {ours: sum(found.get(name, 0) for name in names) for ours, names in TCP_COUNTERS.items()}
