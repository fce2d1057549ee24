"""Parallel map of cells to the predictions of every model.

It runs when nothing is measured any more: a processor that predicts is missing to a burst.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from emu.prediction.cell_inputs import CellInputs
from emu.prediction.cell_prediction import predict_cell
from emu.prediction.delivery import takes_turns, with_delivered
from netcosim.parallel_map import side_by_side
from netcosim.trace import StreamRow

_WORTH_BYTES: Final = 100_000_000
"""Below it processes take longer to begin than they save: one predicts so many bytes in 2 s."""


def cell_predictions(known: CellInputs) -> list[StreamRow]:
    """Predict the wire ends and delivered ends of a cell, with every model at every level."""
    first = frozenset(round_.connections[0].bursts[0].burst for round_ in known.rounds)
    rows, overhead = predict_cell(known), known.calibration.overhead
    return with_delivered(rows, overhead, first, in_turn=takes_turns(known.cell))


def predict_cells(cells: Sequence[CellInputs]) -> Iterator[list[StreamRow]]:
    """Yield the predictions of each cell, in order; the same with one process or several."""
    if _sent_bytes(cells) < _WORTH_BYTES:
        return map(cell_predictions, cells)
    return side_by_side(cell_predictions, cells)


def _sent_bytes(cells: Iterable[CellInputs]) -> int:
    return sum(
        message.size_bytes
        for known in cells
        for round_ in known.rounds
        for connection in round_.connections
        for burst in connection.bursts
        for message in burst.messages
    )
