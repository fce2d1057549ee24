"""Damaged captures for fuzzing, each made from a seed alone.

Three layers are attacked: the HTTP/2 bytes (frames that lie, bombs, floods), the packets (lost,
doubled, moved, cut), and the file (bits, lengths, splices, truncation).
"""

import gzip
import random
import struct
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache

import h2.config
import h2.connection
import h2.settings

PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
CLIENT, SERVER = (b"\x0a\x00\x00\x01", 40000), (b"\x0a\x00\x00\x02", 50051)
SYN, ACK, FIN = 0x02, 0x10, 0x01

Messages = list[tuple[bool, bytes]]
"""Bytes that an end sends, each with True if it is the client."""


@dataclass(frozen=True, slots=True)
class Segment:
    """One TCP segment."""

    up: bool
    seq: int
    ack: int
    flags: int
    payload: bytes
    time_ns: int


Rng = random.Random


def mutant(seed: int) -> tuple[str, bytes]:
    """Make one damaged capture; return the names of its mutations, and the file's bytes."""
    rng = random.Random(seed)
    done: list[str] = []

    def apply(named: Callable[..., None] | Callable[..., bytes], *arguments: object) -> object:
        done.append(named.__name__.strip("_"))
        return named(rng, *arguments)

    messages = [*_talk(rng.randrange(6))]
    if rng.random() < 0.5:
        apply(rng.choice(_TALK), messages)
    segments = _segments(messages, rng)
    for _ in range(rng.choice((0, 0, 1, 1, 3))):
        apply(rng.choice(_PACKETS), segments)
    content = _pcapng(segments) if rng.random() < 0.15 else _pcap(segments, rng)
    for _ in range(rng.choice((0, 1, 1, 2)) if done else 1):
        data = bytearray(content)
        apply(rng.choice(_FILE), data)
        content = bytes(data)
    if rng.random() < 0.1:
        content = gzip.compress(content, 1, mtime=0)
        if rng.random() < 0.5:
            data = bytearray(content)
            apply(rng.choice(_FILE), data)
            content = bytes(data)
    return "+".join(done), content


