"""Parser of the HTTP/2 frames in a byte stream (RFC 9113, sections 3.4 and 4.1).

The walk hops from header to header and reads payloads of control frames only. What breaks a
rule of the RFC ends the walk with the reason: behind a wrong length nothing can be trusted.
"""

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from emu.capture.arrays import Ints, Mask, ints
from emu.capture.reassembly import ByteStream, Flaw, Reader

PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
HEADER_BYTES = 9
END_STREAM, END_HEADERS, PADDED, PRIORITY_FLAG = 0x1, 0x4, 0x8, 0x20
SETTINGS_ACK = PING_ACK = 0x1
_ID_MASK = (1 << 31) - 1


class Kind:
    """Frame types (RFC 9113, section 6), as plain integers: the walk compares many."""

    DATA = 0
    HEADERS = 1
    PRIORITY = 2
    RST_STREAM = 3
    SETTINGS = 4
    PUSH_PROMISE = 5
    PING = 6
    GOAWAY = 7
    WINDOW_UPDATE = 8
    CONTINUATION = 9


_ON_STREAMS = frozenset((0, 1, 2, 3, 5, 9))
_ON_CONNECTION = frozenset((4, 6, 7))
_LENGTHS: dict[int, int] = {
    Kind.PRIORITY: 5,
    Kind.RST_STREAM: 4,
    Kind.PING: 8,
    Kind.WINDOW_UPDATE: 4,
}
_NAMES = {value: name for name, value in vars(Kind).items() if name.isupper()}
_MAY_BE_PADDED = frozenset((Kind.DATA, Kind.HEADERS, Kind.PUSH_PROMISE))


@dataclass(frozen=True, slots=True, kw_only=True)
class Frames:
    """The frames of one direction in stream order; all arrays have the same length.

    `at` is the stream offset of a frame's header, `length` the payload's as the header says,
    `seen` how much of the payload was captured (less only in the last frame of a capture that
    is cut off, and in others than DATA that were captured in part), `padding` the bytes that
    padding takes, its length byte included. `lost` counts the places at which frames are missing.
    `flaw` is why they end early, if they do.
    """

    at: Ints
    length: Ints
    seen: Ints
    kind: Ints
    flags: Ints
    stream: Ints
    padding: Ints
    flaw: Flaw | None
    lost: int = 0

    def of(self, *kinds: int) -> Ints:
        """Places of the frames of these types."""
        wanted = self.kind == kinds[0]
        for kind in kinds[1:]:
            wanted |= self.kind == kind
        return np.flatnonzero(wanted)

    def whole(self) -> Mask:
        """Mask of the frames that were captured to their end."""
        captured: Mask = self.seen == self.length
        return captured

    def upto(self, count: int, flaw: Flaw) -> "Frames":
        """Return only the first `count` frames, with the flaw that ends them."""
        names = ("at", "length", "seen", "kind", "flags", "stream", "padding")
        kept = {name: getattr(self, name)[:count] for name in names}
        return Frames(flaw=flaw, lost=self.lost, **kept)


class _Rules:
    """Check of one side's frame sequence against RFC 9113, as far as its own frames show."""

    def __init__(self, *, from_middle: bool = False) -> None:
        self._from_middle = from_middle  # then streams may have been opened before
        self._open: set[int] = set()
        self._ended: set[int] = set()
        self._block = 0  # the stream whose header block is not finished

    def broken(self, kind: int, length: int, flags: int, stream: int) -> str:
        """Record a frame; return the rule that it breaks, or an empty string."""
        if self._block and (kind != Kind.CONTINUATION or stream != self._block):
            return f"a header block of stream {self._block} is not continued"
        wrong = _misplaced(kind, length, flags, stream)
        if wrong:
            return wrong
        if kind == Kind.DATA:
            if stream not in self._open and not self._from_middle:
                return f"DATA on stream {stream} without HEADERS"
            if stream in self._ended:
                return f"DATA on stream {stream} after its end"
        elif kind == Kind.HEADERS:
            if stream in self._ended:
                return f"HEADERS on stream {stream} after its end"
            self._open.add(stream)
        elif kind == Kind.CONTINUATION and not self._block:
            return "CONTINUATION without a header block"
        self._note(kind, flags, stream)
        return ""

    def _note(self, kind: int, flags: int, stream: int) -> None:
        if kind in (Kind.HEADERS, Kind.PUSH_PROMISE, Kind.CONTINUATION):
            self._block = 0 if flags & END_HEADERS else stream
        if kind in (Kind.DATA, Kind.HEADERS) and flags & END_STREAM:
            self._ended.add(stream)


def _misplaced(kind: int, length: int, flags: int, stream: int) -> str:
    """Check a frame's length and stream against its type."""
    name = _NAMES.get(kind, f"type {kind}")
    if (stream == 0 and kind in _ON_STREAMS) or (stream and kind in _ON_CONNECTION):
        return f"{name} on stream {stream}"
    if length != _LENGTHS.get(kind, length):
        return f"{name} of {length} bytes"
    if kind == Kind.SETTINGS and (length % 6 or (flags & SETTINGS_ACK and length)):
        return f"SETTINGS of {length} bytes"
    if kind == Kind.GOAWAY and length < 8:
        return f"GOAWAY of {length} bytes"
    return ""


_HTTP_1 = (b"HTTP/1", b"GET ", b"POST ", b"PUT ", b"OPTIONS ", b"HEAD ")
_SWITCHED = b"HTTP/1.1 101 "
_END_OF_HEAD = b"\r\n\r\n"
MOST_BEFORE_BYTES = 65_536
"""Most bytes of HTTP/1 before a connection is upgraded to HTTP/2."""


