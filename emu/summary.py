"""Build a run's summary from the rows of its cells, for a session or a later rerun."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from emu.plan import Plan
from emu.prediction.run_inputs import CellRows
from emu.prediction.summary_facts import cell_facts
from netcosim.formatting import percent
from netcosim.results.streams.summary import CellSummary, NotRun, Summary
from netcosim.scoring.bounds import MOST_CUT
from netcosim.scoring.cell import summarise_cell
from netcosim.trace import StreamRow

EARLY: Final = "ended early"
"""Prefix of the reason that says what ended a run."""


def summarise_run(
    plan: Plan,
    cells: Iterable[tuple[CellRows, Sequence[StreamRow]]],
    models: Mapping[str, Any],
    *,
    ended: Sequence[str] = (),
    complete: bool,
    not_run: tuple[NotRun, ...],
) -> Summary:
    """Summarise what is finished of a run.

    Parameters
    ----------
    plan
        The run's plan.
    cells
        The rows of each cell that has a burst, and its predictions.
    models
        The links of all connections, by `emu.plan.link_key`.
    ended
        Reasons why something is missing, if it is.
    complete
        True if nothing is missing.
    not_run
        The cells that this machine could not run.
    """
    made = tuple(
        summarise_cell(
            cell_facts(rows.cell, models, rows.validity, rows.grants),
            rows.measured,
            predicted,
            rows.lost,
        )
        for rows, predicted in cells
    )
    reasons = (*ended, *reasons_against(made))
    return Summary(
        scenario=plan.scenario.name,
        world="emu",
        seed=plan.scenario.seed,
        complete=complete,
        trusted=not reasons,
        reasons=reasons,
        cells=made,
        not_run=not_run,
    )


def reasons_against(cells: Iterable[CellSummary]) -> list[str]:
    """Reasons not to trust a run, one line a cell; empty if it can be trusted.

    A cell has no answer without a valid burst, or if its bursts contradict each other; it is none
    where most of their time was cut out as pauses. That models are undecided, or none fits, is an
    answer.
    """
    reasons = []
    for cell in cells:
        if not cell.judged_bursts + cell.shown_bursts:
            reasons.append(f"{cell.cell}: no valid burst in {cell.invalid_bursts}")
        elif cell.answer.kind == "contradiction":
            reasons.append(f"{cell.cell}: its bursts contradict each other")
        elif cell.cut_share > MOST_CUT:
            share = f"{percent(cell.cut_share)} of its bursts' time was cut out as pauses"
            reasons.append(f"{cell.cell}: {share}; must be at most {percent(MOST_CUT)}")
    return reasons
