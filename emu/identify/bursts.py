"""Bursts of one direction, with positions in DATA bytes on the wire.

A sender's decisions stand on the wire in the order in which they fell; times are stretched by
buffers and queues. So everything here has a position: how many DATA bytes of the burst were on the
wire before it. What reached the sender from outside (requests, credit) has the position of the wire
at that time; the sender was ahead of it by what lay in its buffers.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from emu.capture.arrays import Ints
from emu.capture.report import ConnectionReport, DirectionReport, StreamReport
from emu.capture.windows import ALL_STREAMS, CONNECTION, Grants
from h2model.protocol import DEFAULT_WINDOW_BYTES, UNLIMITED_BYTES

MOST_KEPT = 12
PIECE_BYTES = 16_384
"""Larger frames are analysed in pieces of this size."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Served:
    """One stream of a burst, with the positions of its request and its data.

    Attributes
    ----------
    size_bytes : its DATA in this burst
    asked_at : when its sender can first have known of it: the request reached it
    opened_at : its first HEADERS in the data's direction
    asked_rank, opened_rank : ranks in the burst by these, at equal times by the place on the wire
    first_at, last_at : its first and behind its last DATA byte
    finished : END_STREAM was seen
    """

    stream: int
    size_bytes: int
    asked_at: int
    opened_at: int
    asked_rank: int
    opened_rank: int
    first_at: int
    last_at: int
    finished: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Grant:
    """Credit that reached the sender: -1 is the initial window of all streams, 0 the connection."""

    at: int
    time_ns: int
    stream: int
    amount: int


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Burst:
    """Streams that overlap, from the first request to the last DATA byte.

    `stream`, `size_bytes` and `time_ns` are the DATA frames in order, large ones in pieces;
    `frame_bytes` is the largest frame; `streams` stand in the order of their first DATA. Windows
    are those at its beginning, before `grants`; None where the capture does not know them.
    `answers` holds how many bytes passed between each PING to the sender and its answer.
    """

    stream: Ints
    size_bytes: Ints
    time_ns: Ints
    frame_bytes: int
    streams: tuple[Served, ...]
    grants: tuple[Grant, ...]
    initial_window: int | None
    connection_credit: int | None
    first: bool
    answers: tuple[int, ...] = ()

    @property
    def total_bytes(self) -> int:
        """Total DATA of the burst, in bytes."""
        return int(self.size_bytes.sum())

    def runs(self) -> list[tuple[int, int]]:
        """(stream, bytes) of every visit, in order."""
        return merge_runs(self.stream, self.size_bytes)


def merge_runs(stream: Ints, size_bytes: Ints) -> list[tuple[int, int]]:
    """Merge successive frames of one stream into one (stream, bytes)."""
    if not stream.size:
        return []
    first = np.flatnonzero(np.diff(stream, prepend=-1) != 0)
    return list(
        zip(stream[first].tolist(), np.add.reduceat(size_bytes, first).tolist(), strict=True)
    )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Bursts:
    """A direction's bursts: how many there are, and the largest of them in full.

    `kept` holds those with several streams, in the order of the wire.
    """

    count: int = 0
    streams: int = 0
    kept: tuple[Burst, ...] = ()


def find_bursts(connection: ConnectionReport, *, to_client: bool, most: int = MOST_KEPT) -> Bursts:
    """Cut a direction into bursts: between two of them no stream that was asked for is unfinished.

    Parameters
    ----------
    connection
        The connection's report.
    to_client
        The direction of the data. A request tells when a stream's message can first have been
        handed over, for a push the stream's own HEADERS.
    most
        How many bursts to keep, the largest.
    """
    data, peer = connection.to_client, connection.to_server
    if not to_client:
        data, peer = peer, data
    direction = _Direction(data, peer)
    if not direction.stream.size:
        return Bursts()
    spans = _spans(connection, direction, to_client=to_client)
    windows = _Windows(
        peer,
        direction.size_bytes,
        known=data.credit_known,
        boundless=not data.credit_known and _is_whole(data) and _is_whole(peer),
    )
    groups = list(_groups(spans))
    shared = [group for group in groups if len(group.spans) > 1]
    largest = sorted(shared, key=lambda group: -direction.bytes_between(group.first, group.behind))
    return Bursts(
        count=len(groups),
        streams=len(spans),
        kept=tuple(
            _burst(direction, group, windows, is_first=group is groups[0])
            for group in sorted(largest[:most], key=groups.index)
        ),
    )


