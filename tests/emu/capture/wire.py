"""A small writer of captures, independent of the code under test."""

import struct
from dataclasses import dataclass, replace
from pathlib import Path

CLIENT, SERVER = ("10.0.0.1", 40000), ("10.0.0.2", 50051)
FIN, SYN, RST, PSH, ACK = 1, 2, 4, 8, 16


@dataclass(frozen=True)
class Packet:
    """One TCP segment with its time in nanoseconds, IPv4's identification, and an interface."""

    time_ns: int
    source: tuple[str, int]
    destination: tuple[str, int]
    seq: int
    ack: int
    flags: int
    payload: bytes = b""
    identity: int = 0
    interface: int = 0


class Talk:
    """Builds the segments of one connection, in order; both sequence numbers are modulo 2**32."""

    def __init__(self, client=CLIENT, server=SERVER, *, isn=(1000, 9000), start_ns=10**18):
        self.ends = {"client": client, "server": server}
        self.next = {"client": isn[0], "server": isn[1]}
        self.now = start_ns
        self.packets: list[Packet] = []

    def _send(self, who, flags, payload=b"", step_ns=1000):
        other = "server" if who == "client" else "client"
        self.now += step_ns
        self.packets.append(
            Packet(
                self.now,
                self.ends[who],
                self.ends[other],
                self.next[who] % 2**32,
                self.next[other] % 2**32 if flags & ACK else 0,
                flags,
                payload,
            )
        )
        self.next[who] += len(payload) + bool(flags & (SYN | FIN))

    def handshake(self, step_ns=1000):
        self._send("client", SYN)
        self._send("server", SYN | ACK, step_ns=step_ns)
        self._send("client", ACK)
        return self

    def say(self, who, data, sizes=(1448,), step_ns=1000):
        """Send bytes, cut into segments of the given sizes in turn."""
        turn = 0
        while data:
            size = sizes[turn % len(sizes)]
            self._send(who, PSH | ACK, data[:size], step_ns)
            data, turn = data[size:], turn + 1
        return self

    def pause(self, ns):
        self.now += ns
        return self

    def acknowledge(self, who):
        self._send(who, ACK)
        return self

    def close(self):
        self._send("server", FIN | ACK)
        self._send("client", FIN | ACK)
        self._send("server", ACK)
        return self


def ip_packet(packet: Packet, version=4) -> bytes:
    tcp = struct.pack(
        "!2H2I2B3H",
        packet.source[1],
        packet.destination[1],
        packet.seq,
        packet.ack,
        8 << 4,
        packet.flags,
        512,
        0,
        0,
    )
    tcp += bytes(12) + packet.payload  # twelve bytes of options
    if version == 6:
        ends = [v6(packet.source[0]), v6(packet.destination[0])]
        return struct.pack("!IHBB", 6 << 28, len(tcp), 6, 64) + b"".join(ends) + tcp
    ends = [bytes(map(int, end[0].split("."))) for end in (packet.source, packet.destination)]
    return (
        struct.pack("!BBHHHBBH", 0x45, 0, 20 + len(tcp), packet.identity, 0x4000, 64, 6, 0)
        + b"".join(ends)
        + tcp
    )


def v6(address: str) -> bytes:
    """An IPv4 address of the tests as fd00::a.b.c.d."""
    return b"\xfd" + bytes(11) + bytes(map(int, address.split(".")))


def within(ip: bytes, version: int) -> bytes:
    """An IP packet as the payload of another one, of this version (RFC 2003, 2473)."""
    number = 4 if ip[0] >> 4 == 4 else 41
    if version == 6:
        return struct.pack("!IHBB", 6 << 28, len(ip), number, 64) + bytes(32) + ip
    return struct.pack("!BBHHHBBH", 0x45, 0, 20 + len(ip), 0, 0, 64, number, 0) + bytes(8) + ip


def frame_of(packet: Packet, link=1, version=4, vlans=0, outer=()) -> bytes:
    ip = ip_packet(packet, version)
    for version in outer:
        ip = within(ip, version)
    kind = struct.pack("!H", 0x0800 if version == 4 else 0x86DD)
    if link == 1:
        tagged = b"\x00" * 12 + b"\x81\x00\x00\x07" * vlans + kind + ip
        return tagged + bytes(max(0, 60 - len(tagged)))  # the least that Ethernet sends
    if link == 113:
        return bytes(14) + kind + ip
    if link == 276:
        return kind + struct.pack("!HI", 0, packet.interface) + bytes(12) + ip
    if link in (0, 108):
        return bytes(4) + ip
    return ip


def pcap_bytes(packets, *, order="<", nano=True, link=1, snap=None, **how) -> bytes:
    magic = 0xA1B23C4D if nano else 0xA1B2C3D4
    out = [struct.pack(order + "I2H4I", magic, 2, 4, 0, 0, 262144, link)]
    for packet in packets:
        data = frame_of(packet, link, **how)
        kept = data[:snap]
        seconds, rest = divmod(packet.time_ns, 10**9)
        fraction = rest if nano else rest // 1000
        out.append(struct.pack(order + "4I", seconds, fraction, len(kept), len(data)) + kept)
    return b"".join(out)


def write(path: Path, packets, **how) -> Path:
    path.write_bytes(pcap_bytes(packets, **how))
    return path


def retimed(packets, step_ns=1000):
    """The same packets in this order, with ascending times."""
    start = min((p.time_ns for p in packets), default=0)
    return [replace(p, time_ns=start + i * step_ns) for i, p in enumerate(packets)]
