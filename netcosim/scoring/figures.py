"""Measured figures of a cell, from the rows of its bursts."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from netcosim.results.streams.summary import Ratios
from netcosim.results.streams.windows import NEVER_BINDS_BYTES
from netcosim.scoring.facts import CellFacts
from netcosim.trace import StreamRow, bursts


@dataclass(frozen=True, slots=True, kw_only=True)
class Figures:
    """Measured figures of a cell, means over its bursts; the fields are those of `CellSummary`."""

    streams: int
    burst_bytes: int
    burst_length_ns: int
    goodput_bps: float
    stalls: float
    link_stall_ns: int
    visits: float


def measured_figures(rows: Sequence[StreamRow]) -> Figures:
    """Figures of a cell's bursts, on the clock of link work."""
    groups = list(bursts(rows).values())
    return Figures(
        streams=len(groups[0]) if groups else 0,
        burst_bytes=sum(row.size_bytes for row in groups[0]) if groups else 0,
        burst_length_ns=round(_mean([_length_ns(burst) for burst in groups])),
        goodput_bps=_goodput_bps(groups),
        stalls=_mean([sum(row.credit_stops for row in burst) for burst in groups]),
        link_stall_ns=round(_mean([link_stall_ns(burst) for burst in groups])),
        visits=_mean([len(row.services) for row in rows]),
    )


def cell_ratios(facts: CellFacts, measured: Sequence[StreamRow]) -> Ratios:
    """Ratios of window, turns and buffer to the largest message, and of the path to the window."""
    largest = max((row.wire_bytes for row in measured), default=0)
    window = facts.seen_window_bytes
    # A window no message can use up is none.
    if window is not None and window >= NEVER_BINDS_BYTES:
        window = None
    turns = [size for row in measured for size in unfinished_turns(row)]
    return Ratios(
        window_to_message=_ratio(window, largest),
        turn_to_message=_ratio(float(np.median(turns)) if turns else None, largest),
        buffer_to_message=_ratio(facts.past_bytes, largest),
        bdp_to_window=_ratio(facts.bdp_bytes, window),
    )


def unfinished_turns(row: StreamRow) -> list[int]:
    """Bytes of each turn that left the stream unfinished; pauses do not end a turn."""
    turns: list[int] = []
    previous = None
    for service in row.services:
        if previous is not None and service.position == previous + 1:
            turns[-1] += service.size_bytes
        else:
            turns.append(service.size_bytes)
        previous = service.position
    return turns[:-1]


def link_stall_ns(rows: Sequence[StreamRow]) -> int:
    """Time in which nothing of a burst was on the wire while a stream waited for credit."""
    edges: list[tuple[int, int, int]] = []
    for row in rows:
        for service in row.services:
            edges += [(service.start_ns, 1, 0), (service.end_ns, -1, 0)]
        for stall in row.stalls:
            edges += [(stall.start_ns, 0, 1), (stall.end_ns, 0, -1)]
    total = served = waiting = previous = 0
    for time, service_step, stall_step in sorted(edges):
        if served == 0 and waiting > 0:
            total += time - previous
        served += service_step
        waiting += stall_step
        previous = time
    return total


def _ratio(value: float | None, of: float | None) -> float | None:
    return value / of if value is not None and of else None


def _length_ns(rows: Iterable[StreamRow]) -> int:
    return max(row.wire_end_ns for row in rows)


def _goodput_bps(groups: Sequence[Sequence[StreamRow]]) -> float:
    moved = sum(row.wire_bytes for rows in groups for row in rows)
    time_ns = sum(_length_ns(rows) - min(r.start_ns for r in rows) for rows in groups)
    return moved * 8e9 / time_ns if time_ns else 0.0


def _mean(values: Sequence[float]) -> float:
    return float(np.mean(values)) if values else 0.0
