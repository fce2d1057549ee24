"""JSON record of a capture's analysis, as `emu.analyze --json` writes it."""

from collections.abc import Sequence
from typing import Final, Literal

import numpy as np
from pydantic import Field

from emu.capture import CaptureReport, Cause, ConnectionReport, DirectionReport
from emu.capture.streams import StreamDirection
from emu.capture.windows import ALL_STREAMS, CONNECTION
from emu.identify.bursts import find_bursts
from emu.identify.credit import judge_credit
from emu.identify.discipline import Evidence, judge_discipline
from h2model.protocol import SETTING_NAMES
from netcosim.results.streams.identification import CreditVerdict, DisciplineVerdict, Record

MOST_ROWS: Final = 10_000
"""Turns and grants beyond this many are counted, not listed."""


class SettingRecord(Record):
    """One announced setting."""

    time_ns: int
    number: int
    name: str = Field(description="as RFC 9113 calls it; a number where it does not")
    value: int


class StreamRecord(Record):
    """One stream's data in one direction; times from the connection's first packet."""

    stream: int
    path: str | None
    request_ns: int | None = Field(description="HEADERS of the request")
    response_ns: int | None = Field(description="first HEADERS of the response")
    first_data_ns: int | None
    last_data_ns: int | None
    data_bytes: int
    visits: int = Field(description="runs of DATA without another stream's between")
    credit_stops: int = Field(description="visits that ended as the stream's credit did")
    stalls: int = Field(
        description="idle times of the direction that this stream's credit explains"
    )
    window_bytes: int | None = Field(description="credit before its first DATA; null: unknown")
    granted_bytes: int = Field(description="by WINDOW_UPDATEs of its own")
    end: Literal["ended", "reset", "open"]


class TurnRecord(Record):
    """One visit: a run of a stream's DATA without another stream's between."""

    stream: int
    size_bytes: int
    start_ns: int


class GrantRecord(Record):
    """One grant: a WINDOW_UPDATE, or a change of the initial window."""

    time_ns: int
    stream: int = Field(description="0: the connection; -1: the initial window of all streams")
    amount: int
    left: int | None = Field(description="credit left with it, as seen at the capture; -1: null")


class IdleRecord(Record):
    """Idle times of one cause."""

    count: int
    total_ns: int


class DirectionRecord(Record):
    """One direction that carried DATA, and what its receiver granted."""

    to: Literal["client", "server"]
    data_bytes: int
    streams: tuple[StreamRecord, ...]
    bursts: int = Field(description="times in which some stream was unfinished")
    turns_count: int
    turns: tuple[TurnRecord, ...] = Field(description=f"the first {MOST_ROWS}")
    grants_count: int
    grants: tuple[GrantRecord, ...] = Field(description=f"the first {MOST_ROWS}")
    idle: dict[str, IdleRecord] = Field(description="by cause; unexplained: not for lack of credit")
    credit_known: bool = Field(description="false: the windows' beginning was not captured")
    discipline: DisciplineVerdict
    credit: CreditVerdict


class SideRecord(Record):
    """One side's settings, PINGs and TCP statistics."""

    settings: tuple[SettingRecord, ...]
    pings_ns: tuple[int, ...]
    ping_acks_ns: tuple[int, ...]
    segments: int
    bytes_in_order: int
    holes: int
    retransmitted_segments: int
    reordered_segments: int
    round_trip_ns: int = Field(description="from the capture to this side and back; 0: unknown")


class ConnectionRecord(Record):
    """One TCP connection; times from its first packet."""

    client: str
    server: str
    first_ns: int = Field(description="on the capture's clock")
    duration_ns: int
    complete: bool
    problems: tuple[str, ...]
    client_side: SideRecord
    server_side: SideRecord
    directions: tuple[DirectionRecord, ...]


class Analysis(Record):
    """Analysis of a capture file: its connections and its problems."""

    format: Literal["netcosim-analysis"] = "netcosim-analysis"
    version: Literal[1] = 1
    file: str
    size_bytes: int
    packets: int
    truncated: bool
    problems: tuple[str, ...]
    connections: tuple[ConnectionRecord, ...]


def analysis_record(report: CaptureReport, file: str) -> Analysis:
    """Build the record of a capture's analysis."""
    return Analysis(
        file=file,
        size_bytes=report.size_bytes,
        packets=report.packets,
        truncated=report.truncated,
        problems=report.problems,
        connections=tuple(_connection(each) for each in report.connections),
    )


def _connection(report: ConnectionReport) -> ConnectionRecord:
    zero_ns = report.first_ns
    return ConnectionRecord(
        client=_name(report.client),
        server=_name(report.server),
        first_ns=zero_ns,
        duration_ns=report.last_ns - zero_ns,
        complete=report.complete,
        problems=report.problems,
        client_side=_side(report.to_server, zero_ns),
        server_side=_side(report.to_client, zero_ns),
        directions=tuple(
            _direction(report, to_client=to_client)
            for to_client in (True, False)
            if (report.to_client if to_client else report.to_server).frames.size_bytes.any()
        ),
    )


def _name(end: tuple[str, int]) -> str:
    address, port = end
    return f"[{address}]:{port}" if ":" in address else f"{address}:{port}"


