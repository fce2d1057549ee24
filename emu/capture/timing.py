"""Times at which a direction's frames became available, and the packets of its DATA bytes.

A time is the capture time of the packet with which the bytes could be delivered in order.
"""

from dataclasses import dataclass

import numpy as np

from emu.capture.arrays import Ints
from emu.capture.frames import HEADER_BYTES, Frames, Kind
from emu.capture.reassembly import ByteStream


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Chunks:
    """DATA bytes by frame and packet, in stream order: one row where both are the same.

    Bytes are the application's: without frame headers and padding, gRPC's message prefix
    included. `time_ns` is when they could be delivered in order, `arrived_ns` when they
    came themselves.
    """

    frame: Ints
    stream: Ints
    size_bytes: Ints
    time_ns: Ints
    arrived_ns: Ints


def frame_records(stream: ByteStream, frames: Frames) -> tuple[Ints, Ints]:
    """Records with which each frame's header, and its last captured byte, were available."""
    head = frames.at + HEADER_BYTES - 1
    return _available(stream, head), _available(stream, head + frames.seen)


def _available(stream: ByteStream, offsets: Ints) -> Ints:
    return stream.available[_piece(stream, offsets)]


def _piece(stream: ByteStream, offsets: Ints) -> Ints:
    return (np.searchsorted(stream.start, offsets, side="right") - 1).astype(np.int64)


def data_chunks(stream: ByteStream, frames: Frames, time_ns: Ints) -> Chunks:
    """Split the DATA of a direction by frame and packet; `time_ns` is each record's time."""
    places = frames.of(Kind.DATA)
    padding = frames.padding[places]
    since = frames.at[places] + HEADER_BYTES + (padding > 0)
    until = frames.at[places] + HEADER_BYTES + frames.length[places] - np.maximum(padding - 1, 0)
    until = np.minimum(until, frames.at[places] + HEADER_BYTES + frames.seen[places])
    filled = until > since
    places, since, until = places[filled], since[filled], until[filled]
    first = _piece(stream, since)
    count = _piece(stream, until - 1) - first + 1
    row = np.repeat(np.arange(places.size), count)
    within = np.arange(row.size) - np.repeat(np.cumsum(count) - count, count)
    piece = first[row] + within
    begin = np.maximum(since[row], stream.start[piece])
    end = np.minimum(until[row], stream.start[piece] + stream.length[piece])
    return Chunks(
        frame=places[row],
        stream=frames.stream[places][row],
        size_bytes=end - begin,
        time_ns=time_ns[stream.available[piece]],
        arrived_ns=time_ns[stream.arrived[piece]],
    )
