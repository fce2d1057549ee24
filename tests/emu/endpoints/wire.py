"""A second reader of captures, kept apart from the emulator's own: small, slow, for clean TCP."""

import struct
from dataclasses import dataclass
from pathlib import Path

DATA, HEADERS, RST_STREAM, SETTINGS, WINDOW_UPDATE = 0, 1, 3, 4, 8
PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"


@dataclass(frozen=True)
class Frame:
    """One frame; `at` orders the capture by when the frame's last byte was seen."""

    at: int
    from_responder: bool
    kind: int
    stream: int
    payload: bytes

    @property
    def size(self) -> int:
        return len(self.payload)

    @property
    def increment(self) -> int:
        return int.from_bytes(self.payload[:4], "big")


def read_frames(file: Path, port: int) -> list[Frame]:
    """All frames of the one connection, both ways, in the order in which they were complete."""
    segments = list(_segments(file.read_bytes()))
    frames = []
    for from_responder in (False, True):
        chunks = [
            (at, seq, data)
            for at, (source, seq, data) in enumerate(segments)
            if (source == port) == from_responder and data
        ]
        frames += _walk(chunks, from_responder)
    return sorted(frames, key=lambda frame: frame.at)


def _segments(raw: bytes):
    at = 24
    while at < len(raw):
        length = struct.unpack_from("<I", raw, at + 8)[0]
        packet = raw[at + 16 : at + 16 + length]
        at += 16 + length
        ip = packet[14:]
        tcp = ip[(ip[0] & 15) * 4 : struct.unpack_from(">H", ip, 2)[0]]
        source, _, seq = struct.unpack_from(">HHI", tcp)
        yield source, seq, tcp[(tcp[12] >> 4) * 4 :]


def _walk(chunks, from_responder: bool) -> list[Frame]:
    """Reassemble by sequence number; note when each byte became usable."""
    if not chunks:
        return []
    base = chunks[0][1]
    stream = bytearray()
    usable: list[tuple[int, int]] = []
    held: dict[int, bytes] = {}
    for at, seq, data in chunks:
        held[(seq - base) % 2**32] = data
        while (ready := next((p for p in held if p <= len(stream)), None)) is not None:
            part = held.pop(ready)
            stream += part[len(stream) - ready :]
        usable.append((len(stream), at))
    assert not held, "the capture misses a segment"
    position = 0 if from_responder else len(PREFACE)
    frames = []
    cursor = 0
    while position + 9 <= len(stream):
        size = int.from_bytes(stream[position : position + 3], "big")
        end = position + 9 + size
        assert end <= len(stream), "the capture ends in mid-frame"
        while usable[cursor][0] < end:
            cursor += 1
        kind = stream[position + 3]
        number = int.from_bytes(stream[position + 5 : position + 9], "big") & 0x7FFFFFFF
        payload = bytes(stream[position + 9 : end])
        frames.append(Frame(usable[cursor][1], from_responder, kind, number, payload))
        position = end
    return frames
