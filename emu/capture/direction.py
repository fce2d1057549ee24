"""Analysis of one direction of a connection: from TCP segments to its report."""

from dataclasses import dataclass, replace
from functools import partial
from typing import Final

import numpy as np

from emu.capture.arrays import Ints
from emu.capture.connections import Conversation
from emu.capture.control import (
    MAX_FRAME_SIZE,
    Control,
    answers_less_requests,
    read_control,
    upgrade_window,
)
from emu.capture.frames import PREFACE, Frames, Kind, opening, walk
from emu.capture.gaps import find_gaps
from emu.capture.pcap import Records
from emu.capture.reassembly import ByteStream, Flaw, Reader, assemble
from emu.capture.report import (
    DataFrames,
    DirectionReport,
    Packets,
    Problem,
    SettingChange,
    Transport,
)
from emu.capture.resync import find_frames
from emu.capture.segments import ACK, SYN, Segments
from emu.capture.streams import StreamDirection, half_streams, service_intervals
from emu.capture.timing import Chunks, data_chunks, frame_records
from emu.capture.windows import NO_CREDIT, Grants, credit_history, read_grants
from h2model.protocol import DEFAULT_FRAME_BYTES, DEFAULT_WINDOW_BYTES

SHORT_GAPS: Final = 8
"""Divisor: short gaps have the threshold that ends a service interval, divided by this."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Direction:
    """One direction's frames, not yet compared with the other's; `time_ns` is of each record.

    `opened` tells that its first frame is the connection's first, and that none is missing.
    `upgrade` has the record of the request that asked for HTTP/2, and the initial window in it.
    """

    stream: ByteStream
    reader: Reader
    frames: Frames
    control: Control
    time_ns: Ints
    packets: Packets
    round_trip_ns: int
    opened: bool
    flaws: tuple[Flaw, ...]
    upgrade: tuple[int, int] | None = None

    @property
    def is_guessed(self) -> bool:
        """True if it is read from the connection's middle, so that its side is a guess."""
        return not self.stream.from_start and not self.opened

    def grants(self) -> Grants:
        """The credit that this side gave."""
        _, tail = frame_records(self.stream, self.frames)
        return read_grants(self.frames, self.control, tail, self.time_ns, self.upgrade)

    def unless_missing(self, peer: "Direction") -> "Direction":
        """Note that nothing of this direction was captured, if HTTP/2 was of the other one."""
        if self.stream.end or not peer.frames.at.size:
            return self
        flaw = Flaw(at=0, text="nothing of this direction was captured")
        return replace(self.with_flaw(flaw), opened=False)

    def with_flaw(self, flaw: Flaw) -> "Direction":
        """Note one more flaw."""
        return replace(self, flaws=(*self.flaws, flaw))

    def limited_by(self, peer: "Direction") -> "Direction":
        """Drop the first frame larger than the other side ever allowed, and all behind it."""
        if not self.opened:
            return self  # the limit may have been announced before
        if self.unbounded_by(peer):
            return self
        sizes = [s.value for s in peer.control.settings if s.number == MAX_FRAME_SIZE]
        limit = max([DEFAULT_FRAME_BYTES, *sizes])
        large = np.flatnonzero(self.frames.length > limit)
        if not large.size:
            return self
        place = int(large[0])
        size, at = int(self.frames.length[place]), int(self.frames.at[place])
        broken = f"broken at byte {at}: a frame of {size} bytes, the peer allows {limit}"
        flaw = Flaw(at=at, text=broken)
        frames = self.frames.upto(place, flaw)
        kept = [each for each in self.flaws if each != self.frames.flaw]
        control = read_control(self.reader, frames)
        return replace(self, frames=frames, control=control, flaws=(*kept, flaw))

    def unbounded_by(self, peer: "Direction") -> bool:
        """True if the data exceeds the connection's first window without any WINDOW_UPDATE.

        That is gRPC (seen up to 1.47.5) with GRPC_EXPERIMENTAL_DISABLE_FLOW_CONTROL at both ends.
        It obeys no window, and sends frames of 1 MiB whatever its peer allows. A frame that was
        captured in part does not count: its length may be wrong.
        """
        flaw = self.frames.flaw
        broken = flaw is not None and flaw.at < self.stream.end
        if broken or not peer.opened or peer.control.updates.size:
            return False
        whole = self.frames.whole() & (self.frames.kind == Kind.DATA)
        return int(self.frames.length[whole].sum()) > DEFAULT_WINDOW_BYTES

    def whole_until_ns(self, flaw: Flaw) -> int:
        """Until when this direction is whole in spite of a flaw."""
        return self.stream.whole_until_ns(flaw.at, self.time_ns)


