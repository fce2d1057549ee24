"""Cases of receive steering, run inside namespaces; each function returns plain values."""

import ctypes
import os
import socket
import struct
from typing import Any

from emu.capture.connections import split_connections
from emu.capture.pcap import read_records
from emu.capture.reassembly import assemble
from emu.capture.segments import read_segments
from emu.capture.tcpdump import Capture
from emu.isolation import isolate
from emu.network import LiveNetwork, commands, open_network, receive_steering
from emu.network.probe_processes import asking, serving
from netcosim.errors import NetworkError
from tests.emu.network.cases import build_spec, cluster
from tests.loaded import loaded

Json = dict[str, Any]
_SO_ATTACH_FILTER, _SO_SNDBUFFORCE, _SO_RCVBUFFORCE = 26, 32, 33
_BPF_ADD, _BPF_RETURN = 0x04, 0x06


def steering(**settings: Any) -> Json:
    """The steering of every interface end as its own namespace shows it, and what is recorded."""
    asked = cluster(**settings)
    with open_network(build_spec(asked), tcp=asked.tcp) as live:
        shown = {}
        for place in live._applied.places:
            command = f"cat /sys/class/net/{place.interface}/queues/rx-*/rps_cpus"
            shown[place.interface] = live.mininet.get(place.node).cmd(command).split()
        return {"shown": shown, "record": live.record()}


def steering_on(processor: int) -> Json:
    """Record of a run that may use one processor only."""
    os.sched_setaffinity(0, {processor})
    return steering()["record"]


def steering_undone() -> str:
    """Message on an interface whose steering somebody took off."""
    with open_network(build_spec(cluster())) as live:
        ends = [(live._applied.built.pid(p.node), p.interface) for p in live._applied.places]
        processor = live.record()["receive_processor"]
        receive_steering.check_steering(ends, processor)
        live.mininet.get("w0").cmd("echo 0 > /sys/class/net/w0-eth0/queues/rx-0/rps_cpus")
        try:
            receive_steering.check_steering(ends, processor)
        except NetworkError as problem:
            return str(problem)
    return "nothing"


def transfers_under_load(rate: str, seconds: float, count: int) -> Json:
    """Bulk data both ways at once over a star, captured at the worker; what was out of order."""
    asked = cluster(topology="star", link={"rate": rate})
    path = isolate.scratch_dir() / "capture.pcap"
    found = {"segments": 0, "captured_reorderings": 0}
    with (
        open_network(build_spec(asked), tcp=asked.tcp) as live,
        serving(live, ["s0"]),
        asking(live, "s0", "w0") as ask,
    ):
        before = live.counters()
        for seed in range(count):
            with loaded(0.2, seed), _capture(live, path):
                ask({"do": "both", "seconds": seconds})
            for segments, out_of_order in _reorderings(path):
                found["segments"] += segments
                found["captured_reorderings"] += out_of_order
        after = live.counters()
    for key in ("tcp_reorders", "backlog_drops"):
        counted = [name for name in after if key in after[name]]
        found[key] = sum(after[name][key] - before[name][key] for name in counted)
    return found


def _capture(live: LiveNetwork, path: Any) -> Capture:
    return Capture(
        path, interface="w0-eth0", popen=lambda argv, **options: live.popen("w0", argv, **options)
    )


def _reorderings(path: Any) -> list[tuple[int, int]]:
    """Segments with data of each direction of each connection, and those that were overtaken."""
    records = read_records(path)
    segments, _ = read_segments(records)
    return [
        (stream.segments, stream.reordered_segments)
        for conversation in split_connections(records.data, segments, None)
        for side, other in (conversation.both, conversation.both[::-1])
        for stream in [assemble(records.data, side, other)]
    ]


def flooded() -> Json:
    """Frames sent from one processor faster than the other, where they are received, gets along.

    Filters on packet sockets make each reception slow; the link is not shaped here.
    """
    first, second, *_ = sorted(os.sched_getaffinity(0))
    with open_network(build_spec(cluster())) as live:
        assert live.record()["receive_processor"] == first
        pids = {host: live._applied.built.pid(host) for host in ("s0", "w0")}
        before = live.counters()["w0-eth0"]["backlog_drops"]
        commands.within(
            pids["s0"], lambda: commands.run(["tc", "qdisc", "del", "dev", "s0-eth0", "root"])
        )
        receiver = commands.within(pids["w0"], _slow_receiver)
        os.sched_setaffinity(0, {second})
        sender = commands.within(pids["s0"], lambda: socket.socket(type=socket.SOCK_DGRAM))
        # What waits in a backlog still counts against the sender's buffer.
        sender.setsockopt(socket.SOL_SOCKET, _SO_SNDBUFFORCE, 1 << 26)
        sent = 6000
        for _ in range(sent):
            sender.sendto(b"x" * 100, (live.address("w0"), 9))
        received = _drain(receiver)
        drops = live.counters()["w0-eth0"]["backlog_drops"] - before
        return {"sent": sent, "received": received, "backlog_drops": drops}


def _slow_receiver() -> socket.socket:
    """A UDP socket, behind packet sockets whose filters take time and let nothing pass."""
    program = [struct.pack("HBBI", _BPF_ADD, 0, 0, 1)] * 4000
    program.append(struct.pack("HBBI", _BPF_RETURN, 0, 0, 0))
    code = b"".join(program)
    for _ in range(30):
        tap = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3))
        buffer = _keep(code)
        tap.setsockopt(
            socket.SOL_SOCKET, _SO_ATTACH_FILTER, struct.pack("HP", len(program), buffer)
        )
        _kept.append(tap)
    receiver = socket.socket(type=socket.SOCK_DGRAM)
    receiver.setsockopt(socket.SOL_SOCKET, _SO_RCVBUFFORCE, 1 << 26)
    receiver.bind(("", 9))
    return receiver


_kept: list[Any] = []


def _keep(code: bytes) -> int:
    """The address of a copy that stays."""
    buffer = ctypes.create_string_buffer(code)
    _kept.append(buffer)
    return ctypes.addressof(buffer)


def _drain(receiver: socket.socket) -> int:
    """Datagrams until none has come for a while: the backlog is empty by then."""
    receiver.settimeout(1.0)
    count = 0
    try:
        while receiver.recv(200):
            count += 1
    except TimeoutError:
        return count
