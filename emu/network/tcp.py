"""TCP settings of a run's hosts: sysctls chosen by rate, set inside their namespaces, read back."""

import ipaddress
from pathlib import Path
from types import MappingProxyType
from typing import Final

from emu.network import commands
from emu.network.punctuality import MACHINE, Punctuality
from netcosim.errors import NetworkError
from netcosim.scenario import TcpSpec
from topo.paths import bottleneck_bps, path_between, round_trip_ns
from topo.spec import NetSpec

# A sender keeps about this much of its rate in the kernel: enough for a process that is late
# by a few ms, little enough that unacknowledged bytes stay few.
SEND_BUFFER_S: Final = 0.010
# The kernel counts 2260 bytes of memory for one segment of 1448, less in bunches.
_MEMORY_PER_BYTE: Final = {True: 1.6, False: 1.15}
# It wakes a blocked sender when a third of the buffer is free (sk_stream_is_writeable), so two
# thirds are what surely lies ready or in flight.
_SURELY_FILLED: Final = 2 / 3
_LEAST_SEND_BYTES: Final = 64 * 2**10
# Never the limit: no sender here has that much in flight.
_LEAST_WINDOW_BYTES: Final = 2 * 2**20
# Where the window that Linux would like to give can't advance, because it is as large as the buffer
# and the application reads late, acknowledgements are put off (__tcp_ack_snd_check), and the sender
# that waits for them leaves the link idle. That window grows by two bytes for each one received, so
# the buffer is larger than any connection makes it. It is a bound: what is advertised is less.
_RECEIVE_BYTES: Final = 2**30
_LEAST_BYTES: Final = 4096
_ROOT: Final = Path("/proc/sys")


def choose_sysctls(
    tcp: TcpSpec, rate_bps: int, round_trip_ns: int, punctuality: Punctuality = MACHINE
) -> dict[str, str]:
    """Choose a host's sysctls.

    Parameters
    ----------
    tcp
        The settings asked for; what is None is chosen here.
    rate_bps
        The highest rate at which the host can send to a peer.
    round_trip_ns
        The longest configured round trip to a peer; the send buffer must cover it.
    punctuality
        Of the kernel: the memory that a segment takes depends on it.

    Returns
    -------
    dict
        Path below ``/proc/sys`` and value. A buffer that was asked for is fixed: autotuning has
        no room.
    """
    send = tcp.send_buffer or default_send_buffer(rate_bps, round_trip_ns, punctuality)
    receive = tcp.receive_buffer or _RECEIVE_BYTES
    chosen = {
        "net/ipv4/tcp_wmem": f"{_LEAST_BYTES} {send} {send}",
        "net/ipv4/tcp_rmem": f"{_LEAST_BYTES} {receive} {receive}",
        # What one connection learnt must not steer the next one.
        "net/ipv4/tcp_no_metrics_save": "1",
        # Responders listen above these, and none may find its port taken by a connection.
        "net/ipv4/ip_local_port_range": "16384 49151",
        # Nor must the pause between two bursts, which is ours, start one of them slowly again.
        "net/ipv4/tcp_slow_start_after_idle": "0",
        # A full segment is 1448 bytes, an acknowledgement 52, only with timestamps.
        "net/ipv4/tcp_timestamps": "1",
    }
    if punctuality.prompt:
        chosen["net/ipv4/tcp_autocorking"] = "0"
    if tcp.notsent_lowat is not None:
        chosen["net/ipv4/tcp_notsent_lowat"] = str(tcp.notsent_lowat)
    return chosen


ONE_AFTER_THE_OTHER: Final = MappingProxyType({"net/ipv4/tcp_limit_output_bytes": "1"})
"""Sysctl by which TCP hands a segment to its interface's queue when at most one of its is there."""


def window_clamp(tcp: TcpSpec, rate_bps: int, round_trip_ns: int) -> int:
    """Largest window that a host advertises, bytes: twice what a sender keeps, at least 2 MiB.

    0 where the receive buffer was asked for, which then decides alone.
    """
    if tcp.receive_buffer:
        return 0
    send = tcp.send_buffer or default_send_buffer(rate_bps, round_trip_ns)
    return max(_LEAST_WINDOW_BYTES, 2 * send)