def client_less_server(one: Direction, other: Direction) -> int:
    """Evidence that `one` is the client's direction, less that for its being the server's.

    Each stream with HEADERS from both sides speaks for who sent the first, as streams are opened
    by requests; and each header block for the side whose pseudo-headers it begins with.
    """
    firsts = [_first_headers(each) for each in (one, other)]
    both = firsts[0].keys() & firsts[1].keys()
    found = sum(1 if firsts[0][stream] < firsts[1][stream] else -1 for stream in both)
    found -= answers_less_requests(one.reader, one.frames)
    return found + answers_less_requests(other.reader, other.frames)


def _first_headers(direction: Direction) -> dict[int, int]:
    """By stream, the record that brought its first HEADERS."""
    frames = direction.frames
    head, _ = frame_records(direction.stream, frames)
    places = frames.of(Kind.HEADERS)[::-1].tolist()
    return {int(frames.stream[place]): int(head[place]) for place in places}


def read_direction(
    records: Records,
    conversation: Conversation,
    *,
    client: bool,
    peer: Direction | None,
    search: bool = False,
) -> Direction:
    """Reassemble a direction and read its HTTP/2 frames.

    `peer` is the client's direction when the server's is read: where the capture does not
    have the connection's start, HTTP/2 can be read only if both begin as HTTP/2 does. With
    `search` frames are else looked for, which can be done but not proved.
    """
    segments, reverse = conversation.both if client else conversation.both[::-1]
    stream = assemble(records.data, segments, reverse, bridged=search)
    reader = Reader(records.data, stream)
    first, foreign = opening(reader, client=client)
    middle = not stream.from_start and bool(stream.end)
    lost = middle and bool(
        foreign or (peer is not None and not (peer.opened and peer.frames.at.size))
    )
    flaws = _stream_flaws(stream)
    if lost and not foreign.startswith("TLS"):
        found = find_frames(reader, stream) if search else None
        foreign = "captured from its middle: frames can't be found" if found is None else ""
        first = found or 0
        if found is not None:
            text = f"captured from its middle: read from byte {found} on"
            flaws.append(Flaw(at=0, text=text))
    frames = walk(
        reader,
        stream,
        stream.end if foreign else first,
        from_middle=lost,
        search=(lambda since: find_frames(reader, stream, since)) if search else None,
    )
    if middle:
        flaws.append(Flaw(at=0, text="the start of the connection was not captured"))
    if foreign:
        flaws.append(Flaw(at=0, text=foreign))
    if frames.flaw is not None:
        flaws.append(frames.flaw)
    return Direction(
        stream=stream,
        reader=reader,
        frames=frames,
        control=read_control(reader, frames),
        time_ns=records.time_ns,
        packets=Packets(
            time_ns=records.time_ns[segments.record],
            size_bytes=records.original[segments.record],
        ),
        round_trip_ns=_round_trip(conversation, from_client=client),
        opened=not lost and not foreign and not frames.lost,
        flaws=tuple(flaws),
        upgrade=_upgrade(reader, stream, first) if client and not lost else None,
    )


def _upgrade(reader: Reader, stream: ByteStream, first: int) -> tuple[int, int] | None:
    """The record of a request that asked for HTTP/2, and the initial window that it announced."""
    before = first - len(PREFACE)
    window = upgrade_window(reader, before) if before > 0 else None
    if window is None:
        return None
    piece = int(np.searchsorted(stream.start, before - 1, side="right")) - 1
    return int(stream.available[piece]), window


def _stream_flaws(stream: ByteStream) -> list[Flaw]:
    found = []
    if stream.holes:
        since, until = stream.holes[0]
        missing = sum(end - start for start, end in stream.holes)
        text = (
            f"{missing} bytes in {len(stream.holes)} holes were not captured, the first at byte "
            f"{since} ({until - since} bytes)"
        )
        if stream.beyond_bytes:
            text += f"; {stream.beyond_bytes} bytes behind it are not read"
        found.append(Flaw(at=since, text=text))
    if stream.early_bytes:
        text = f"{stream.early_bytes} bytes from before the first one are not read"
        found.append(Flaw(at=0, text=text))
    if stream.cut_bytes:
        text = f"{stream.cut_bytes} bytes were cut off by the capture's length limit"
        found.append(Flaw(at=0, text=text))
    if stream.conflicting_segments:
        text = f"{stream.conflicting_segments} segments came again with other bytes"
        found.append(Flaw(at=stream.conflict_at, text=text))
    return found