def _side(side: DirectionReport, zero_ns: int) -> SideRecord:
    return SideRecord(
        settings=tuple(
            SettingRecord.model_construct(
                time_ns=each.time_ns - zero_ns,
                number=each.number,
                name=SETTING_NAMES.get(each.number, str(each.number)),
                value=each.value,
            )
            for each in side.settings[:MOST_ROWS]
        ),
        pings_ns=tuple((side.pings_ns[:MOST_ROWS] - zero_ns).tolist()),
        ping_acks_ns=tuple((side.ping_acks_ns[:MOST_ROWS] - zero_ns).tolist()),
        segments=side.tcp.segments,
        bytes_in_order=side.tcp.bytes_in_order,
        holes=len(side.tcp.holes),
        retransmitted_segments=side.tcp.retransmitted_segments,
        reordered_segments=side.tcp.reordered_segments,
        round_trip_ns=side.round_trip_ns,
    )


def _direction(report: ConnectionReport, *, to_client: bool) -> DirectionRecord:
    data, peer = report.to_client, report.to_server
    if not to_client:
        data, peer = peer, data
    zero_ns = report.first_ns
    bursts = find_bursts(report, to_client=to_client)
    evidence = [Evidence(burst=burst, credit=data.credit) for burst in bursts.kept]
    turns_count, turns = _turns(data, zero_ns)
    return DirectionRecord(
        to="client" if to_client else "server",
        data_bytes=int(data.frames.size_bytes.sum()),
        streams=_streams(report, data, peer, to_client=to_client),
        bursts=bursts.count,
        turns_count=turns_count,
        turns=turns,
        grants_count=int(peer.grants.time_ns.size),
        grants=_grants(data, peer, zero_ns),
        idle=_idle(data),
        credit_known=data.credit_known,
        discipline=judge_discipline(evidence),
        credit=judge_credit([(report, to_client)]),
    )


def _streams(
    report: ConnectionReport, data: DirectionReport, peer: DirectionReport, *, to_client: bool
) -> tuple[StreamRecord, ...]:
    zero_ns = report.first_ns

    def since(time_ns: int | None) -> int | None:
        return None if time_ns is None else time_ns - zero_ns

    windows, granted = _first_windows(data), _granted(peer)
    stalls: dict[int, int] = {}
    for gap in data.stalls:
        for number in gap.streams:
            stalls[number] = stalls.get(number, 0) + 1
    return tuple(
        StreamRecord(
            stream=stream.stream,
            path=stream.path,
            request_ns=since(stream.request_ns),
            response_ns=since(stream.response_ns),
            first_data_ns=since(half.first_data_ns),
            last_data_ns=since(half.last_data_ns),
            data_bytes=half.data_bytes,
            visits=half.visits,
            credit_stops=half.credit_stops,
            stalls=stalls.get(stream.stream, 0),
            window_bytes=windows.get(stream.stream),
            granted_bytes=granted.get(stream.stream, 0),
            end=_end(half),
        )
        for stream in report.streams
        if (half := stream.server if to_client else stream.client).data_bytes
    )


def _end(half: StreamDirection) -> Literal["ended", "reset", "open"]:
    if half.reset_ns is not None:
        return "reset"
    return "open" if half.ended_ns is None else "ended"


def _first_windows(data: DirectionReport) -> dict[int, int]:
    """Credit of each stream before its first DATA."""
    credit = data.credit
    order = np.argsort(credit.stream, kind="stable")
    streams, left = credit.stream[order], credit.stream_left[order]
    falls = np.flatnonzero((streams[1:] == streams[:-1]) & (left[1:] < left[:-1]))
    numbers, first = np.unique(streams[falls], return_index=True)
    return dict(zip(numbers.tolist(), left[falls[first]].tolist(), strict=True))


def _granted(peer: DirectionReport) -> dict[int, int]:
    own = peer.grants.stream > CONNECTION
    numbers, group = np.unique(peer.grants.stream[own], return_inverse=True)
    sums = np.zeros(numbers.size, dtype=np.int64)
    np.add.at(sums, group, peer.grants.amount[own])
    return dict(zip(numbers.tolist(), sums.tolist(), strict=True))


def _turns(data: DirectionReport, zero_ns: int) -> tuple[int, tuple[TurnRecord, ...]]:
    """Number of visits, and the records of the first."""
    frames = data.frames
    filled = np.flatnonzero(frames.size_bytes)
    stream = frames.stream[filled]
    first = np.flatnonzero(np.diff(stream, prepend=-1) != 0)
    sizes = np.add.reduceat(frames.size_bytes[filled], first)
    columns = (stream[first], sizes, frames.start_ns[filled][first] - zero_ns)
    rows = zip(*(column[:MOST_ROWS].tolist() for column in columns), strict=True)
    return first.size, tuple(
        TurnRecord.model_construct(stream=number, size_bytes=size, start_ns=start)
        for number, size, start in rows
    )


def _grants(data: DirectionReport, peer: DirectionReport, zero_ns: int) -> tuple[GrantRecord, ...]:
    given = peer.grants
    keys = zip(data.credit.time_ns.tolist(), data.credit.stream.tolist(), strict=True)
    left = dict(zip(keys, data.credit.stream_left.tolist(), strict=True))
    rows = zip(given.time_ns.tolist(), given.stream.tolist(), given.amount.tolist(), strict=True)
    return tuple(
        GrantRecord.model_construct(
            time_ns=time_ns - zero_ns,
            stream=stream,
            amount=amount,
            left=None if stream == ALL_STREAMS else left.get((time_ns, stream)),
        )
        for _, (time_ns, stream, amount) in zip(range(MOST_ROWS), rows, strict=False)
    )


def _idle(data: DirectionReport) -> dict[str, IdleRecord]:
    return {
        cause.value: _sum([gap.end_ns - gap.start_ns for gap in data.gaps if gap.cause is cause])
        for cause in Cause
    }


def _sum(times_ns: Sequence[int]) -> IdleRecord:
    return IdleRecord(count=len(times_ns), total_ns=sum(times_ns))
