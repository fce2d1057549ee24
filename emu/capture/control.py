"""Contents of HTTP/2 control frames: settings, window updates, pings, resets, request paths.

scapy parses RST_STREAM and GOAWAY. WINDOW_UPDATEs and settings can be as many as DATA frames,
and scapy needs about 0.1 ms for each, so their few bytes are read directly.
"""

import base64
import re
import struct
from dataclasses import dataclass

from emu.capture.arrays import Ints, Mask, ints
from emu.capture.frames import (
    END_HEADERS,
    HEADER_BYTES,
    MOST_BEFORE_BYTES,
    PING_ACK,
    PRIORITY_FLAG,
    Frames,
    Kind,
)
from emu.capture.reassembly import Flaw, Reader

INITIAL_WINDOW_SIZE, MAX_FRAME_SIZE = 4, 5

_UPGRADE_SETTINGS = re.compile(rb"\r\nHTTP2-Settings:[ \t]*([\w-]+)", re.IGNORECASE | re.ASCII)

_LARGEST_TABLE = 1 << 24  # of HPACK; the peer's limit need not be known to decode


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """One value of a SETTINGS frame; `frame` is the frame's place in its direction."""

    frame: int
    number: int
    value: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Control:
    """One direction's control frames; `frame` and the like are places in its `Frames`."""

    settings: tuple[Setting, ...]
    updates: Ints
    increments: Ints
    pings: Ints
    ping_acks: Ints
    resets: tuple[tuple[int, int], ...]  # frame, error code
    goaways: tuple[tuple[int, int, int], ...]  # frame, last stream, error code