def _round_trip(conversation: Conversation, *, from_client: bool) -> int:
    """Time from the capture point to a direction's sender and back, by the handshake."""
    syn = _times(conversation.to_server, SYN | ACK, SYN)
    both = _times(conversation.to_client, SYN | ACK, SYN | ACK)
    if syn.size != 1 or both.size != 1:
        return 0  # unknown, or sent again: then it is unknown which one was answered
    if not from_client:
        return max(0, int(both[0] - syn[0]))
    answers = _times(conversation.to_server, SYN | ACK, ACK)
    return max(0, int(answers[0] - both[0])) if answers.size else 0


def _times(segments: Segments, mask: int, flags: int) -> Ints:
    found: Ints = segments.time_ns[segments.flags & mask == flags]
    return found


def report_direction(
    data: Direction, peer: Direction, *, gap_ns: int, lag_ns: int
) -> tuple[DirectionReport, dict[int, StreamDirection], Problem | None]:
    """Build a direction's report, its data matched with the credit that its peer granted.

    Returns
    -------
    report
        The direction's report.
    halves
        By stream, what was sent on it.
    problem
        Why the credit can't be right, if so.
    """
    frames, control, time_ns = data.frames, data.control, data.time_ns
    head, tail = frame_records(data.stream, frames)
    chunks = data_chunks(data.stream, frames, time_ns)
    intervals = service_intervals(chunks, gap_ns)
    received = peer.grants()
    known = data.opened and peer.opened and not data.unbounded_by(peer)
    credit, stopped, problem = NO_CREDIT, np.zeros(frames.at.size, dtype=np.bool_), None
    if known:
        credit, stopped, exceeded = credit_history(
            frames, head, time_ns, received, data.round_trip_ns + lag_ns
        )
        if exceeded is not None:
            problem = Problem(text=exceeded.text, whole_until_ns=exceeded.time_ns - 1)
    halves = half_streams(
        frames=frames,
        tail_ns=time_ns[tail],
        chunks=chunks,
        intervals=intervals,
        resets=control.resets,
        stopped=stopped,
    )
    gaps = partial(
        find_gaps,
        frames=frames,
        head_ns=time_ns[head],
        chunks=chunks,
        grants=received,
        round_trip_ns=data.round_trip_ns,
        credit_known=known,
    )
    report = DirectionReport(
        tcp=_transport(data.stream),
        settings=tuple(
            SettingChange(time_ns=int(time_ns[tail[s.frame]]), number=s.number, value=s.value)
            for s in control.settings
        ),
        grants=data.grants(),
        pings_ns=time_ns[tail[control.pings]],
        ping_acks_ns=time_ns[tail[control.ping_acks]],
        frames=_data_frames(frames, chunks, time_ns[head], time_ns[tail]),
        chunks=chunks,
        intervals=intervals,
        credit=credit,
        gaps=gaps(gap_ns=gap_ns),
        short_gaps=gaps(gap_ns=gap_ns // SHORT_GAPS),
        packets=data.packets,
        round_trip_ns=data.round_trip_ns,
        credit_known=known,
    )
    return report, halves, problem


def _transport(stream: ByteStream) -> Transport:
    return Transport(
        segments=stream.segments,
        bytes_in_order=stream.end,
        holes=stream.holes,
        retransmitted_segments=stream.retransmitted_segments,
        retransmitted_bytes=stream.retransmitted_bytes,
        reordered_segments=stream.reordered_segments,
        from_start=stream.from_start,
        finished=stream.finished,
    )


def _data_frames(frames: Frames, chunks: Chunks, head_ns: Ints, tail_ns: Ints) -> DataFrames:
    places = frames.of(Kind.DATA)
    size = np.zeros(frames.at.size, dtype=np.int64)
    np.add.at(size, chunks.frame, chunks.size_bytes)
    return DataFrames(
        start_ns=head_ns[places],
        time_ns=tail_ns[places],
        stream=frames.stream[places],
        size_bytes=size[places],
    )
