"""The analysis once more, byte by byte, slow and plain: what the fast one is held against."""

from dataclasses import dataclass, field

from .wire import FIN, SYN

PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"


@dataclass
class Side:
    """One direction: its bytes in order, with when each came and when it could be delivered."""

    data: bytes = b""
    arrived: list = field(default_factory=list)
    delivered: list = field(default_factory=list)
    lost: bool = False


def reassemble(packets, source) -> Side:
    """Put one direction's bytes into a dictionary and read them off."""
    mine = [p for p in packets if p.source == source]
    base = next((p.seq + 1 for p in mine if p.flags & SYN), None)
    if base is None:
        base = next((p.seq for p in mine if p.payload), 0)
    seen: dict[int, tuple[int, int]] = {}
    furthest = 0
    for packet in mine:
        offset = (packet.seq + bool(packet.flags & SYN) - base) % 2**32
        for index, byte in enumerate(packet.payload):
            seen.setdefault(offset + index, (byte, packet.time_ns))
        if packet.payload or packet.flags & FIN:
            furthest = max(furthest, offset + len(packet.payload))
    side, latest, at = Side(), 0, 0
    content = bytearray()
    while at in seen:
        byte, time_ns = seen[at]
        latest = max(latest, time_ns)
        content.append(byte)
        side.arrived.append(time_ns)
        side.delivered.append(latest)
        at += 1
    side.data = bytes(content)
    side.lost = at < furthest
    return side


def frames(data: bytes, client: bool):
    """All frames: (offset, type, flags, stream, length, payload as far as it was seen)."""
    at = len(PREFACE) if client else 0
    found = []
    while at + 9 <= len(data):
        length = int.from_bytes(data[at : at + 3])
        stream = int.from_bytes(data[at + 5 : at + 9]) & 0x7FFFFFFF
        found.append(
            (at, data[at + 3], data[at + 4], stream, length, data[at + 9 : at + 9 + length])
        )
        at += 9 + length
    return found


def data_bytes(side: Side, client: bool):
    """(stream, delivered, arrived) of every byte of DATA, without padding."""
    found = []
    for at, kind, flags, stream, length, payload in frames(side.data, client):
        if kind == 0:
            first, last = at + 9, at + 9 + length
            if flags & 8 and payload:
                first, last = first + 1, last - payload[0]
            last = min(last, at + 9 + len(payload))
            found += [(stream, side.delivered[i], side.arrived[i]) for i in range(first, last)]
    return found


def intervals(side: Side, client: bool, gap_ns: int):
    """Service intervals as (stream, start, end, bytes)."""
    found: list[list[int]] = []
    for stream, delivered, _ in data_bytes(side, client):
        last = found[-1] if found else None
        if last and last[0] == stream and delivered - last[2] <= gap_ns:
            last[2], last[3] = delivered, last[3] + 1
        else:
            found.append([stream, delivered, delivered, 1])
    return [tuple(row) for row in found]
