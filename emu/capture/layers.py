"""Link and network layers: locates the TCP headers in captured records.

Ethernet (with VLAN tags), Linux cooked v1 and v2, BSD loopback, raw IP; IPv4 and IPv6, also one
within the other (RFC 2003, 2473, 4213). Whole columns at a time.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from emu.capture.arrays import Bytes, Ints, Mask, ints
from emu.capture.pcap import Records
from netcosim.errors import CaptureError

IPV4, IPV6 = 0x0800, 0x86DD
_VLAN_TAGS = (0x8100, 0x88A8)
_TCP = 6
_IP_WITHIN = {4: IPV4, 41: IPV6}
_MOST_WITHIN: Final = 3
_PROTOCOLS = {1: "ICMP", 6: "TCP", 17: "UDP", 47: "GRE", 50: "ESP", 58: "ICMPv6", 132: "SCTP"}
_FRAGMENT_HEADER = 44
_EXTENSION_HEADERS = (0, 43, 60)  # hop by hop, routing, destination options

# Link type -> place of the EtherType (None: the IP version decides), bytes before the payload.
_LINKS: dict[int, tuple[int | None, int]] = {
    1: (12, 14),  # Ethernet
    113: (14, 16),  # Linux cooked
    276: (0, 20),  # Linux cooked v2
    0: (None, 4),  # BSD loopback
    108: (None, 4),
    12: (None, 0),  # raw IP
    101: (None, 0),
    228: (None, 0),
    229: (None, 0),
}


@dataclass(slots=True)
class Cursor:
    """Parsing positions in the records that are still considered.

    `network` is where a record's IP header starts, `at` its next header, `end` where its
    captured bytes end and `wire_end` where its packet ended on the wire.
    """

    data: Bytes
    record: Ints
    network: Ints
    at: Ints
    end: Ints
    wire_end: Ints

    def keep(self, mask: Mask) -> None:
        """Drop the records that are not in `mask`."""
        for name in ("record", "network", "at", "end", "wire_end"):
            setattr(self, name, getattr(self, name)[mask])

    def need(self, size: int) -> int:
        """Drop records that end within the next `size` bytes; return how many."""
        whole = self.at + size <= self.end
        self.keep(whole)
        return int(whole.size - whole.sum())

    def u8(self, offset: int | Ints) -> Ints:
        """The byte at `offset` from the next header, of each record."""
        found: Ints = self.data[self.at + offset].astype(np.int64)
        return found

    def u16(self, offset: int | Ints) -> Ints:
        """The 16-bit number at `offset` from the next header, of each record."""
        return self.u8(offset) << 8 | self.u8(offset + 1)

    def u32(self, offset: int | Ints) -> Ints:
        """The 32-bit number at `offset` from the next header, of each record."""
        return self.u16(offset) << 16 | self.u16(offset + 2)


def tcp_headers(records: Records, problems: list[str]) -> dict[int, Cursor]:
    """Find the packets that carry TCP, by IP version, the cursors at their TCP headers.

    Raises
    ------
    CaptureError
        The file's link type is none of those named above.
    """
    if records.link_type not in _LINKS:
        known = ", ".join(str(number) for number in sorted(_LINKS))
        raise CaptureError(f"link type {records.link_type} is not read; allowed: {known}")
    waiting = {version: [_network_layer(records, version, problems)] for version in (IPV4, IPV6)}
    found: dict[int, list[Cursor]] = {IPV4: [], IPV6: []}
    others: dict[int, int] = {}
    fragments = 0
    for _ in range(_MOST_WITHIN):
        within: dict[int, list[Cursor]] = {IPV4: [], IPV6: []}
        for version, cursors in waiting.items():
            for cursor in cursors:
                cursor.network = cursor.at
                protocol, cut = (_skip_ipv4 if version == IPV4 else _skip_ipv6)(cursor)
                fragments += cut
                for number, inner in _by_protocol(cursor, protocol):
                    if number == _TCP:
                        found[version].append(inner)
                    elif number in _IP_WITHIN:
                        within[_IP_WITHIN[number]].append(inner)
                    else:
                        others[number] = others.get(number, 0) + inner.record.size
        waiting = within
    if fragments:
        problems.append(f"{fragments} IP fragments are not put together")
    merged = {version: _merged(records, cursors) for version, cursors in found.items()}
    found_any = fragments or any(cursor.record.size for cursor in merged.values())
    if records.at.size and not found_any:
        problems.append(_none_of_tcp(records.at.size, others))
    return merged


def _by_protocol(cursor: Cursor, protocol: Ints) -> Iterator[tuple[int, Cursor]]:
    """The packets of each protocol; TCP's cursor is the given one, cut to its packets."""
    for number in np.unique(protocol).tolist():
        mine = protocol == number
        part = Cursor(**{name: getattr(cursor, name) for name in Cursor.__slots__})
        if not mine.all():
            part.keep(mine)
        yield number, part


