"""Calibrate a receiver's overhead: from a message's last byte on the wire to its delivery.

Found before the cells run, once for each distinct receiver, on a connection of its own: two bursts
of messages whose ends a capture shows on the wire and the receiver's log in the application. In
each, some messages come alone; then some come together, so that one is parsed while others arrive.
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, Final

import numpy as np

from emu.calibration.trial_bursts import Stage, run_trial
from emu.endpoints.pairing import widest_windows
from emu.measurement.trace_rows import CapturedBurst, common_zero, measured_rows
from emu.plan import Plan, receiver_key
from h2model.arrivals import arrivals_of, spans_of
from h2model.overhead import Linear, Overhead, delivered_ends_ns, fit_linear, fit_stretch
from netcosim.job import Cell, Message
from netcosim.trace import StreamRow

BURSTS: Final = 2
"""Bursts: the first on memory that the receiver's process has never touched, and one more."""

WIRE_S: Final = 0.75
"""Longest time that a burst's bytes may take on the wire."""

LARGEST_BYTES: Final = 16_000_000
_LEAST_BYTES: Final = 4_096
_ALONE: Final = (512, 512, 64, 64, 16, 16, 4, 4, 2, 2, 1, 1)
_TOGETHER: Final = (16, 8, 4, 2)
"""Sizes as fractions of the largest one: 1/512, 1/64 ..."""

_PAUSE_NS: Final = 12_000_000
_PARSING_NS_PER_BYTE: Final = 2.0
"""Room for parsing between two messages that shall come alone; no more than a guess is needed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """One message of the calibration.

    `alone` is set if nothing else arrived or was being parsed from its last byte to its delivery.
    """

    burst: int
    size_bytes: int
    wire_end_ns: int
    delivered_ns: int
    alone: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Calibration:
    """Fitted overhead of a receiver, the samples behind it and the fit's residuals.

    The residuals are |delivered - fitted|; `reasons` say which bounds of a valid burst the bursts
    broke, and `attempts` how many attempts at whole bursts were made.
    """

    overhead: Overhead
    samples: tuple[Sample, ...]
    residual_median_ns: int
    residual_p95_ns: int
    residual_max_ns: int
    attempts: int = 1
    reasons: tuple[str, ...] = ()

    def record(self) -> dict[str, Any]:
        """Plain values, ready for JSON."""
        return asdict(self)


def calibrate(stage: Stage) -> Calibration:
    """Calibrate the receiver of a cell on a connection between two of its hosts.

    Windows are opened wide, so that nothing but the link holds the bytes back.

    Raises
    ------
    EndpointError
        An end failed.
    CaptureError
        tcpdump failed.
    UncapturedError
        The bursts were never captured whole.
    """
    messages = calibration_messages(
        stage.rate_bps, stage.round_trip_ns, largest_bytes(stage.plan, stage.cell)
    )

    def fitted(test: Cell, seen: Sequence[CapturedBurst]) -> Calibration:
        rows = [measured_rows(test, each, common_zero([each]), valid=True) for each in seen]
        return evaluate(rows, one_way_ns=stage.round_trip_ns // 2)

    done = run_trial(stage, widest_windows(stage.cell.transport), messages, BURSTS, fitted)
    return replace(done.found, attempts=done.attempts, reasons=done.reasons)


def calibration_messages(
    rate_bps: float, round_trip_ns: int, largest_bytes: int = LARGEST_BYTES
) -> tuple[Message, ...]:
    """The messages of one calibration burst: one after the other first, then some at once.

    Parameters
    ----------
    rate_bps, round_trip_ns
        Of the path; the largest message is what a burst of `WIRE_S` has room for.
    largest_bytes
        Upper bound of that message.
    """
    parts = sum(1 / part for part in _ALONE + _TOGETHER)
    largest = min(LARGEST_BYTES, largest_bytes, round(rate_bps / 8 * WIRE_S / parts))
    sizes = [max(_LEAST_BYTES, largest // part) for part in _ALONE + _TOGETHER]
    messages = []
    ready_ns = 0
    for index, size in enumerate(sizes):
        messages.append(
            Message(
                tensor=f"calibration-{index}",
                index=index,
                size_bytes=size,
                ready_ns=ready_ns,
                priority=0,
            )
        )
        if index < len(_ALONE):
            wire_ns = size * 8e9 / rate_bps + 2 * round_trip_ns
            ready_ns += round(wire_ns + _PARSING_NS_PER_BYTE * size) + _PAUSE_NS
    return tuple(messages)


def evaluate(bursts: Sequence[Sequence[StreamRow]], one_way_ns: int = 0) -> Calibration:
    """Fit a receiver's overhead to the rows of its calibration's bursts, the first one first.

    Parameters
    ----------
    bursts
        The rows of each burst.
    one_way_ns
        Time of a byte on an idle path: no part of the hand-over.

    Raises
    ------
    ValueError
        There are none.
    """
    alone = [alone_in(rows) for rows in bursts]
    lines = [_line(rows, flags) for rows, flags in zip(bursts, alone, strict=True)]
    groups = [
        (arrivals_of(rows), spans_of(rows), line, [_delivered(row) for row in rows])
        for rows, line in zip(bursts, lines, strict=True)
    ]
    stretch = fit_stretch(groups)
    residuals = [
        abs(ours - seen)
        for arrivals, spans, line, delivered in groups
        for ours, seen in zip(
            delivered_ends_ns(arrivals, spans, line, stretch), delivered, strict=True
        )
    ]
    return Calibration(
        overhead=Overhead(
            first=lines[0],
            later=lines[-1],
            stretch=stretch,
            handover_first=_handover_line(bursts[0], one_way_ns),
            handover_later=_handover_line(bursts[-1], one_way_ns),
        ),
        samples=tuple(
            Sample(
                burst=row.burst,
                size_bytes=row.size_bytes,
                wire_end_ns=row.wire_end_ns,
                delivered_ns=_delivered(row),
                alone=flag,
            )
            for rows, flags in zip(bursts, alone, strict=True)
            for row, flag in zip(rows, flags, strict=True)
        ),
        residual_median_ns=round(float(np.median(residuals))),
        residual_p95_ns=round(float(np.percentile(residuals, 95))),
        residual_max_ns=max(residuals),
    )


def alone_in(rows: Sequence[StreamRow]) -> list[bool]:
    """Flags of a burst's messages: no other arrived or was parsed from last byte to delivery."""
    parsing = [(row.wire_end_ns, _delivered(row), row.stream) for row in rows]
    arriving = [(s.start_ns, s.end_ns, row.stream) for row in rows for s in row.services]
    return [
        not any(
            start < _delivered(row) and end > row.wire_end_ns
            for start, end, stream in parsing + arriving
            if stream != row.stream
        )
        for row in rows
    ]