class _Direction:
    """DATA frames of a direction that carry bytes, in pieces, and the times of its PINGs."""

    def __init__(self, data: DirectionReport, peer: DirectionReport) -> None:
        chunks = data.chunks
        total = np.cumsum(chunks.size_bytes)
        begin = np.searchsorted(chunks.frame, chunks.frame)  # of each chunk's frame
        within = (total - chunks.size_bytes) - (total - chunks.size_bytes)[begin]
        # Frames of a megabyte are cut, so that what happens while one passes has its place.
        piece = within // PIECE_BYTES
        first = np.flatnonzero(
            (np.diff(chunks.frame, prepend=-1) != 0) | (np.diff(piece, prepend=-1) != 0)
        )
        last = np.append(first[1:], chunks.frame.size)[: first.size] - 1
        self.stream = chunks.stream[first]
        self.size_bytes = np.add.reduceat(chunks.size_bytes, first) if first.size else first
        self.start_ns = chunks.time_ns[first]
        self.time_ns = chunks.time_ns[last]
        self.frame_bytes = chunks.size_bytes + within  # of each chunk's frame up to its end
        self.frame_bytes = np.maximum.reduceat(self.frame_bytes, first) if first.size else first
        self.round_trip_ns = data.round_trip_ns
        self.pinged_ns, self.answered_ns = _pings(data, peer)

    def place(self, time_ns: int) -> int:
        """Number of frames that had passed at this time.

        HEADERS often share a packet with the end of the frame before them.
        """
        return int(np.searchsorted(self.time_ns, time_ns, side="right"))

    def bytes_between(self, first: int, behind: int) -> int:
        """DATA bytes of these frames."""
        return int(self.size_bytes[first:behind].sum())


def _pings(data: DirectionReport, peer: DirectionReport) -> tuple[Ints, Ints]:
    """Earliest and actual time at which the answer to each PING passed the capture."""
    asked, answered = peer.pings_ns, data.ping_acks_ns
    if asked.size != answered.size:  # then it is unknown which is missing
        return asked[:0], answered[:0]
    return asked + data.round_trip_ns, answered


@dataclass(frozen=True, slots=True, kw_only=True)
class _Span:
    """Span of a stream in places among the direction's DATA frames; `last` is its last one.

    `asked_key` and `opened_key` order streams: the time, and of HEADERS their place on the wire.
    """

    stream: int
    asked: int
    asked_key: tuple[int, int]
    opened: int
    opened_key: tuple[int, int]
    first: int
    last: int
    finished: bool


def _spans(connection: ConnectionReport, data: _Direction, *, to_client: bool) -> list[_Span]:
    order = np.argsort(data.stream, kind="stable")
    numbers, begin = np.unique(data.stream[order], return_index=True)
    places = dict(zip(numbers.tolist(), np.split(order, begin[1:]), strict=False))
    spans = []
    for stream in connection.streams:
        mine = places.get(stream.stream)
        half = stream.server if to_client else stream.client
        if mine is None or not half.data_bytes:
            continue
        first = int(mine[0])
        start_ns = int(data.start_ns[first])
        opened = (start_ns, first)
        if half.headers_ns is not None and half.headers_place is not None:
            opened = (half.headers_ns, half.headers_place)
        asked = _asked(stream, data, to_client) or opened
        spans.append(
            _Span(
                stream=stream.stream,
                asked=min(first, data.place(asked[0])),
                asked_key=asked,
                opened=min(first, data.place(opened[0])),
                opened_key=opened,
                first=first,
                last=int(mine[-1]),
                finished=half.ended_ns is not None or half.reset_ns is not None,
            )
        )
    return sorted(spans, key=lambda span: (span.asked, span.first))


def _asked(stream: StreamReport, data: _Direction, to_client: bool) -> tuple[int, int] | None:
    """Earliest time at which data that answers the request could pass, and the request's place."""
    time_ns, place = stream.client.headers_ns, stream.client.headers_place
    if not to_client or time_ns is None or place is None:
        return None
    return time_ns + data.round_trip_ns, place


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Group:
    """Streams of one burst, whose frames reach from `first` to before `behind`."""

    first: int
    behind: int
    spans: Sequence[_Span]


def _groups(spans: Sequence[_Span]) -> Iterator[_Group]:
    """Bursts in the order of the wire."""
    group: list[_Span] = []
    behind = 0
    for span in spans:
        if group and span.asked >= behind:
            yield _Group(first=min(s.first for s in group), behind=behind, spans=group)
            group = []
        group.append(span)
        behind = max(behind, span.last + 1)
    if group:
        yield _Group(first=min(s.first for s in group), behind=behind, spans=group)


def _is_whole(side: DirectionReport) -> bool:
    """True if nothing of it is missing; if its windows still make no sense, they were ignored."""
    return side.tcp.from_start and not side.tcp.holes