def _merged(records: Records, cursors: Sequence[Cursor]) -> Cursor:
    """All packets of several cursors in the order of the capture."""
    if len(cursors) == 1:
        return cursors[0]
    columns = {
        name: np.concatenate([ints(), *(getattr(each, name) for each in cursors)])
        for name in Cursor.__slots__[1:]
    }
    order = np.argsort(columns["record"], kind="stable")
    return Cursor(data=records.data, **{name: each[order] for name, each in columns.items()})


def _none_of_tcp(packets: int, others: Mapping[int, int]) -> str:
    """Say that there is no TCP, and what there is."""
    named = [
        f"{count} of {_PROTOCOLS.get(number, f'IP protocol {number}')}"
        for number, count in sorted(others.items(), key=lambda each: -each[1])
    ]
    left = packets - sum(others.values())
    found = [*named, *([f"{left} of no IP that is read"] if left else [])]
    return f"{packets} packets, none of TCP: {', '.join(found)}"


def _network_layer(records: Records, version: int, problems: list[str]) -> Cursor:
    """Records that hold a packet of this IP version, the cursor at its header."""
    cursor = Cursor(
        data=records.data,
        record=np.arange(records.at.size, dtype=np.int64),
        network=records.at,
        at=records.at,
        end=records.at + records.captured,
        wire_end=records.at + np.maximum(records.original, records.captured),
    )
    type_at, before = _LINKS[records.link_type]
    short = cursor.need(before + 1)
    if short and version == IPV4:
        problems.append(f"{short} records are too short to hold a packet")
    if type_at is None:
        cursor.at = cursor.at + before
        cursor.keep(cursor.u8(0) >> 4 == (4 if version == IPV4 else 6))
        return cursor
    kind = cursor.u16(type_at)
    cursor.at = cursor.at + before
    for _ in range(2):
        tagged = np.isin(kind, _VLAN_TAGS) & (cursor.at + 4 <= cursor.end)
        if not tagged.any():
            break
        kind = np.where(tagged, _where_u16(cursor, 2, tagged), kind)
        cursor.at = cursor.at + 4 * tagged
    cursor.keep(kind == version)
    return cursor


def _where_u16(cursor: Cursor, offset: int, mask: Mask) -> Ints:
    safe = np.where(mask, cursor.at + offset, 0)
    found: Ints = cursor.data[safe].astype(np.int64) << 8 | cursor.data[safe + 1]
    return found


def _skip_ipv4(cursor: Cursor) -> tuple[Ints, int]:
    """Move the cursor behind the header; return protocols, and how many fragments were left out."""
    cursor.need(20)
    cursor.keep((cursor.u8(0) >> 4 == 4) & (cursor.u8(0) & 15 >= 5))
    whole = cursor.u16(6) & 0x3FFF == 0
    fragments = int((~whole & np.isin(cursor.u8(9), (_TCP, *_IP_WITHIN))).sum())
    cursor.keep(whole)
    total, protocol = cursor.u16(2), cursor.u8(9)
    # Zero: longer than the field can tell (segmentation offload); the record's length tells.
    cursor.wire_end = np.where(total == 0, cursor.wire_end, cursor.at + total)
    cursor.at = cursor.at + (cursor.u8(0) & 15) * 4
    return protocol, fragments


def _skip_ipv6(cursor: Cursor) -> tuple[Ints, int]:
    cursor.need(40)
    cursor.keep(cursor.u8(0) >> 4 == 6)
    total = cursor.u16(4)
    cursor.wire_end = np.where(total == 0, cursor.wire_end, cursor.at + 40 + total)
    following = cursor.u8(6)
    cursor.at = cursor.at + 40
    for _ in range(4):
        extended = np.isin(following, _EXTENSION_HEADERS) & (cursor.at + 8 <= cursor.end)
        if not extended.any():
            break
        head = _where_u16(cursor, 0, extended)
        cursor.at = cursor.at + np.where(extended, ((head & 0xFF) + 1) * 8, 0)
        following = np.where(extended, head >> 8, following)
    fragments = following == _FRAGMENT_HEADER
    cursor.keep(~fragments)
    return following[~fragments], int(fragments.sum())
