"""Predictions of when each message is in the application, from those of the wire.

A receiver's overhead is known before the run's cells (`emu.calibration.overhead`), so this is PREDICT where the
predicted wire ends are.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from h2model.candidates import reads_in_turn
from h2model.overhead import (
    Arrival,
    Linear,
    Overhead,
    Span,
    delivered_ends_ns,
    in_turn_ends_ns,
)
from netcosim.job import Cell
from netcosim.trace import StreamRow

_LINES = ("first", "later", "handover_first", "handover_later")


def receiver_key(cell: Cell) -> str:
    """What tells receivers apart: implementation, release, its part, who sends to it.

    Its windows do not: they decide when bytes come, not what is done with them.
    """
    spec = cell.transport
    which = spec.receiver_script or spec.receiver_release
    receiver = f"{spec.receiver} {which}" if which else spec.receiver
    frames = f", frames of {spec.frame_size}" if spec.frame_size else ""
    whose = spec.sender_script or spec.sender_release
    sender = f"{spec.sender} {whose}" if whose else spec.sender
    part = "listening" if cell.workload.direction == "push" else "asking"
    return f"{receiver}, {part}, from {sender}{frames}"


def distinct_receivers(cells: Iterable[Cell]) -> dict[str, Cell]:
    """Each receiver once, by its key, with the first cell that has it."""
    found: dict[str, Cell] = {}
    for cell in cells:
        found.setdefault(receiver_key(cell), cell)
    return found


def overhead_of(record: Mapping[str, Any]) -> Overhead:
    """The overhead in a `Calibration.record`.

    Raises
    ------
    KeyError, TypeError
        It is not one.
    """
    fields = record["overhead"]
    lines = {name: Linear(**fields[name]) for name in _LINES if name in fields}
    return Overhead(**lines, stretch=fields["stretch"])


def with_delivered(
    rows: Sequence[StreamRow],
    overhead: Overhead | None,
    first: frozenset[int],
    *,
    in_turn: bool = False,
) -> list[StreamRow]:
    """Predicted rows with their delivered ends; as they are if the receiver is not calibrated.

    Parameters
    ----------
    rows
        Predictions of one cell, by any models and at any levels.
    overhead
        The calibrated receiver.
    first
        The bursts that were the first of their connections.
    in_turn
        Whether the receiver reads its messages one after the other, in the order of their streams.
    """
    if overhead is None:
        return list(rows)
    ends: dict[int, int] = {}
    rule = in_turn_ends_ns if in_turn else delivered_ends_ns
    for mine in _places(rows).values():
        places = sorted(mine, key=lambda place: rows[place].stream)
        group = [rows[place] for place in places]
        line = overhead.first if group[0].burst in first else overhead.later
        delivered = rule(arrivals_of(group), spans_of(group), line, overhead.stretch)
        ends.update(zip(places, delivered, strict=True))
    return [replace(row, delivered_ns=ends[place]) for place, row in enumerate(rows)]


def takes_turns(cell: Cell) -> bool:
    """Whether the cell's receivers read their messages one after the other."""
    return cell.workload.direction == "push" and reads_in_turn(cell.transport)


def first_bursts(attempts: Mapping[int, int]) -> frozenset[int]:
    """Of the bursts and the round each belongs to, those that were the first on new connections."""
    first: dict[int, int] = {}
    for burst, attempt in attempts.items():
        first[attempt] = min(burst, first.get(attempt, burst))
    return frozenset(first.values())


def arrivals_of(rows: Sequence[StreamRow]) -> list[Arrival]:
    """The messages of one burst of one connection, by their wire ends."""
    return [Arrival(wire_end_ns=row.wire_end_ns, size_bytes=row.size_bytes) for row in rows]


def spans_of(rows: Sequence[StreamRow]) -> list[Span]:
    """When DATA of these rows arrived."""
    return [(s.start_ns, s.end_ns) for row in rows for s in row.services]


def _places(rows: Sequence[StreamRow]) -> Mapping[tuple[Any, ...], list[int]]:
    found: dict[tuple[Any, ...], list[int]] = {}
    for place, row in enumerate(rows):
        found.setdefault((row.model, row.level, row.burst, row.connection), []).append(place)
    return found