@cache
def _talk(number: int) -> tuple[tuple[bool, bytes], ...]:
    """Bytes that two real `h2` ends exchange, in one of six settings."""
    streams = (1, 3, 8, 4, 40, 6)[number]
    size = (30_000, 12_000, 6_000, 9_000, 300, 5_000)[number]
    window = (65_535, 8_000, 2**31 - 1, 16_384, 65_535, 2_000)[number]
    client = h2.connection.H2Connection(h2.config.H2Configuration(client_side=True))
    server = h2.connection.H2Connection(h2.config.H2Configuration(client_side=False))
    said: list[tuple[bool, bytes]] = []

    def flush() -> None:
        while (up := client.data_to_send()) or (down := server.data_to_send()):
            if up:
                said.append((True, up))
                server.receive_data(up)
                continue
            said.append((False, down))
            for event in client.receive_data(down):
                taken = getattr(event, "flow_controlled_length", 0)
                if taken:
                    client.acknowledge_received_data(taken, event.stream_id)

    client.local_settings = h2.settings.Settings(
        client=True, initial_values={h2.settings.SettingCodes.INITIAL_WINDOW_SIZE: window}
    )
    client.initiate_connection()
    server.initiate_connection()
    flush()
    numbers = [2 * n + 1 for n in range(streams)]
    for stream in numbers:
        client.send_headers(
            stream,
            [
                (":method", "POST"),
                (":scheme", "http"),
                (":path", f"/p{stream}"),
                (":authority", "x"),
            ],
            end_stream=True,
        )
    flush()
    left = dict.fromkeys(numbers, size)
    for stream in numbers:
        server.send_headers(stream, [(":status", "200"), ("content-type", "x")])
    while left:
        for stream in list(left):
            step = min(left[stream], 1 + size // 3, server.local_flow_control_window(stream))
            server.send_data(stream, bytes(step), end_stream=step == left[stream])
            left[stream] -= step
            if not left[stream]:
                del left[stream]
            flush()
    if number % 2:
        client.ping(b"12345678")
        flush()
    return tuple(said)


def _frame(kind: int, flags: int, stream: int, payload: bytes = b"", length: int = -1) -> bytes:
    size = len(payload) if length < 0 else length
    return struct.pack("!I", size)[1:] + struct.pack("!BBI", kind, flags, stream) + payload


def _insert(rng: Rng, messages: Messages, content: bytes, *, up: bool) -> None:
    """Insert `content` at some place after the beginning."""
    messages.insert(rng.randint(min(3, len(messages)), len(messages)), (up, content))


def _frame_length(rng: Rng, messages: Messages) -> None:
    """A frame that says another length than it has."""
    length = rng.choice((0, 1, 5, 16_385, 1 << 20, (1 << 24) - 1, rng.randrange(1 << 24)))
    kind = rng.randrange(12)
    _insert(rng, messages, _frame(kind, 0, rng.choice((0, 1, 3)), bytes(20), length), up=_coin(rng))


def _hpack_bomb(rng: Rng, messages: Messages) -> None:
    """One long entry in the table, and thousands of references to it."""
    entry = b"\x40\x01a\x7f\x81\x1e" + b"x" * 4000
    block = entry + b"\xbe" * rng.choice((100, 1000, 12_000))
    _insert(rng, messages, _frame(1, 5, 999, block[:16_384]), up=True)


def _hpack_noise(rng: Rng, messages: Messages) -> None:
    """A header block that is none."""
    block = rng.randbytes(rng.randrange(300))
    _insert(rng, messages, _frame(1, rng.randrange(256), 2 * rng.randrange(50) + 1, block), up=True)


def _huge_settings(rng: Rng, messages: Messages) -> None:
    """Thousands of settings, among them windows that go up and down."""
    rows = [
        struct.pack("!HI", rng.choice((4, 4, 5, 1, rng.randrange(1 << 16))), rng.getrandbits(32))
        for _ in range(rng.choice((1, 10, 10, 2730)))
    ]
    for _ in range(rng.choice((1, 1, 5, 20))):
        _insert(rng, messages, _frame(4, 0, 0, b"".join(rows)), up=_coin(rng))


def _window_overflow(rng: Rng, messages: Messages) -> None:
    """Credit beyond 2**31 - 1, over and over."""
    update = _frame(8, 0, rng.choice((0, 1, 3, 4001)), b"\x7f\xff\xff\xff")
    _insert(rng, messages, update * rng.choice((2, 2, 30, 3000)), up=_coin(rng))


def _continuation_flood(rng: Rng, messages: Messages) -> None:
    """A header block in thousands of pieces, with or without an end."""
    stream = 2 * rng.randrange(40) + 1
    pieces = _frame(9, 0, stream, rng.choice((b"", b"\x82"))) * rng.choice((2, 10, 30, 5000))
    end = _frame(9, 4, stream) if _coin(rng) else b""
    _insert(rng, messages, _frame(1, 0, stream, b"\x82") + pieces + end, up=_coin(rng))


def _stream_flood(rng: Rng, messages: Messages) -> None:
    """Thousands of streams, opened, reset or given credit."""
    kinds = (_frame(1, 4, 0, b"\x88"), _frame(3, 0, 0, bytes(4)), _frame(8, 0, 0, b"\0\0\0\1"))
    part = rng.choice(kinds)
    first = rng.randrange(1, 2000, 2)
    flood = b"".join(
        part[:5] + struct.pack("!I", first + 2 * n) + part[9:]
        for n in range(rng.choice((5, 50, 50, 2000)))
    )
    _insert(rng, messages, flood, up=_coin(rng))


def _small_frames(rng: Rng, messages: Messages) -> None:
    """Thousands of frames with nothing in them."""
    kind, payload = rng.choice(((0, b""), (0, b"\0"), (6, bytes(8)), (4, b""), (2, bytes(5))))
    stream = 0 if kind in (4, 6) else 1
    _insert(
        rng,
        messages,
        _frame(kind, 0, stream, payload) * rng.choice((3, 30, 100, 4000)),
        up=_coin(rng),
    )


def _padding(rng: Rng, messages: Messages) -> None:
    """Padding of every length, also more than there is room for."""
    payload = bytes([rng.randrange(256)]) + bytes(rng.randrange(300))
    _insert(rng, messages, _frame(rng.choice((0, 1)), 8 | 4, 1, payload), up=_coin(rng))


def _foreign(rng: Rng, messages: Messages) -> None:
    """Something that is no HTTP/2, in place of a side's first bytes."""
    what = rng.choice((b"\x16\x03\x01\x02\x00" + bytes(50), b"GET / HTTP/1.1\r\n\r\n", bytes(99)))
    up = _coin(rng)
    place = next(i for i, (who, _) in enumerate(messages) if who == up)
    messages[place] = (up, what)


def _mixed_bytes(rng: Rng, messages: Messages) -> None:
    """Bytes of one message overwritten."""
    place = rng.randrange(len(messages))
    up, content = messages[place]
    data = bytearray(content)
    for _ in range(rng.choice((1, 1, 4, 50))):
        data[rng.randrange(len(data))] = rng.randrange(256)
    messages[place] = (up, bytes(data))


_TALK: Sequence[Callable[[Rng, Messages], None]] = (
    _frame_length, _hpack_bomb, _hpack_noise, _huge_settings, _window_overflow,
    _continuation_flood, _stream_flood, _small_frames, _padding, _foreign, _mixed_bytes,
)  # fmt: skip


def _coin(rng: Rng) -> bool:
    return rng.random() < 0.5


def _segments(messages: Sequence[tuple[bool, bytes]], rng: Rng) -> list[Segment]:
    """The exchange as TCP segments, with handshake and end."""
    size = rng.choice((1448, 1448, 500, 65_000))
    seq = {True: 1000, False: 9000}
    now = 10**18
    found: list[Segment] = []

    def add(up: bool, flags: int, payload: bytes = b"") -> None:
        nonlocal now
        now += 20_000
        ack = seq[not up] if flags & ACK else 0
        found.append(Segment(up, seq[up], ack, flags, payload, now))
        seq[up] += len(payload) + bool(flags & (SYN | FIN))

    add(True, SYN)
    add(False, SYN | ACK)
    add(True, ACK)
    for up, content in messages:
        for at in range(0, len(content), size):
            add(up, ACK, content[at : at + size])
    add(False, FIN | ACK)
    add(True, FIN | ACK)
    return found


def _drop(rng: Rng, segments: list[Segment]) -> None:
    """Some segments were not captured."""
    for _ in range(rng.choice((1, 1, 5))):
        if segments:
            at = rng.randrange(len(segments))
            del segments[at : at + rng.choice((1, 1, 3))]


def _double(rng: Rng, segments: list[Segment]) -> None:
    """Segments come again, later."""
    for _ in range(rng.choice((1, 10))):
        again = rng.choice(segments) if segments else None
        if again is not None:
            segments.insert(rng.randrange(len(segments) + 1), again)


def _reorder(rng: Rng, segments: list[Segment]) -> None:
    """Segments change places."""
    for _ in range(rng.choice((1, 10))):
        if len(segments) > 1:
            one, other = rng.randrange(len(segments)), rng.randrange(len(segments))
            segments[one], segments[other] = segments[other], segments[one]


def _from_middle(rng: Rng, segments: list[Segment]) -> None:
    """The capture begins late."""
    del segments[: rng.randrange(len(segments) + 1)]


def _sequence_jump(rng: Rng, segments: list[Segment]) -> None:
    """Sequence and acknowledgement numbers from elsewhere."""
    for _ in range(rng.choice((1, 5))):
        if segments:
            place = rng.randrange(len(segments))
            old = segments[place]
            segments[place] = Segment(
                old.up, rng.getrandbits(32), rng.getrandbits(32), rng.randrange(64), old.payload,
                old.time_ns,
            )  # fmt: skip


def _clock(rng: Rng, segments: list[Segment]) -> None:
    """A clock that jumps."""
    for place in rng.sample(range(len(segments)), min(len(segments), 5)):
        old = segments[place]
        jump = rng.choice((-(10**15), -5_000_000, 10**12, 3 * 10**18))
        segments[place] = Segment(
            old.up, old.seq, old.ack, old.flags, old.payload, max(0, old.time_ns + jump)
        )


_PACKETS: Sequence[Callable[[Rng, list[Segment]], None]] = (
    _drop, _double, _reorder, _from_middle, _sequence_jump, _clock,
)  # fmt: skip


def _packet(segment: Segment) -> bytes:
    source, destination = (CLIENT, SERVER) if segment.up else (SERVER, CLIENT)
    size = 40 + len(segment.payload)
    network = struct.pack("!BBHHHBBH", 0x45, 0, size & 0xFFFF, 0, 0x4000, 64, 6, 0)
    tcp = struct.pack(
        "!2H2I2B3H", source[1], destination[1], segment.seq % 2**32, segment.ack % 2**32, 0x50,
        segment.flags, 512, 0, 0,
    )  # fmt: skip
    head = bytes(12) + b"\x08\x00" + network + source[0] + destination[0] + tcp
    return head + segment.payload


def _pcap(segments: Sequence[Segment], rng: Rng) -> bytes:
    snap = rng.choice((None, None, None, None, 96, 400))
    parts = [struct.pack("<I2H4I", 0xA1B23C4D, 2, 4, 0, 0, 262144, 1)]
    for segment in segments:
        packet = _packet(segment)
        kept = packet[:snap]
        seconds, fraction = divmod(segment.time_ns, 10**9)
        parts.append(struct.pack("<4I", seconds % 2**32, fraction, len(kept), len(packet)) + kept)
    return b"".join(parts)


def _pcapng(segments: Sequence[Segment]) -> bytes:
    def block(kind: int, body: bytes) -> bytes:
        body += bytes(-len(body) % 4)
        size = 12 + len(body)
        return struct.pack("<2I", kind, size) + body + struct.pack("<I", size)

    parts = [
        block(0x0A0D0D0A, struct.pack("<I2Hq", 0x1A2B3C4D, 1, 0, -1)),
        block(1, struct.pack("<2HI", 1, 0, 0)),
    ]
    for segment in segments:
        packet = _packet(segment)
        ticks = segment.time_ns // 1000
        head = struct.pack("<5I", 0, ticks >> 32, ticks & 0xFFFFFFFF, len(packet), len(packet))
        parts.append(block(6, head + packet))
    return b"".join(parts)


def _bits(rng: Rng, data: bytearray) -> None:
    """Single bits."""
    for _ in range(rng.choice((1, 3, 30, 300))):
        if data:
            data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)


