"""Conversion of pcapng files, read by scapy, to classic pcap for the fast reader."""

import logging
import struct
import tempfile
from itertools import count
from pathlib import Path
from typing import IO, TYPE_CHECKING

from netcosim.errors import CaptureError

if TYPE_CHECKING:
    from scapy.utils import RawPcapNgReader

MAGIC = b"\x0a\x0d\x0d\x0a"
_BYTE_ORDER_MAGICS = {b"\x1a\x2b\x3c\x4d": ">", b"\x4d\x3c\x2b\x1a": "<"}
_PACKET_BLOCKS = (2, 3, 6)
MOST_BLOCKS = 1_000_000
"""Most blocks of a file: scapy takes some 20 us for each, and what it writes is read once more."""
_DAMAGE = (
    EOFError, struct.error, ValueError, LookupError, TypeError, ArithmeticError, MemoryError,
)  # fmt: skip


# What it would warn of is reported in `problems`.
logging.getLogger("scapy").setLevel(logging.ERROR)


def as_classic(path: Path, file: IO[bytes], problems: list[str]) -> IO[bytes]:
    """Rewrite a pcapng file as nanosecond pcap in a temporary file.

    Only records of the first record's link type are kept. What is left out, for this or
    because the file is damaged, is reported in `problems`.

    Raises
    ------
    CaptureError
        There is no section that could be read.
    """
    # Here, as it writes to the home folder when it is imported: before a run is isolated, too.
    from scapy.error import Scapy_Exception
    from scapy.utils import RawPcapNgReader

    expected = _count_packets(path, file, problems)
    classic = tempfile.TemporaryFile()  # noqa: SIM115 - closed once it is mapped
    classic.write(_file_header(1))
    kept = 0
    try:
        reader = RawPcapNgReader(file)
        link_type: int | None = None
        for data, meta in reader:
            if link_type is None:
                link_type = int(meta.linktype)
                classic.seek(0)
                classic.write(_file_header(link_type))
            if meta.linktype == link_type:
                classic.write(_record(data, meta.tshigh << 32 | meta.tslow, meta))
                kept += 1
    except (Scapy_Exception, *_DAMAGE) as problem:
        if not kept:
            classic.close()
            raise CaptureError(f"{path}: not a readable pcapng file: {problem}") from None
    if kept != expected:
        problems.append(f"{expected - kept} of {expected} pcapng packet blocks are left out")
    classic.seek(0)
    return classic


def _count_packets(path: Path, file: IO[bytes], problems: list[str]) -> int:
    """Count the packet blocks, since scapy takes a damaged block for the end of the file.

    Raises
    ------
    CaptureError
        There are more blocks than `MOST_BLOCKS`.
    """
    size = file.seek(0, 2)
    at, packets, order = 0, 0, "<"
    for blocks in count():
        if at >= size:
            break
        if blocks == MOST_BLOCKS:
            how = f"must have at most {MOST_BLOCKS}; as pcap it may have more (editcap -F nsecpcap)"
            raise CaptureError(f"{path}: more than {MOST_BLOCKS} pcapng blocks: {how}")
        file.seek(at)
        head = file.read(12)
        if head[:4] == MAGIC:
            order = _BYTE_ORDER_MAGICS.get(head[8:], order)
        kind, length = struct.unpack(order + "2I", head[:8]) if len(head) == 12 else (0, 0)
        if length < 12 or at + length > size:
            problems.append(f"the pcapng file is cut off or damaged at byte {at}")
            break
        packets += kind in _PACKET_BLOCKS
        at += length
    file.seek(0)
    return packets


def _record(data: bytes, ticks: int, meta: "RawPcapNgReader.PacketMetadata") -> bytes:
    seconds, rest = divmod(ticks, meta.tsresol)
    fraction = rest * 1_000_000_000 // meta.tsresol
    return struct.pack("<4I", seconds, fraction, len(data), meta.wirelen) + data


def _file_header(link_type: int) -> bytes:
    return struct.pack("<I2H4I", 0xA1B23C4D, 2, 4, 0, 0, 1 << 18, link_type & 0xFFFF)
