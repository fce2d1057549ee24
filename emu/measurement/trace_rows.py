"""Rows of `trace.parquet` and `windows.parquet` from captures and the applications' logs."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType

import numpy as np

from emu.capture import CaptureReport, ConnectionReport, DirectionReport, StreamReport
from emu.capture.report import gaps_between
from emu.capture.streams import StreamDirection
from emu.endpoints import BurstLog, StreamLog
from emu.plan import PlannedConnection
from emu.remote.endpoint_common import TENSOR_PATH
from h2model.protocol import GRPC_PREFIX_BYTES
from netcosim.errors import CaptureError
from netcosim.job import Cell, Message
from netcosim.results.streams.windows import WindowRow
from netcosim.trace import Service, Stall, StreamRow

Logs = Mapping[int, BurstLog]
"""One connection's logs by burst."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CapturedConnection:
    """One connection of a round: its plan, its logs by burst, its capture report."""

    planned: PlannedConnection
    logs: Logs
    report: ConnectionReport

    @property
    def data(self) -> DirectionReport:
        """The direction in which the tensors went."""
        pushed = self.planned.direction == "push"
        return self.report.to_server if pushed else self.report.to_client

    @property
    def feedback(self) -> DirectionReport:
        """The other direction: what the data's receiver sent."""
        pushed = self.planned.direction == "push"
        return self.report.to_client if pushed else self.report.to_server


@dataclass(frozen=True, slots=True, kw_only=True)
class CapturedBurst:
    """One burst of one connection as captured, times still on the machine's clock."""

    carried: CapturedConnection
    burst: int
    streams: Mapping[int, StreamReport]
    """By the tensor's index."""

    @property
    def log(self) -> BurstLog:
        """The applications' log of this burst."""
        return self.carried.logs[self.burst]

    @property
    def first_ns(self) -> int:
        """Time of the first request's HEADERS at the requester; for a push the first hand-over."""
        if self.carried.planned.direction == "push":
            return min(s.handed_ns for s in self.log.streams)
        seen = [s.request_ns for s in self.streams.values() if s.request_ns is not None]
        return min(seen)

    @property
    def last_ns(self) -> int:
        """Time of the last DATA byte at the receiver."""
        return max(_half(self, s).last_data_ns or 0 for s in self.streams.values())

    def half(self, index: int) -> StreamDirection:
        """The data sender's half of a tensor's stream."""
        return _half(self, self.streams[index])


def find_connection(report: CaptureReport, port: int) -> ConnectionReport:
    """The connection to this port.

    Raises
    ------
    CaptureError
        It is not in the capture, or was only partly captured.
    """
    found = [c for c in report.connections if c.server[1] == port]
    if not found:
        detail = f": {report.problems[0]}" if report.problems else ""
        raise CaptureError(f"the capture holds no connection to port {port}{detail}")
    return found[0]


def find_burst(carried: CapturedConnection, burst: int) -> CapturedBurst:
    """One burst of a connection that was logged to its end and captured whole.

    Raises
    ------
    CaptureError
        A tensor that the application received is not in the capture.
    """
    found: dict[int, StreamReport] = {}
    for stream in carried.report.streams:
        match = TENSOR_PATH.fullmatch(stream.path or "")
        if match is not None and int(match[1]) == burst:
            found[int(match[2])] = stream
    log = carried.logs[burst]
    for message in log.streams:
        if message.index not in found:
            raise CaptureError(
                f"connection {log.connection}, burst {burst}: tensor {message.index}"
                " was received but not captured"
            )
    return CapturedBurst(carried=carried, burst=burst, streams=found)


def measured_rows(
    cell: Cell,
    seen: CapturedBurst,
    zero_ns: int,
    *,
    valid: bool,
    link_positions: Mapping[tuple[int, int], float] = MappingProxyType({}),
) -> list[StreamRow]:
    """Rows of `trace.parquet` for one burst, times on its own wall clock.

    `link_positions` are those of streams whose connection shares its bottleneck
    (`emu.measurement.burst_clock.link_positions`).

    Raises
    ------
    CaptureError
        The capture and the application disagree about a stream's bytes.
    """
    logs = {log.index: log for log in seen.log.streams}
    rows = [
        _row(cell, seen, message, logs[message.index], zero_ns, valid=valid)
        for message in seen.carried.planned.messages
    ]
    return [
        replace(row, link_position=link_positions.get((row.connection, row.stream))) for row in rows
    ]


