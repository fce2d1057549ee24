"""Addresses of the hosts of a network, from role and position: the same in every run."""

from typing import Final

from topo.spec import HostSpec, NetSpec

_SUBNET: Final = {"server": 1, "worker": 2}


def address_of(spec: NetSpec, host: HostSpec) -> str:
    """IPv4 address of a host."""
    subnet, number = _place(spec, host)
    return f"10.0.{subnet}.{number}"


def mac_of(spec: NetSpec, host: HostSpec) -> str:
    """MAC address of a host."""
    subnet, number = _place(spec, host)
    return f"02:00:00:00:{subnet:02x}:{number:02x}"


def _place(spec: NetSpec, host: HostSpec) -> tuple[int, int]:
    group = spec.servers if host.role == "server" else spec.workers
    return _SUBNET[host.role], group.index(host) + 1
