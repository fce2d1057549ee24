"""Resynchronisation: search for HTTP/2 frames in a stream that was not captured whole.

A frame's header says little of itself: a length, a type, flags, a stream. But it also says where
the next header stands, and several in a row that all obey RFC 9113 do not come about by chance.
"""

from typing import Any, Final

import numpy as np

from emu.capture.arrays import Mask, ints
from emu.capture.frames import HEADER_BYTES, Kind
from emu.capture.reassembly import ByteStream, Reader

CHAIN: Final = 4
"""Headers in a row that make a chain plausible."""

_SEARCHED_BYTES: Final = (1 << 17, 1 << 19)
_LONGEST_FRAME: Final = 1 << 20
_FLAGS: Final = {
    Kind.DATA: 0x09,
    Kind.HEADERS: 0x2D,
    Kind.PRIORITY: 0x00,
    Kind.RST_STREAM: 0x00,
    Kind.SETTINGS: 0x01,
    Kind.PING: 0x01,
    Kind.GOAWAY: 0x00,
    Kind.WINDOW_UPDATE: 0x00,
    Kind.CONTINUATION: 0x04,
}
_FIXED: Final = {Kind.PRIORITY: 5, Kind.RST_STREAM: 4, Kind.PING: 8, Kind.WINDOW_UPDATE: 4}
_ON_CONNECTION: Final = (Kind.SETTINGS, Kind.PING, Kind.GOAWAY)


def find_frames(reader: Reader, stream: ByteStream, since: int = 0) -> int | None:
    """Stream offset of the first header of a plausible chain; None if there is none.

    Only streams that a client opened (odd numbers) and the half megabyte from `since` on are
    looked at.
    """
    for size in _SEARCHED_BYTES:
        found = _first_chain(reader.read(since, min(stream.end - since, size)))
        if found is not None:
            return since + found
        if since + size >= stream.end:
            break
    return None


def _first_chain(content: bytes) -> int | None:
    head = np.frombuffer(content, dtype=np.uint8)
    if head.size < HEADER_BYTES:
        return None
    sound, following = _headers(head)
    # How many headers of a chain stand within the bytes that were searched, up to CHAIN.
    hops = sound.astype(np.int64)
    inside = sound & (following < sound.size)
    onward = following[inside]
    for _ in range(CHAIN - 1):
        chained = sound.astype(np.int64)
        broken = inside.copy()
        chained[inside] += hops[onward]
        broken[inside] = hops[onward] == 0
        chained[broken] = 0
        hops = chained
    ends = np.flatnonzero(hops >= CHAIN)
    return int(ends[0]) if ends.size else None


def _headers(head: Any) -> tuple[Mask, Any]:
    """Mask of the places that can be a frame's header, and the place of the header after each."""
    count = head.size - HEADER_BYTES + 1
    byte = [head[at : at + count].astype(np.int64) for at in range(HEADER_BYTES)]
    length = byte[0] << 16 | byte[1] << 8 | byte[2]
    kind, flags = byte[3], byte[4]
    stream = byte[5] << 24 | byte[6] << 16 | byte[7] << 8 | byte[8]
    allowed, fixed = np.full(256, -1), np.full(256, -1)
    for number, bits in _FLAGS.items():
        allowed[number] = bits
    for number, size in _FIXED.items():
        fixed[number] = size
    sound = (allowed[kind] >= 0) & (flags & ~allowed[kind] == 0) & (length <= _LONGEST_FRAME)
    sound &= (fixed[kind] < 0) | (length == fixed[kind])
    settings = kind == Kind.SETTINGS
    sound &= ~settings | (length % 6 == 0) & ((flags == 0) | (length == 0))
    connection = np.isin(kind, _ON_CONNECTION) | (kind == Kind.WINDOW_UPDATE) & (stream == 0)
    sound &= np.where(connection, stream == 0, (stream & 1 == 1) & (stream >> 31 == 0))
    return sound, ints(np.arange(count) + HEADER_BYTES + length)