class _Windows:
    """Credit that the peer granted over time, and the rest of it at any frame."""

    def __init__(self, peer: DirectionReport, sizes: Ints, *, known: bool, boundless: bool) -> None:
        self.grants = peer.grants
        self._known = known
        self._boundless = boundless
        self._sent = np.concatenate([[0], np.cumsum(sizes)])

    def at(self, place: int, time_ns: int) -> tuple[int | None, int | None]:
        """Initial window and connection credit before a frame; grants up to this time count."""
        if self._boundless:
            return UNLIMITED_BYTES, None
        if not self._known:
            return None, None
        given = self.grants.time_ns <= time_ns
        initial = self.grants.amount[given & (self.grants.stream == ALL_STREAMS)].sum()
        connection = self.grants.amount[given & (self.grants.stream == CONNECTION)].sum()
        return (
            min(UNLIMITED_BYTES, DEFAULT_WINDOW_BYTES + int(initial)),
            DEFAULT_WINDOW_BYTES + int(connection) - int(self._sent[place]),
        )


class _Positions:
    """DATA bytes of a burst before each of its frames, and before a frame or a time."""

    def __init__(self, data: _Direction, group: _Group) -> None:
        self._first = group.first
        self._time_ns = data.time_ns[group.first : group.behind]
        sizes = data.size_bytes[group.first : group.behind]
        self._bytes = np.concatenate([[0], np.cumsum(sizes)])

    def of_frame(self, place: int) -> int:
        """Bytes before a frame of the direction; the nearest end where it is none of the burst."""
        last = self._bytes.size - 1
        return int(self._bytes[min(max(place - self._first, 0), last)])

    def at(self, times_ns: Ints) -> Ints:
        """Bytes that had passed before each of these times."""
        passed: Ints = self._bytes[np.searchsorted(self._time_ns, times_ns)]
        return passed


def _burst(data: _Direction, group: _Group, windows: _Windows, *, is_first: bool) -> Burst:
    """Frames of a group, with what reached their sender meanwhile."""
    frames = slice(group.first, group.behind)
    times_ns = data.time_ns[frames]
    positions = _Positions(data, group)
    # What was granted this early had reached the sender before it sent anything of the burst.
    begin_ns = int(data.start_ns[group.first]) - data.round_trip_ns
    end_ns = int(times_ns[-1])
    initial, connection = windows.at(group.first, begin_ns)
    return Burst(
        stream=data.stream[frames],
        size_bytes=data.size_bytes[frames],
        time_ns=times_ns,
        frame_bytes=int(data.frame_bytes[frames].max()),
        streams=_served(data, group, positions),
        grants=()
        if initial is None
        else _grants(data, windows.grants, begin_ns, end_ns, positions),
        initial_window=initial,
        connection_credit=connection,
        first=is_first,
        answers=_ping_answers(data, int(times_ns[0]), end_ns, positions),
    )


def _served(data: _Direction, group: _Group, positions: _Positions) -> tuple[Served, ...]:
    """Streams of a burst in the order of their first DATA."""
    frames = slice(group.first, group.behind)
    numbers, stream_of = np.unique(data.stream[frames], return_inverse=True)
    sizes = np.bincount(stream_of, weights=data.size_bytes[frames])
    size_bytes = dict(zip(numbers.tolist(), sizes.tolist(), strict=True))
    by_request = [s.stream for s in sorted(group.spans, key=lambda span: span.asked_key)]
    by_headers = [s.stream for s in sorted(group.spans, key=lambda span: span.opened_key)]
    asked_rank = {stream: rank for rank, stream in enumerate(by_request)}
    opened_rank = {stream: rank for rank, stream in enumerate(by_headers)}
    return tuple(
        Served(
            stream=span.stream,
            size_bytes=int(size_bytes[span.stream]),
            asked_at=positions.of_frame(span.asked),
            opened_at=positions.of_frame(span.opened),
            asked_rank=asked_rank[span.stream],
            opened_rank=opened_rank[span.stream],
            first_at=positions.of_frame(span.first),
            last_at=positions.of_frame(span.last + 1),
            finished=span.finished,
        )
        for span in sorted(group.spans, key=lambda span: span.first)
    )


def _grants(
    data: _Direction, granted: Grants, begin_ns: int, end_ns: int, positions: _Positions
) -> tuple[Grant, ...]:
    """Credit that the capture saw between two times, where it reached the sender."""
    during = (granted.time_ns > begin_ns) & (granted.time_ns < end_ns)
    times_ns = granted.time_ns[during]
    # What the sender does with it passes the capture a round trip later.
    reached_at = positions.at(times_ns + data.round_trip_ns)
    columns = (reached_at, times_ns, granted.stream[during], granted.amount[during])
    return tuple(
        Grant(at=at, time_ns=time_ns, stream=stream, amount=amount)
        for at, time_ns, stream, amount in zip(*(c.tolist() for c in columns), strict=True)
    )


def _ping_answers(
    data: _Direction, begin_ns: int, end_ns: int, positions: _Positions
) -> tuple[int, ...]:
    """Bytes that passed between each PING of the burst and its answer."""
    during = (data.pinged_ns >= begin_ns) & (data.pinged_ns < end_ns)
    pinged_at = positions.at(data.pinged_ns[during])
    answered_at = positions.at(np.minimum(data.answered_ns[during], end_ns))
    return tuple((answered_at - pinged_at).tolist())