def _truncate(rng: Rng, data: bytearray) -> None:
    """The end is missing."""
    del data[rng.randrange(len(data) + 1) :]


def _splice(rng: Rng, data: bytearray) -> None:
    """A piece of the file put in elsewhere, over what was there or between it."""
    if not data:
        return
    begin = rng.randrange(len(data))
    piece = data[begin : begin + rng.choice((4, 16, 100, 4000))]
    at = rng.randrange(len(data))
    data[at : at + (len(piece) if _coin(rng) else 0)] = piece


def _record_length(rng: Rng, data: bytearray) -> None:
    """Four bytes somewhere become a large or small number, as a lying length would."""
    if len(data) > 48:
        at = rng.choice((rng.randrange(24, len(data) - 8), 24 + 8, 24 + 12, 40 + 16, 40 + 46))
        value = rng.choice((0, 1, 15, 0xFFFF, 1 << 20, (1 << 32) - 1, rng.getrandbits(32)))
        data[at : at + 4] = struct.pack("<I", value)


def _noise(rng: Rng, data: bytearray) -> None:
    """A stretch of noise."""
    if data:
        at = rng.randrange(len(data))
        size = min(rng.choice((8, 200)), len(data) - at)
        data[at : at + size] = rng.randbytes(size)


_FILE: Sequence[Callable[[Rng, bytearray], None]] = (
    _bits, _truncate, _splice, _record_length, _noise,
)  # fmt: skip