def opening(reader: Reader, *, client: bool) -> tuple[int, str]:
    """Offset of the first frame, and the reason if this is not HTTP/2.

    A client starts with the preface; a server with SETTINGS, which are no acknowledgement. Both may
    have spoken HTTP/1 before (`Upgrade: h2c`, RFC 7540, section 3.2).
    """
    head = reader.read(0, len(PREFACE))
    if not head:
        return 0, ""
    if head[0] in (0x16, 0x17) and head[1:2] in (b"\x03", b""):  # handshake, application data
        return 0, "TLS: can't be read"
    at = 0
    if head.startswith(_HTTP_1):
        at = _upgraded(reader, client=client)
        if not at:
            return 0, "HTTP/1, not HTTP/2 with prior knowledge"
        head = reader.read(at, len(PREFACE))
    if client:
        known = PREFACE.startswith(head)
        return at + len(head), "" if known else f"not HTTP/2: starts with {head[:8].hex()}"
    if len(head) >= HEADER_BYTES:
        length, kind, flags = int.from_bytes(head[:3]), head[3], head[4]
        first = kind == Kind.SETTINGS and not flags & SETTINGS_ACK
        if not first or _misplaced(kind, length, flags, int.from_bytes(head[5:9])):
            return at, f"not HTTP/2: starts with {head[:8].hex()}"
    return at, ""


def _upgraded(reader: Reader, *, client: bool) -> int:
    """Offset at which HTTP/2 begins behind HTTP/1; 0 if it does not."""
    content = reader.read(0, MOST_BEFORE_BYTES)
    if client:
        return max(0, content.find(PREFACE))
    switched = content.find(_SWITCHED)
    end = content.find(_END_OF_HEAD, switched) if switched >= 0 else -1
    return end + len(_END_OF_HEAD) if end >= 0 else 0


MOST_SEARCHES = 64
"""Most searches for frames behind holes, before a direction is given up."""

Search = Callable[[int], int | None]


def walk(
    reader: Reader,
    stream: ByteStream,
    first: int,
    *,
    from_middle: bool = False,
    search: Search | None = None,
) -> Frames:
    """Find all frames from stream offset `first` on, up to the end or the first broken rule.

    `search` finds the next frame from some offset on; it is asked where a hole took a header.
    """
    walked = _Walk(reader=reader, end=stream.end, rules=_Rules(from_middle=from_middle))
    at: int | None = first
    while at is not None and at < stream.end:
        behind = reader.hole_within(at, HEADER_BYTES)
        at = walked.resume(at, behind, search) if behind else walked.frame(at)
    columns = ints(walked.rows).reshape(-1, 7).T
    names = ("at", "length", "seen", "kind", "flags", "stream", "padding")
    flaw, lost = walked.flaw, walked.lost
    if lost and flaw is None:
        found = f"{lost} times headers of frames were not captured, the next frames were found"
        flaw = Flaw(at=0, text=found)
    return Frames(flaw=flaw, lost=lost, **dict(zip(names, columns, strict=True)))


@dataclass(slots=True, kw_only=True)
class _Walk:
    """Frames that a walk has found; its methods return the offset to go on at, None at the end."""

    reader: Reader
    end: int
    rules: _Rules
    rows: list[tuple[int, ...]] = field(default_factory=list)
    flaw: Flaw | None = None
    lost: int = 0

    def resume(self, at: int, behind: int, search: Search | None) -> int | None:
        """Search for the next frame from `behind` on, as a hole took the header at `at`."""
        self.lost += 1
        found = search(behind) if search is not None and self.lost <= MOST_SEARCHES else None
        if found is None:
            self.flaw = Flaw(at=at, text=f"the header of a frame at byte {at} was not captured")
        self.rules = _Rules(from_middle=True)
        return found

    def frame(self, at: int) -> int | None:
        """Parse the frame at `at` and add it."""
        head = self.reader.read(at, HEADER_BYTES)
        if len(head) < HEADER_BYTES:
            self.flaw = Flaw(at=self.end, text=f"ends in the header of a frame at byte {at}")
            return None
        length, kind, flags = head[0] << 16 | head[1] << 8 | head[2], head[3], head[4]
        identity = int.from_bytes(head[5:]) & _ID_MASK
        broken = self.rules.broken(kind, length, flags, identity)
        padding = 0
        if not broken and flags & PADDED and kind in _MAY_BE_PADDED:
            padding = 1 + (self.reader.read(at + HEADER_BYTES, 1) or b"\0")[0]
            broken = "more padding than payload" if padding > length else ""
        if broken:
            self.flaw = Flaw(at=at, text=f"broken at byte {at}: {broken}")
            return None
        seen = self._seen(at, length, kind)
        self.rows.append((at, length, seen, kind, flags, identity, padding))
        return at + HEADER_BYTES + length

    def _seen(self, at: int, length: int, kind: int) -> int:
        """Captured bytes of a frame's payload; 0 where a hole hides its content.

        In DATA a hole does not matter.
        """
        seen = min(length, self.end - at - HEADER_BYTES)
        if seen < length:
            ends = f"ends in a frame at byte {at}: {seen} of {length} bytes"
            self.flaw = Flaw(at=self.end, text=ends)
        elif kind != Kind.DATA and seen and self.reader.hole_within(at + HEADER_BYTES, seen):
            return 0
        return seen