def largest_bytes(plan: Plan, cell: Cell) -> int:
    """Size of a run's largest message for the same receiver as this cell's."""
    key = receiver_key(cell)
    return max(
        message.size_bytes
        for other in plan.cells
        if receiver_key(other) == key
        for server in other.messages
        for message in server
    )


def _line(rows: Sequence[StreamRow], alone: Sequence[bool]) -> Linear:
    """Fit overhead over size to the messages that came alone, to all if those are too few."""
    kept = [row for row, flag in zip(rows, alone, strict=True) if flag]
    chosen = kept if len({row.size_bytes for row in kept}) > 1 else list(rows)
    line = fit_linear(
        [row.size_bytes for row in chosen],
        [max(0, _delivered(row) - row.wire_end_ns) for row in chosen],
    )
    return _rounded(line)


def _handover_line(rows: Sequence[StreamRow], one_way_ns: int) -> Linear:
    """Fit the time from log to first byte to the messages handed over to an idle sender."""
    kept = [
        row
        for row in rows
        if not any(
            other.ready_ns < row.start_ns and other.wire_end_ns > row.ready_ns
            for other in rows
            if other.stream != row.stream
        )
    ]
    chosen = kept if len({row.size_bytes for row in kept}) > 1 else list(rows)[:1]
    waits = [max(0, row.start_ns - row.ready_ns - one_way_ns) for row in chosen]
    return _rounded(fit_linear([row.size_bytes for row in chosen], waits))


def _rounded(line: Linear) -> Linear:
    """Round a line as it is stored, so that a later recomputation has the same numbers."""
    return Linear(
        alpha_ns_per_byte=round(line.alpha_ns_per_byte, 5), beta_ns=float(round(line.beta_ns))
    )


def _delivered(row: StreamRow) -> int:
    if row.delivered_ns is None:
        raise ValueError(f"{row.cell}: {row.tensor} was never delivered")
    return row.delivered_ns