def upgrade_window(reader: Reader, behind: int) -> int | None:
    """Initial window that a request announced which ends before `behind` and asks for an upgrade.

    It counts as if a SETTINGS frame had said so (RFC 7540, section 3.2.1).
    """
    found = _UPGRADE_SETTINGS.search(reader.read(0, min(behind, MOST_BEFORE_BYTES)))
    if found is None or len(found[1]) % 4 == 1:
        return None
    payload = base64.urlsafe_b64decode(found[1] + b"=" * (-len(found[1]) % 4))
    pairs = struct.iter_unpack("!HI", payload[: len(payload) // 6 * 6])
    windows = [value for number, value in pairs if number == INITIAL_WINDOW_SIZE]
    return windows[-1] if windows and windows[-1] < 1 << 31 else None


def read_control(reader: Reader, frames: Frames) -> Control:
    """Read the control frames that were captured whole."""
    whole = frames.whole()
    updates = _whole(frames.of(Kind.WINDOW_UPDATE), whole)
    payloads = (reader.read(at + HEADER_BYTES, 4) for at in frames.at[updates].tolist())
    pings = _whole(frames.of(Kind.PING), whole)
    acks = frames.flags[pings] & PING_ACK != 0
    resets, goaways = _ends(reader, frames, whole)
    return Control(
        settings=_settings(reader, frames, whole),
        updates=updates,
        increments=ints([int.from_bytes(payload) & 0x7FFFFFFF for payload in payloads]),
        pings=pings[~acks],
        ping_acks=pings[acks],
        resets=resets,
        goaways=goaways,
    )


def _ends(
    reader: Reader, frames: Frames, whole: Mask
) -> tuple[tuple[tuple[int, int], ...], tuple[tuple[int, int, int], ...]]:
    """`resets` and `goaways` of `Control`."""
    resets = _whole(frames.of(Kind.RST_STREAM), whole).tolist()
    goaways = _whole(frames.of(Kind.GOAWAY), whole).tolist()
    if not resets and not goaways:
        return (), ()
    # Here, as it writes to the home folder when it is imported: before a run is isolated, too.
    from scapy.contrib.http2 import H2GoAwayFrame, H2ResetFrame

    last = {place: H2GoAwayFrame(_payload(reader, frames, place)) for place in goaways}
    return (
        tuple((at, int(H2ResetFrame(_payload(reader, frames, at)).error)) for at in resets),
        tuple((at, int(f.last_stream_id), int(f.error)) for at, f in last.items()),
    )


def request_paths(reader: Reader, frames: Frames) -> tuple[dict[int, str | None], Flaw | None]:
    """Decode the `:path` of each stream's first header block, for a client's direction.

    Returns
    -------
    paths
        By stream; None where the block has none.
    flaw
        Why decoding stopped, if it did: without one block the ones behind it can't be decoded.
    """
    import hpack  # only here: a plan of a run is made without it

    decoder = hpack.Decoder()
    decoder.max_allowed_table_size = _LARGEST_TABLE
    paths: dict[int, str | None] = {}
    for at, stream, block in _header_blocks(reader, frames):
        try:
            fields = decoder.decode(block, raw=True)
        except hpack.HPACKError as problem:
            text = f"headers of stream {stream} can't be decoded: {problem}"
            return paths, Flaw(at=at, text=text)
        if stream not in paths:
            found = [value for name, value in ((f[0], f[1]) for f in fields) if name == b":path"]
            paths[stream] = found[0].decode("utf-8", "replace") if found else None
    return paths, None


_REQUEST_FIRST = frozenset(
    (*range(0x81, 0x88), *(kind | name for kind in (0x00, 0x10, 0x40) for name in (1, 2, 4, 6)))
)
_RESPONSE_FIRST = frozenset((*range(0x88, 0x8F), 0x08, 0x18, 0x48))
"""First bytes of a header block that begins with a request's pseudo-header, with `:status`.

These are entries of HPACK's static table (1 to 7, 8 to 14), or literals with such a name (RFC 7541,
appendix A), so no table is needed to see them. Trailers begin with neither.
"""


def answers_less_requests(reader: Reader, frames: Frames) -> int:
    """Header blocks of a direction that begin as a response's, less those as a request's."""
    found = 0
    for place in frames.of(Kind.HEADERS)[:MOST_JUDGED].tolist():
        if frames.seen[place] == frames.length[place]:
            first = _fragment(reader, frames, place)[:1]
            found += bool(first) and first[0] in _RESPONSE_FIRST
            found -= bool(first) and first[0] in _REQUEST_FIRST
    return found


MOST_JUDGED = 1000
"""Most header blocks by which a direction is judged."""


def _header_blocks(reader: Reader, frames: Frames) -> list[tuple[int, int, bytes]]:
    """Stream offset, stream and bytes of each header block."""
    blocks: list[tuple[int, int, bytes]] = []
    parts: list[bytes] = []
    for place in frames.of(Kind.HEADERS, Kind.CONTINUATION).tolist():
        if frames.seen[place] < frames.length[place]:
            break
        parts.append(_fragment(reader, frames, place))
        if int(frames.flags[place]) & END_HEADERS:
            blocks.append((int(frames.at[place]), int(frames.stream[place]), b"".join(parts)))
            parts = []
    return blocks


def _fragment(reader: Reader, frames: Frames, place: int) -> bytes:
    """Header block fragment of a HEADERS or CONTINUATION frame (RFC 9113, section 6.2)."""
    at, length = int(frames.at[place]) + HEADER_BYTES, int(frames.length[place])
    padding = int(frames.padding[place])
    before = 1 if padding else 0
    if frames.kind[place] == Kind.HEADERS and int(frames.flags[place]) & PRIORITY_FLAG:
        before += 5
    after = padding - 1 if padding else 0
    return reader.read(at + before, length - before - after)


def _settings(reader: Reader, frames: Frames, whole: Mask) -> tuple[Setting, ...]:
    found = []
    for place in _whole(frames.of(Kind.SETTINGS), whole).tolist():
        found += [
            Setting(frame=place, number=number, value=value)
            for number, value in struct.iter_unpack("!HI", _payload(reader, frames, place))
        ]
    return tuple(found)


def _payload(reader: Reader, frames: Frames, place: int) -> bytes:
    return reader.read(int(frames.at[place]) + HEADER_BYTES, int(frames.length[place]))


def _whole(places: Ints, whole: Mask) -> Ints:
    return places[whole[places]]
