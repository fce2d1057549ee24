"""Whether a run gives an answer for each cell, and if not, why."""

from collections.abc import Iterable
from typing import Final

from netcosim.results.streams.summary import CellSummary

EARLY: Final = "ended early"
"""How the reason begins that says what ended a run."""


def reasons_against(cells: Iterable[CellSummary]) -> list[str]:
    """What the run leaves open, one line a cell; empty if it can be trusted.

    Missing is the answer of a cell without a valid burst, or whose bursts contradict each other.
    That models are undecided, or none fits, is an answer.
    """
    reasons = []
    for cell in cells:
        if not cell.judged_bursts + cell.shown_bursts:
            reasons.append(f"{cell.cell}: no valid burst in {cell.invalid_bursts}")
        elif cell.answer.kind == "contradiction":
            reasons.append(f"{cell.cell}: its bursts contradict each other")
    return reasons
