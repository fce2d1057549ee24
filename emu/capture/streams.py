"""Data of each HTTP/2 stream in one direction: service intervals, first and last bytes."""

from dataclasses import dataclass
from typing import Final

import numpy as np

from emu.capture.arrays import Ints, Mask, ints
from emu.capture.frames import END_STREAM, Frames, Kind
from emu.capture.timing import Chunks


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class StreamDirection:
    """One stream in one direction; times are None where nothing of that kind was seen.

    Attributes
    ----------
    headers_ns : the first HEADERS frame
    headers_place : its place among the direction's frames, which orders those of one packet
    first_data_ns, last_data_ns : packets with the first and the last DATA byte
    ended_ns : END_STREAM
    reset_ns, reset_code : RST_STREAM sent in this direction
    data_bytes : DATA without frame headers and padding; gRPC's message prefix counts
    flow_bytes : what flow control counts, so with padding
    start_ns, end_ns, size_bytes : service intervals: the stream's DATA on the wire without
        another stream's DATA and without an idle gap between; times of the first and the
        last packet
    visits : runs of DATA without another stream's between, idle gaps or not
    credit_stops : visits that ended because the stream's credit did, with data left
    """

    headers_ns: int | None
    headers_place: int | None
    first_data_ns: int | None
    last_data_ns: int | None
    ended_ns: int | None
    reset_ns: int | None
    reset_code: int | None
    data_bytes: int
    flow_bytes: int
    start_ns: Ints
    end_ns: Ints
    size_bytes: Ints
    visits: int
    credit_stops: int


NOTHING: Final = StreamDirection(
    headers_ns=None, headers_place=None, first_data_ns=None, last_data_ns=None, ended_ns=None,
    reset_ns=None, reset_code=None, data_bytes=0, flow_bytes=0, start_ns=ints(), end_ns=ints(),
    size_bytes=ints(), visits=0, credit_stops=0,
)  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Intervals:
    """Service intervals of all streams of a direction, in the order of the wire."""

    stream: Ints
    start_ns: Ints
    end_ns: Ints
    size_bytes: Ints


def service_intervals(chunks: Chunks, gap_ns: int) -> Intervals:
    """Cut a direction's DATA where the stream changes or the wire idles for over `gap_ns`."""
    if not chunks.stream.size:
        return Intervals(stream=ints(), start_ns=ints(), end_ns=ints(), size_bytes=ints())
    fresh = np.diff(chunks.stream, prepend=-1) != 0
    fresh |= np.diff(chunks.time_ns, prepend=chunks.time_ns[0]) > gap_ns
    first = np.flatnonzero(fresh)
    last = np.append(first[1:], fresh.size) - 1
    return Intervals(
        stream=chunks.stream[first],
        start_ns=chunks.time_ns[first],
        end_ns=chunks.time_ns[last],
        size_bytes=np.add.reduceat(chunks.size_bytes, first),
    )


def half_streams(
    *,
    frames: Frames,
    tail_ns: Ints,
    chunks: Chunks,
    intervals: Intervals,
    resets: tuple[tuple[int, int], ...],
    stopped: Mask,
) -> dict[int, StreamDirection]:
    """Summarise each stream's frames and data in one direction.

    Parameters
    ----------
    frames, tail_ns
        The direction's frames; when each one's last byte was there.
    chunks, intervals
        The direction's DATA, and its service intervals.
    resets
        Place and error code of RST_STREAM frames.
    stopped
        DATA frames with which the stream's credit ran out.
    """
    ends = (frames.flags & END_STREAM != 0) & np.isin(frames.kind, (Kind.DATA, Kind.HEADERS))
    ends &= frames.whole()
    changes = np.flatnonzero(np.diff(chunks.stream, prepend=-1) != 0)
    last_of_visit = chunks.frame[(np.append(changes[1:], chunks.stream.size) - 1)[: changes.size]]
    by_frame = _groups(frames.stream)
    by_chunk, by_interval = _groups(chunks.stream), _groups(intervals.stream)
    by_visit = _groups(chunks.stream[changes])
    resets_of = {int(frames.stream[place]): (place, code) for place, code in reversed(resets)}
    none = ints()
    halves = {}
    for stream, places in by_frame.items():
        if stream == 0:
            continue
        rows = by_chunk.get(stream, none)
        spans = by_interval.get(stream, none)
        visits = by_visit.get(stream, none)
        kinds = frames.kind[places]
        headers = places[kinds == Kind.HEADERS]
        reset = resets_of.get(stream)
        halves[stream] = StreamDirection(
            headers_ns=_first(tail_ns[headers]),
            headers_place=_first(headers),
            first_data_ns=_first(chunks.time_ns[rows]),
            last_data_ns=_first(chunks.time_ns[rows][-1:]),
            ended_ns=_first(tail_ns[places[ends[places]]]),
            reset_ns=int(tail_ns[reset[0]]) if reset else None,
            reset_code=reset[1] if reset else None,
            data_bytes=int(chunks.size_bytes[rows].sum()),
            flow_bytes=int(frames.length[places[kinds == Kind.DATA]].sum()),
            start_ns=intervals.start_ns[spans],
            end_ns=intervals.end_ns[spans],
            size_bytes=intervals.size_bytes[spans],
            visits=visits.size,
            credit_stops=int(stopped[last_of_visit[visits[:-1]]].sum()),
        )
    return halves


def _groups(values: Ints) -> dict[int, Ints]:
    """Places of each value, ascending."""
    order = np.argsort(values, kind="stable")
    found, first = np.unique(values[order], return_index=True)
    return dict(zip(found.tolist(), np.split(order, first[1:]), strict=False))


def _first(times: Ints) -> int | None:
    return int(times[0]) if times.size else None
