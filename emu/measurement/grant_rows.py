"""Rows of `grants.parquet` from a capture: credit and PINGs."""

from collections.abc import Iterator
from operator import itemgetter

import numpy as np

from emu.capture.control import MAX_FRAME_SIZE as MAX_FRAME_SIZE_NUMBER
from emu.capture.report import DirectionReport
from emu.capture.windows import ALL_STREAMS
from emu.measurement.trace_rows import CapturedBurst
from h2model.protocol import DEFAULT_WINDOW_BYTES
from netcosim.job import Cell
from netcosim.results.streams.grants import (
    INITIAL_WINDOW,
    MAX_FRAME_SIZE,
    PING,
    PING_ACK,
    WINDOW_UPDATE,
    GrantRow,
)


def grant_rows(
    cell: Cell, seen: CapturedBurst, zero_ns: int, since_ns: int | None
) -> list[GrantRow]:
    """Rows of `grants.parquet` for one burst of one connection.

    They begin after `since_ns` (the machine's clock), the end of the connection's burst before,
    or with the connection where that is None; they end with the burst.
    """
    data, feedback = seen.carried.data, seen.carried.feedback
    found = [
        *((*event, True) for event in _credit(feedback)),
        *((*event, True) for event in _pings(feedback)),
        *((*event, False) for event in _pings(data)),
    ]
    return [
        GrantRow(
            cell=cell.name,
            burst=seen.burst,
            connection=seen.carried.planned.index,
            time_ns=time_ns - zero_ns,
            from_receiver=from_receiver,
            kind=kind,
            stream=stream,
            size_bytes=size_bytes,
        )
        for time_ns, kind, stream, size_bytes, from_receiver in sorted(found, key=itemgetter(0))
        if (since_ns is None or time_ns > since_ns) and time_ns <= seen.last_ns
    ]


def _credit(feedback: DirectionReport) -> Iterator[tuple[int, str, int, int]]:
    """Time, kind, stream and bytes of the data receiver's changes to windows and frame size."""
    grants = feedback.grants
    moved = np.where(grants.stream == ALL_STREAMS, grants.amount, 0)
    initial = DEFAULT_WINDOW_BYTES + np.cumsum(moved, dtype=np.int64)
    columns = (grants.time_ns, grants.stream, grants.amount, initial)
    for time_ns, stream, amount, window in zip(*(c.tolist() for c in columns), strict=True):
        if stream == ALL_STREAMS:
            yield time_ns, INITIAL_WINDOW, 0, window
        else:
            yield time_ns, WINDOW_UPDATE, stream, amount
    for change in feedback.settings:
        if change.number == MAX_FRAME_SIZE_NUMBER:
            yield change.time_ns, MAX_FRAME_SIZE, 0, change.value


def _pings(direction: DirectionReport) -> Iterator[tuple[int, str, int, int]]:
    for kind, times in ((PING, direction.pings_ns), (PING_ACK, direction.ping_acks_ns)):
        for time_ns in times.tolist():
            yield time_ns, kind, 0, 0