def window_rows(cell: Cell, seen: CapturedBurst, zero_ns: int) -> list[WindowRow]:
    """Rows of `windows.parquet`: credit left in the burst, of its streams and the connection."""
    credit = seen.carried.data.credit
    wanted = {stream.stream for stream in seen.streams.values()} | {0}
    inside = (credit.time_ns >= zero_ns) & (credit.time_ns <= seen.last_ns)
    columns = (credit.time_ns, credit.stream, credit.stream_left, credit.connection_left)
    rows: list[WindowRow] = []
    for time_ns, stream, left, connection_left in zip(
        *(column[inside].tolist() for column in columns), strict=True
    ):
        entries = {stream: left, 0: connection_left}
        rows += [
            WindowRow(
                cell=cell.name,
                burst=seen.burst,
                connection=seen.carried.planned.index,
                stream=each,
                time_ns=time_ns - zero_ns,
                credit_bytes=credit_bytes,
            )
            for each, credit_bytes in entries.items()
            if each in wanted
        ]
    return rows


def _row(
    cell: Cell, seen: CapturedBurst, message: Message, log: StreamLog, zero_ns: int, *, valid: bool
) -> StreamRow:
    stream = seen.streams[message.index]
    half = _half(seen, stream)
    where = f"{cell.name}, burst {seen.burst}, tensor {message.tensor}"
    if half.first_data_ns is None or half.last_data_ns is None:
        raise CaptureError(f"{where}: no DATA was captured")
    if not 0 <= half.data_bytes - message.size_bytes <= GRPC_PREFIX_BYTES:
        raise CaptureError(
            f"{where}: {half.data_bytes} bytes captured, {message.size_bytes} handed over"
        )
    planned = seen.carried.planned
    return StreamRow(
        world="emu",
        cell=cell.name,
        burst=seen.burst,
        valid=valid,
        source=planned.source,
        destination=planned.destination,
        connection=planned.index,
        stream=stream.stream,
        tensor=message.tensor,
        size_bytes=message.size_bytes,
        wire_bytes=half.data_bytes,
        asked_ns=None if planned.direction == "push" else log.requested_ns - zero_ns,
        requested_ns=None if stream.request_ns is None else stream.request_ns - zero_ns,
        ready_ns=log.handed_ns - zero_ns,
        start_ns=half.first_data_ns - zero_ns,
        wire_end_ns=half.last_data_ns - zero_ns,
        delivered_ns=log.delivered_ns - zero_ns,
        services=_services(seen, stream.stream, half, zero_ns),
        stalls=_stalls(seen, stream.stream, zero_ns),
        credit_stops=half.credit_stops,
    )


def _services(
    seen: CapturedBurst, stream: int, half: StreamDirection, zero_ns: int
) -> tuple[Service, ...]:
    positions = np.flatnonzero(seen.carried.data.intervals.stream == stream).tolist()
    columns = (half.start_ns.tolist(), half.end_ns.tolist(), half.size_bytes.tolist(), positions)
    return tuple(
        Service(start_ns=start - zero_ns, end_ns=end - zero_ns, size_bytes=size, position=position)
        for start, end, size, position in zip(*columns, strict=True)
    )


def _stalls(seen: CapturedBurst, stream: int, zero_ns: int) -> tuple[Stall, ...]:
    gaps = gaps_between(seen.carried.data.stalls, seen.first_ns, seen.last_ns)
    return tuple(
        Stall(start_ns=gap.start_ns - zero_ns, end_ns=gap.end_ns - zero_ns)
        for gap in gaps
        if stream in gap.streams
    )


def _half(seen: CapturedBurst, stream: StreamReport) -> StreamDirection:
    return stream.client if seen.carried.planned.direction == "push" else stream.server


def common_zero(seen: Sequence[CapturedBurst]) -> int:
    """Zero of a burst's wall clock: the earliest `first_ns` of all its connections."""
    return min(each.first_ns for each in seen)
