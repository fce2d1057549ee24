"""Reader of pcapng files: position, lengths and capture time of each packet block.

A file has sections, each with interfaces of its own; an interface has a link type, and a resolution
and an offset of its time stamps. Source: draft-ietf-opsawg-pcapng.
"""

import struct
from array import array
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import numpy as np

from emu.capture.arrays import Ints
from netcosim.errors import CaptureError

MAGIC: Final = b"\x0a\x0d\x0d\x0a"
_BYTE_ORDERS: Final = {b"\x1a\x2b\x3c\x4d": ">", b"\x4d\x3c\x2b\x1a": "<"}
_SECTION, _INTERFACE, _OLD_PACKET, _SIMPLE_PACKET, _PACKET = 0x0A0D0D0A, 1, 2, 3, 6
_LEAST_BYTES: Final = 12
_PACKET_AT: Final = 28
"""Place of a packet's bytes in its block; an option's is 16 in an interface's."""

_RESOLUTION, _OFFSET = 9, 14
_LARGEST: Final = 2**63 - 1


@dataclass(frozen=True, slots=True, kw_only=True)
class _Interface:
    """An interface of a section: its link type, ticks of its clock in a second, and its zero."""

    link_type: int
    ticks: int
    zero_s: int

    def time_ns(self, high: int, low: int) -> int:
        seconds, rest = divmod(high << 32 | low, self.ticks)
        return (self.zero_s + seconds) * 1_000_000_000 + rest * 1_000_000_000 // self.ticks


@dataclass(slots=True, kw_only=True)
class Blocks:
    """Packet blocks of a file, in its order.

    `rows` has four numbers of each: its bytes' place, how many were kept, how many there were on
    the wire, and the time in ns. `link_type` is that of the first; those of another one are left
    out, as are damaged ones and those without a time. `problems` says so.
    """

    link_type: int = 1
    rows: "array[int]" = field(default_factory=lambda: array("q"))
    problems: list[str] = field(default_factory=list)

    @property
    def columns(self) -> Ints:
        """The rows as an array, (packets, 4)."""
        return np.array(self.rows, dtype=np.int64).reshape(-1, 4)


def read_blocks(path: Path, data: Any, most: int) -> Blocks:
    """Index the packet blocks of a file, at most the first `most` blocks of any kind.

    Raises
    ------
    CaptureError
        It does not begin with a section.
    """
    found = Blocks()
    view = memoryview(data)
    interfaces: list[_Interface] = []
    left_out: Counter[str] = Counter()
    packets = 0
    for order, kind, at, size in _blocks(path, view, most, found.problems):
        if kind == _SECTION:
            interfaces = []
        elif kind == _INTERFACE:
            interfaces.append(_interface(view[at : at + size], order))
        elif kind in (_PACKET, _OLD_PACKET, _SIMPLE_PACKET):
            packets += 1
            why = _add(found, view, (order, kind, at, size), interfaces)
            if why:
                left_out[why] += 1
    if left_out:
        why = ", ".join(f"{count} {why}" for why, count in left_out.items())
        count = sum(left_out.values())
        found.problems.append(f"{count} of {packets} pcapng packet blocks are left out: {why}")
    return found


def _blocks(
    path: Path, view: memoryview, most: int, problems: list[str]
) -> Iterator[tuple[str, int, int, int]]:
    """Byte order, type, place and size of each block, up to the end or the first damaged one."""
    order = ""
    at, count = 0, 0
    while at < len(view):
        if count == most:
            upto = f"up to byte {at} of {len(view)}"
            problems.append(f"only the first {most} pcapng blocks are read, {upto}")
            return
        if bytes(view[at : at + 4]) == MAGIC:
            order = _BYTE_ORDERS.get(bytes(view[at + 8 : at + 12]), "")
        if not order:
            if not count:
                raise CaptureError(f"{path}: not a readable pcapng file: it begins with no section")
            problems.append(f"the pcapng file is damaged at byte {at}: a section of no byte order")
            return
        kind, size = struct.unpack_from(order + "2I", view, at) if at + 8 <= len(view) else (0, 0)
        end = at + size
        sound = size >= _LEAST_BYTES and size % 4 == 0 and end <= len(view)
        if not sound or struct.unpack_from(order + "I", view, end - 4) != (size,):
            problems.append(f"the pcapng file is cut off or damaged at byte {at}")
            return
        yield order, kind, at, size
        at, count = end, count + 1


def _interface(block: memoryview, order: str) -> _Interface:
    """Read an interface's description; microseconds where it does not name a resolution."""
    link_type = struct.unpack_from(order + "H", block, 8)[0] if len(block) >= 20 else -1
    ticks, zero_s, at = 1_000_000, 0, 16
    while at + 4 <= len(block) - 4:
        code, size = struct.unpack_from(order + "2H", block, at)
        value = block[at + 4 : at + 4 + size]
        if code == 0:
            break
        if code == _RESOLUTION and len(value) == 1:
            power = value[0] & 0x7F
            ticks = 1 << power if value[0] & 0x80 else 10**power
        elif code == _OFFSET and len(value) == 8:
            (zero_s,) = struct.unpack(order + "q", value)
        at += 4 + size + -size % 4
    return _Interface(link_type=link_type, ticks=ticks, zero_s=zero_s)


def _add(
    found: Blocks,
    view: memoryview,
    block: tuple[str, int, int, int],
    interfaces: list[_Interface],
) -> str:
    """Add a packet block; return why it is left out, or an empty string."""
    order, kind, at, size = block
    if kind == _SIMPLE_PACKET:
        return "without a time"
    if size < _PACKET_AT + 4:
        return "damaged"
    number, high, low, kept, original = struct.unpack_from(order + "5I", view, at + 8)
    if kind == _OLD_PACKET:
        (number,) = struct.unpack_from(order + "H", view, at + 8)
    if number >= len(interfaces) or _PACKET_AT + kept + 4 > size or not original:
        return "damaged"
    interface = interfaces[number]
    if not found.rows:
        found.link_type = interface.link_type
    if interface.link_type != found.link_type:
        return "of another link type"
    time_ns = interface.time_ns(high, low)
    if not -_LARGEST <= time_ns <= _LARGEST:
        return "damaged"
    found.rows.extend((at + _PACKET_AT, kept, original, time_ns))
    return ""