def default_send_buffer(
    rate_bps: int, round_trip_ns: int, punctuality: Punctuality = MACHINE
) -> int:
    """Send buffer of a sender at this rate, in bytes of memory, at least 64 KiB.

    10 ms of the rate, and as much more as keeps a whole configured round trip in flight.
    """
    covered_s = SEND_BUFFER_S + round_trip_ns / 1e9 / _SURELY_FILLED
    memory = _MEMORY_PER_BYTE[punctuality.bunch_segments(rate_bps) == 1]
    return max(_LEAST_SEND_BYTES, round(rate_bps / 8 * covered_s * memory))


def payload_in(send_buffer: int, bottleneck: int, punctuality: Punctuality) -> int:
    """Bytes of payload in a send buffer of so much memory, on a path of this rate."""
    return round(send_buffer / _MEMORY_PER_BYTE[punctuality.bunch_segments(bottleneck) == 1])


def with_send_buffer(tcp: TcpSpec, net: NetSpec, punctuality: Punctuality) -> TcpSpec:
    """The settings with a send buffer for a network's paths where none was given."""
    if tcp.send_buffer is not None:
        return tcp
    paths = [
        path_between(net, server.name, worker.name)
        for server in net.servers
        for worker in net.workers
    ]
    buffer = max(
        default_send_buffer(bottleneck_bps(p), round_trip_ns(p), punctuality) for p in paths
    )
    return tcp.model_copy(update={"send_buffer": buffer})


def apply_sysctls(chosen: dict[str, str]) -> dict[str, str]:
    """Set sysctls of the network namespace the calling thread is in; return them as read back.

    Raises
    ------
    NetworkError
        One could not be set, or reads back as something else.
    """
    found = {}
    for name, value in chosen.items():
        path = _ROOT / name
        try:
            path.write_text(value)
            found[name] = " ".join(path.read_text().split())
        except OSError as problem:
            raise NetworkError(f"sysctl {name} = {value}: {problem.strerror}") from None
        if found[name] != value:
            raise NetworkError(f"sysctl {name}: is {found[name]}, asked for {value}")
    return found


def route(
    interface: str,
    address: str,
    prefix: int,
    *,
    congestion_control: str,
    window_bytes: int,
    acknowledges_each: bool = False,
    initial_segments: int = 0,
) -> None:
    """Have every connection through the interface use this congestion control and window.

    The route says so: outside the first namespace the sysctl takes only the congestion control that
    the host allows to everybody, and for the window there is none. It is read back. With
    `window_bytes` 0 nothing but the buffer bounds the window. With `acknowledges_each` every
    segment is acknowledged at once; `initial_segments` is both windows' size at the beginning, 0
    leaves it to the kernel.

    Raises
    ------
    NetworkError
        It could not be set.
    """
    subnet = str(ipaddress.ip_interface(f"{address}/{prefix}").network)
    wanted = [("congctl", congestion_control)]
    if window_bytes:
        wanted.append(("window", str(window_bytes)))
    if initial_segments:
        wanted += [(name, str(initial_segments)) for name in ("initcwnd", "initrwnd")]
    if acknowledges_each:
        wanted.append(("quickack", "1"))
    command = ["ip", "route", "replace", subnet, "dev", interface, "scope", "link"]
    command += ["src", address, "proto", "kernel", *(word for pair in wanted for word in pair)]
    commands.run(command)
    found = commands.run(["ip", "route", "show", subnet, "dev", interface])
    if any(f"{name} {value}" not in found for name, value in wanted):
        raise NetworkError(f"{' '.join(command)}: reads back as {found.strip()}")


def quiet_namespace() -> None:
    """Turn off what adds or filters packets unasked: IPv6, and netfilter under a bridge."""
    for name in (
        "net/ipv6/conf/all/disable_ipv6",
        "net/ipv6/conf/default/disable_ipv6",
    ):
        if (_ROOT / name).exists():
            apply_sysctls({name: "1"})
    # Kernels before 5.3 have these for the whole machine, and show them only outside.
    for table in ("arp", "ip", "ip6"):
        name = f"net/bridge/bridge-nf-call-{table}tables"
        if (_ROOT / name).exists():
            apply_sysctls({name: "0"})
