"""Differences between two emulations: verdicts, errors, figures of cells, measured links."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal

from netcosim.results.run_record import RunRecord
from netcosim.results.streams.summary import Answer, CellSummary, ModelResult, Summary
from netcosim.scoring.differences.ends import ends
from netcosim.scoring.differences.records import (
    CellChange,
    Change,
    EmulationChanges,
    FigureChange,
    LinkChange,
)
from netcosim.scoring.figures import measured_figures
from netcosim.trace import PREDICT, StreamRow, bursts

Bursts = Mapping[str, Sequence[Sequence[StreamRow]]]
"""The judged bursts of each cell, on the clock of link work."""


def judged_bursts(rows: Iterable[StreamRow]) -> dict[str, list[list[StreamRow]]]:
    """Group the rows of bursts that may be scored, by cell."""
    found: dict[str, list[list[StreamRow]]] = {}
    for (cell, _), burst in bursts(row for row in rows if row.valid).items():
        found.setdefault(cell, []).append(burst)
    return found


def emulation_changes(
    a: Summary, b: Summary, bursts_a: Bursts, bursts_b: Bursts, links: tuple[LinkChange, ...]
) -> EmulationChanges:
    """Compare the cells that both emulations have; their bursts are independent samples."""
    after = {cell.cell: cell for cell in b.cells}
    return EmulationChanges(
        cells=tuple(
            _cell(
                cell,
                after[cell.cell],
                bursts_a.get(cell.cell, ()),
                bursts_b.get(cell.cell, ()),
            )
            for cell in a.cells
            if cell.cell in after
        ),
        links=links,
    )


def link_changes(a: RunRecord | None, b: RunRecord | None) -> tuple[LinkChange, ...]:
    """Rates of the paths that both runs measured; none where a record is missing."""
    before, after = _paths(a), _paths(b)
    ways: tuple[Literal["down", "up"], ...] = ("down", "up")
    return tuple(
        LinkChange(
            path=path,
            direction=way,
            a_bps=before[path][f"{way}_bps"],
            b_bps=after[path][f"{way}_bps"],
        )
        for path in before
        if path in after
        for way in ways
        if all(isinstance(one[path].get(f"{way}_bps"), int) for one in (before, after))
    )


def _paths(record: RunRecord | None) -> dict[str, dict[str, Any]]:
    measured = [] if record is None else record.links
    return {f"{path.get('server')} - {path.get('worker')}": path for path in measured}


def _cell(
    a: CellSummary,
    b: CellSummary,
    bursts_a: Sequence[Sequence[StreamRow]],
    bursts_b: Sequence[Sequence[StreamRow]],
) -> CellChange:
    return CellChange(
        cell=a.cell,
        answer_a=answer_text(a.answer),
        answer_b=answer_text(b.answer),
        other_rule=exclude_each_other(a.answer, b.answer),
        grade_a=a.grade,
        grade_b=b.grade,
        bursts_a=len(bursts_a),
        bursts_b=len(bursts_b),
        figures=(*_errors(a, b), *_measured(bursts_a, bursts_b)),
        ends=ends(bursts_a, bursts_b),
    )


def answer_text(answer: Answer) -> str:
    """A verdict in a few words: ``follows fifo``, ``undecided: fifo, two_visit``."""
    if answer.kind == "follows":
        return f"follows {answer.model}"
    if answer.kind == "alike":
        return "models are alike here"
    named = [name for name in (answer.model, *sorted(answer.rivals)) if name is not None]
    return f"undecided: {', '.join(named)}" if answer.kind == "undecided" else answer.kind


def exclude_each_other(a: Answer, b: Answer) -> bool:
    """Whether no rule is possible by both verdicts; one that decides nothing excludes none."""
    before, after = _possible(a), _possible(b)
    return before is not None and after is not None and before != after and not before & after


def _possible(answer: Answer) -> frozenset[str] | None:
    """The rules that a verdict leaves; None: any."""
    if answer.kind == "fits none":
        return frozenset()
    if answer.kind not in ("follows", "undecided"):
        return None
    named = (answer.model, *answer.rivals, *answer.alike)
    return frozenset(name for name in named if name is not None)


def _errors(a: CellSummary, b: CellSummary) -> tuple[FigureChange, ...]:
    """Errors, burst by burst, of the models that are nearest in A and in B.

    Times are left out where the link lost so much of one that only its order counts (grade C).
    """
    timed = "C" not in (a.grade, b.grade)
    found: list[FigureChange] = []
    for model in dict.fromkeys(name for name in (a.best, b.best) if name is not None):
        before, after = _of_model(a, model), _of_model(b, model)
        if before is None or after is None or not before.by_burst or not after.by_burst:
            continue
        order = Change.between(
            [burst.order_mean for burst in before.by_burst],
            [burst.order_mean for burst in after.by_burst],
        )
        found.append(FigureChange(figure="order error", model=model, unit="share", change=order))
        if timed:
            late = Change.between(
                [burst.time_mean for burst in before.by_burst],
                [burst.time_mean for burst in after.by_burst],
            )
            found.append(FigureChange(figure="time error", model=model, unit="share", change=late))
    return tuple(found)


def _of_model(cell: CellSummary, model: str) -> ModelResult | None:
    return next((m for m in cell.models if m.level == PREDICT and m.model == model), None)


def _measured(
    a: Sequence[Sequence[StreamRow]], b: Sequence[Sequence[StreamRow]]
) -> tuple[FigureChange, ...]:
    if not a or not b:
        return ()
    before, after = ([measured_figures(burst) for burst in several] for several in (a, b))
    length = Change.between(
        [figures.burst_length_ns for figures in before],
        [figures.burst_length_ns for figures in after],
    )
    goodput = Change.between(
        [figures.goodput_bps for figures in before], [figures.goodput_bps for figures in after]
    )
    return (
        FigureChange(figure="burst length", model=None, unit="ns", change=length),
        FigureChange(figure="goodput", model=None, unit="bps", change=goodput),
    )
