"""Reader of capture files: position, lengths and capture time of each record.

Classic pcap, microseconds or nanoseconds, either byte order, and pcapng, plain or gzip. Record
bytes stay in the memory-mapped file; what is returned are offsets into it.
"""

import mmap
import struct
from array import array
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import numpy as np

from emu.capture.arrays import Bytes, Ints, ints
from emu.capture.gunzip import gunzip
from emu.capture.pcapng import MAGIC as PCAPNG_MAGIC
from emu.capture.pcapng import read_blocks
from netcosim.errors import CaptureError
from netcosim.user_files import open_regular

FILE_HEADER_BYTES = 24
RECORD_HEADER_BYTES = 16
# tcpdump never writes a longer record; a longer one means that the walk is off the track.
LONGEST_RECORD_BYTES = 1 << 20

# Some 450 bytes of memory each, while they are analysed.
MOST_RECORDS = 5_000_000
_GATHERED = 1 << 16

GZIP_MAGIC = b"\x1f\x8b"
# Magic as it lies in the file -> struct's byte order, nanoseconds of one unit of the fraction.
CLASSIC_MAGICS = {
    b"\xa1\xb2\xc3\xd4": (">", 1000),
    b"\xd4\xc3\xb2\xa1": ("<", 1000),
    b"\xa1\xb2\x3c\x4d": (">", 1),
    b"\x4d\x3c\xb2\xa1": ("<", 1),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Records:
    """Every whole record of a capture file, in the order of the file.

    `at` is the place of a record's first captured byte in `data`, `captured` how many bytes
    were kept and `original` how many there were on the wire.
    """

    data: Bytes
    link_type: int
    at: Ints
    captured: Ints
    original: Ints
    time_ns: Ints
    truncated: bool
    problems: tuple[str, ...]


def read_records(path: Path) -> Records:
    """Index the records of a capture file.

    Raises
    ------
    CaptureError
        It can't be opened, or is not a capture file. A file that is cut off is none of these:
        what is whole is used, `truncated` is set and `problems` says so.
    """
    problems: list[str] = []
    try:
        with open_regular(path) as file, _plain(path, file, problems) as plain:
            data = _map(plain)
    except OSError as problem:
        raise CaptureError(f"{path}: can't be read: {problem.strerror or problem}") from None
    return _index(path, data, problems)


def _plain(path: Path, file: IO[bytes], problems: list[str]) -> IO[bytes]:
    """Return the file uncompressed, through a temporary file where it is not."""
    magic = file.read(4) or b""  # none of what has nothing to give yet
    file.seek(0)
    if magic[:2] == GZIP_MAGIC:
        file = gunzip(path, file, problems, (*CLASSIC_MAGICS, PCAPNG_MAGIC))
    return file


def _map(file: IO[bytes]) -> Bytes:
    file.seek(0, 2)
    if file.tell() == 0:
        return np.zeros(0, dtype=np.uint8)
    # numpy keeps the mapping alive as long as an array looks into it.
    return np.frombuffer(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ), dtype=np.uint8)


def _index(path: Path, data: Bytes, problems: list[str]) -> Records:
    if data.size < FILE_HEADER_BYTES:
        raise CaptureError(f"{path}: {data.size} bytes: too short for a capture file")
    magic = bytes(data[:4])
    if magic == PCAPNG_MAGIC:
        return _of_blocks(path, data, problems)
    if magic not in CLASSIC_MAGICS:
        raise CaptureError(f"{path}: not a capture file: starts with {magic.hex()}")
    order, tick_ns = CLASSIC_MAGICS[magic]
    (link_type,) = struct.unpack(order + "I", bytes(data[20:24]))
    headers, cut = _walk(data, order)
    if cut:
        problems.append(cut)
    words = _words(data, headers, order)
    return Records(
        data=data,
        link_type=link_type & 0xFFFF,  # the upper half may tell the length of an FCS
        at=headers + RECORD_HEADER_BYTES,
        captured=words[:, 2],
        original=words[:, 3],
        time_ns=words[:, 0] * 1_000_000_000 + words[:, 1] * tick_ns,
        truncated=bool(problems),
        problems=tuple(problems),
    )


def _of_blocks(path: Path, data: Bytes, problems: list[str]) -> Records:
    blocks = read_blocks(path, data, MOST_RECORDS)
    at, captured, original, time_ns = blocks.columns.T
    found = (*problems, *blocks.problems)
    return Records(
        data=data,
        link_type=blocks.link_type,
        at=at,
        captured=captured,
        original=original,
        time_ns=time_ns,
        truncated=bool(found),
        problems=found,
    )


def _words(data: Bytes, headers: Ints, order: str) -> Ints:
    """The four words of each record header, (records, 4); many at once, but not all."""
    found = np.empty((headers.size, 4), dtype=np.int64)
    for first in range(0, headers.size, _GATHERED):
        some = slice(first, first + _GATHERED)
        raw = data[headers[some][:, None] + np.arange(RECORD_HEADER_BYTES)]
        found[some] = raw.view(order + "u4")
    return found


def _walk(data: Any, order: str, most: int = MOST_RECORDS) -> tuple[Ints, str]:
    """Offsets of the headers of all whole records, and why the walk ended early, if it did."""
    lengths_at = struct.Struct(order + "2I").unpack_from
    view, size = memoryview(data), len(data)
    headers = array("q")
    at, cut = FILE_HEADER_BYTES, ""
    while at < size:
        if at + RECORD_HEADER_BYTES > size:
            cut = f"the file is cut off in a record header at byte {at}"
            break
        length, original = lengths_at(view, at + 8)
        if length > LONGEST_RECORD_BYTES:
            cut = f"the record at byte {at} claims {length} bytes: the rest can't be read"
            break
        if not original:
            cut = f"the record at byte {at} is of a packet of no bytes: the rest can't be read"
            break
        if len(headers) == most:
            cut = f"only the first {most} packets are read, up to byte {at} of {size}"
            break
        after = at + RECORD_HEADER_BYTES + length
        if after > size:
            cut = f"the file is cut off in the record at byte {at}"
            break
        headers.append(at)
        at = after
    return np.frombuffer(headers, dtype=np.int64) if headers else ints(), cut
