"""Predict when each message is delivered to the application, from the predicted wire ends.

A receiver's overhead is calibrated before the run's cells (`emu.calibration.overhead`), so this is
PREDICT where the predicted wire ends are.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from h2model.arrivals import arrivals_of, spans_of
from h2model.candidates import reads_in_turn
from h2model.overhead import (
    Overhead,
    delivered_ends_ns,
    in_turn_ends_ns,
)
from netcosim.job import Cell
from netcosim.trace import StreamRow


def with_delivered(
    rows: Sequence[StreamRow],
    overhead: Overhead | None,
    first: frozenset[int],
    *,
    in_turn: bool = False,
) -> list[StreamRow]:
    """Add delivered ends to predicted rows; return them unchanged without a calibration.

    Parameters
    ----------
    rows
        Predictions of one cell, by any models and at any levels.
    overhead
        The calibrated receiver.
    first
        The bursts that were the first of their connections.
    in_turn
        True if the receiver reads its messages one after the other, in the order of their streams.
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
    """True if the cell's receivers read their messages one after the other."""
    return cell.workload.direction == "push" and reads_in_turn(cell.transport)


def _places(rows: Sequence[StreamRow]) -> Mapping[tuple[Any, ...], list[int]]:
    found: dict[tuple[Any, ...], list[int]] = {}
    for place, row in enumerate(rows):
        found.setdefault((row.model, row.level, row.burst, row.connection), []).append(place)
    return found
