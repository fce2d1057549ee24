"""Records of an analysed capture: connections, directions, streams, packets."""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from emu.capture.arrays import Ints
from emu.capture.gaps import Cause, Gap
from emu.capture.streams import Intervals, StreamDirection
from emu.capture.timing import Chunks
from emu.capture.windows import CreditHistory, Grants


@dataclass(frozen=True, slots=True, kw_only=True)
class SettingChange:
    """One value of a SETTINGS frame, by number (4: initial window, 5: largest frame)."""

    time_ns: int
    number: int
    value: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Transport:
    """TCP statistics of one direction, as far as the capture shows.

    Attributes
    ----------
    bytes_in_order : payload up to the first hole
    holes : (from, to) stream offsets that were never captured, though sent
    retransmitted_segments, retransmitted_bytes : came again after they had been captured
    reordered_segments : came after a later one: reordered, or lost on the way and sent again
    from_start : the SYN was captured
    finished : a FIN was captured
    """

    segments: int
    bytes_in_order: int
    holes: tuple[tuple[int, int], ...]
    retransmitted_segments: int
    retransmitted_bytes: int
    reordered_segments: int
    from_start: bool
    finished: bool


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Packets:
    """All packets of one direction in the order of the capture, empty ones too.

    `size_bytes` is a whole frame's on the wire, as a link counts it.
    """

    time_ns: Ints
    size_bytes: Ints

    def between(self, start_ns: int, end_ns: int) -> "Packets":
        """Packets from the one time to the other, both included."""
        first = np.searchsorted(self.time_ns, start_ns, side="left")
        last = np.searchsorted(self.time_ns, end_ns, side="right")
        return Packets(time_ns=self.time_ns[first:last], size_bytes=self.size_bytes[first:last])


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class DataFrames:
    """DATA frames in the order of the wire: first byte, last byte, stream, application bytes."""

    start_ns: Ints
    time_ns: Ints
    stream: Ints
    size_bytes: Ints


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class DirectionReport:
    """One direction of a connection.

    Attributes
    ----------
    tcp : segments, bytes, losses
    settings : what this side announced
    grants : credit this side gave to the data of the other
    pings_ns, ping_acks_ns : times of this side's PING frames
    frames, chunks, intervals : this side's DATA by frame, by packet, by service interval
    credit : credit left to this side's data
    gaps : times in which this side had data left and sent none, above a threshold
    short_gaps : the same above a threshold of a few packets
    packets : what crossed the wire
    round_trip_ns : from the capture point to this side and back, by the handshake; 0 if unknown
    credit_known : both sides' first frames were captured, and this one keeps to windows at all,
        so that `credit` can be followed
    """

    tcp: Transport
    settings: tuple[SettingChange, ...]
    grants: Grants
    pings_ns: Ints
    ping_acks_ns: Ints
    frames: DataFrames
    chunks: Chunks
    intervals: Intervals
    credit: CreditHistory
    gaps: tuple[Gap, ...]
    short_gaps: tuple[Gap, ...]
    packets: Packets
    round_trip_ns: int
    credit_known: bool

    @property
    def stalls(self) -> tuple[Gap, ...]:
        """Idle times that missing credit explains."""
        return tuple(gap for gap in self.gaps if gap.cause is not Cause.UNEXPLAINED)

    @property
    def short_stalls(self) -> tuple[Gap, ...]:
        """Idle times that missing credit explains, short ones too."""
        return tuple(gap for gap in self.short_gaps if gap.cause is not Cause.UNEXPLAINED)

    @property
    def unexplained_gaps(self) -> tuple[Gap, ...]:
        """Idle times that credit does not explain."""
        return tuple(gap for gap in self.gaps if gap.cause is Cause.UNEXPLAINED)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class StreamReport:
    """One HTTP/2 stream: what the client sent on it and what the server sent.

    `path` is the request's, None where its headers could not be decoded.
    """

    stream: int
    path: str | None
    client: StreamDirection
    server: StreamDirection

    @property
    def request_ns(self) -> int | None:
        """Capture time of the request's HEADERS."""
        return self.client.headers_ns

    @property
    def response_ns(self) -> int | None:
        """Capture time of the first HEADERS of the response."""
        return self.server.headers_ns

    @property
    def from_server(self) -> bool:
        """True if the server sent more DATA than the client."""
        return self.server.data_bytes > self.client.data_bytes

    @property
    def data(self) -> StreamDirection:
        """The direction of the stream with more DATA."""
        return self.server if self.from_server else self.client


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """Something wrong with a connection as captured.

    What came until `whole_until_ns` is whole all the same; 0: nothing is known to be.
    """

    text: str
    whole_until_ns: int


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ConnectionReport:
    """One TCP connection; `streams` by their numbers, ascending.

    `complete` is False where a direction could not be read to its end; `found` has why, and what
    else is wrong.
    """

    client: tuple[str, int]
    server: tuple[str, int]
    first_ns: int
    last_ns: int
    to_server: DirectionReport
    to_client: DirectionReport
    streams: tuple[StreamReport, ...]
    complete: bool
    found: tuple[Problem, ...]

    @property
    def problems(self) -> tuple[str, ...]:
        """Texts of all problems."""
        return tuple(problem.text for problem in self.found)

    def problems_until(self, time_ns: int) -> tuple[str, ...]:
        """Texts of the problems that begin before a time; later ones do not touch it."""
        return tuple(p.text for p in self.found if p.whole_until_ns < time_ns)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class CaptureReport:
    """A capture file: its connections in order of appearance, and all that was wrong with it.

    `size_bytes` is the size of the (uncompressed) file; `truncated` is set where it ends in
    the middle of a record. `problems` has the connections' too.
    """

    connections: tuple[ConnectionReport, ...]
    packets: int
    size_bytes: int
    truncated: bool
    problems: tuple[str, ...]


def gaps_between(gaps: Iterable[Gap], start_ns: int, end_ns: int) -> tuple[Gap, ...]:
    """Choose the gaps that overlap [start_ns, end_ns)."""
    return tuple(gap for gap in gaps if gap.start_ns < end_ns and gap.end_ns > start_ns)
