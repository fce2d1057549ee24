"""Link and network layers: locates the TCP headers in captured records.

Ethernet (with VLAN tags), Linux cooked v1 and v2, BSD loopback, raw IP; IPv4 and IPv6. Whole
columns at a time.
"""

from dataclasses import dataclass

import numpy as np

from emu.capture.arrays import Bytes, Ints, Mask
from emu.capture.pcap import Records
from netcosim.errors import CaptureError

IPV4, IPV6 = 0x0800, 0x86DD
_VLAN_TAGS = (0x8100, 0x88A8)
_TCP = 6
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


def tcp_headers(records: Records, version: int, problems: list[str]) -> Cursor:
    """Find the packets of an IP version that carry TCP, the cursor at their TCP headers.

    Raises
    ------
    CaptureError
        The file's link type is none of those named above.
    """
    if records.link_type not in _LINKS:
        known = ", ".join(str(number) for number in sorted(_LINKS))
        raise CaptureError(f"link type {records.link_type} is not read; allowed: {known}")
    cursor = _network_layer(records, version, problems)
    cursor.network = cursor.at
    fragments = _skip_ipv4(cursor) if version == IPV4 else _skip_ipv6(cursor)
    if fragments:
        problems.append(f"{fragments} IP fragments are not put together")
    return cursor


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


def _skip_ipv4(cursor: Cursor) -> int:
    """Move the cursor to the TCP header; return how many packets were fragments."""
    cursor.need(20)
    cursor.keep((cursor.u8(0) >> 4 == 4) & (cursor.u8(0) & 15 >= 5) & (cursor.u8(9) == _TCP))
    whole = cursor.u16(6) & 0x3FFF == 0
    fragments = int(whole.size - whole.sum())
    cursor.keep(whole)
    total = cursor.u16(2)
    # Zero: longer than the field can tell (segmentation offload); the record's length tells.
    cursor.wire_end = np.where(total == 0, cursor.wire_end, cursor.at + total)
    cursor.at = cursor.at + (cursor.u8(0) & 15) * 4
    return fragments


def _skip_ipv6(cursor: Cursor) -> int:
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
    fragments = int((following == _FRAGMENT_HEADER).sum())
    cursor.keep(following == _TCP)
    return fragments
