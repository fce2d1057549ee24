"""Resynchronisation: search for HTTP/2 frames in a stream that was not captured whole.

A frame's header says little of itself: a length, a type, flags, a stream. But it also says where
the next header stands, and several in a row that all obey RFC 9113 do not come about by chance.
"""

from typing import Final

import numpy as np

from emu.capture.arrays import Bytes, Ints, ints
from emu.capture.frames import HEADER_BYTES, Kind
from emu.capture.reassembly import ByteStream, Reader

CHAIN: Final = 4
"""Headers in a row that make a chain plausible; fewer do right before the captured end."""

_LONGEST_FRAME: Final = (1 << 24) - 1
_AT_ONCE: Final = 1 << 19
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

    Only streams that a client opened (odd numbers) are looked at, and no more bytes from `since` on
    than the longest frame has, in whose midst it can be.
    """
    until = min(stream.end, since + _LONGEST_FRAME + HEADER_BYTES)
    for begin in range(since, until, _AT_ONCE):
        size = min(_AT_ONCE, until - begin)
        content = np.frombuffer(reader.read(begin, size + HEADER_BYTES - 1), dtype=np.uint8)
        places, following = _headers(content)
        for at, onward in zip((begin + places).tolist(), (begin + following).tolist(), strict=True):
            if _is_chain(reader, stream.end, onward):
                return int(at)
    return None


def _is_chain(reader: Reader, end: int, at: int) -> bool:
    """True if enough headers stand in a row that goes on at `at`, behind the first of them."""
    for _ in range(CHAIN - 1):
        if at == end:
            return True
        places, following = _headers(np.frombuffer(reader.read(at, HEADER_BYTES), dtype=np.uint8))
        if not places.size:
            return False
        at += int(following[0])
    return True


def _headers(content: Bytes) -> tuple[Ints, Ints]:
    """Places at which a frame's header can stand, and the places of the headers behind."""
    count = content.size - HEADER_BYTES + 1
    if count <= 0:
        return ints(), ints()
    column = [content[at : at + count] for at in range(HEADER_BYTES)]
    # A glance at the narrow columns leaves little to look at.
    likely = _LIKELY[column[3]] & (column[5] < 0x80)
    places = np.flatnonzero(likely).astype(np.int64)
    byte = [each[places].astype(np.int64) for each in column]
    length = byte[0] << 16 | byte[1] << 8 | byte[2]
    kind, flags = byte[3], byte[4]
    stream = byte[5] << 24 | byte[6] << 16 | byte[7] << 8 | byte[8]
    sound = flags & ~_ALLOWED[kind] == 0
    sound &= (_SIZE[kind] < 0) | (length == _SIZE[kind])
    settings = kind == Kind.SETTINGS
    sound &= ~settings | (length % 6 == 0) & ((flags == 0) | (length == 0))
    connection = np.isin(kind, _ON_CONNECTION) | (kind == Kind.WINDOW_UPDATE) & (stream == 0)
    sound &= np.where(connection, stream == 0, stream & 1 == 1)
    places = places[sound]
    return places, places + HEADER_BYTES + length[sound]


_ALLOWED, _SIZE = np.full(256, -1), np.full(256, -1)
for _number, _bits in _FLAGS.items():
    _ALLOWED[_number] = _bits
for _number, _size in _FIXED.items():
    _SIZE[_number] = _size
_LIKELY = _ALLOWED >= 0
