"""Recommendation for a cell: the knee, what is in short supply there, what would help."""

from collections.abc import Callable, Sequence
from typing import Final

from netcosim.results.training.bottleneck import bottleneck
from netcosim.results.training.summary import Change, Point, Recommendation
from sim.experiment.cell import TrainingCell
from sim.experiment.one_step_more import OneStepMore, steps_more
from sim.experiment.point import Reference
from sim.experiment.run import RunFigures
from sim.experiment.statistics import estimate, saturation

_ROUNDING: Final = 1e-9
"""Differences that are smaller, of the whole, are those of another order of additions."""

Runs = Callable[[TrainingCell, int], Sequence[RunFigures]]
"""Simulates all runs of a cell with so many workers."""


def recommend(
    cell: TrainingCell, points: Sequence[Point], reference: Reference, runs: Runs
) -> Recommendation:
    """Find the knee among a cell's points, and what one step more of each thing changes there."""
    point, reached = knee(points, reference)
    return Recommendation(
        workers=point.workers,
        reached=reached,
        examples_per_s=point.examples_per_s,
        bottleneck=bottleneck(point).text,
        changes=tuple(
            make_change(more, point, runs(more.cell, point.workers))
            for more in steps_more(cell, point.workers)
        ),
    )


def knee(points: Sequence[Point], reference: Reference) -> tuple[Point, bool]:
    """The point from which on more workers are of little use, and True; else the last and False."""
    ordered = sorted(points, key=lambda p: p.workers)
    found = saturation(ordered, reference.steps_per_s.mean)
    if found is None:
        return ordered[-1], False
    return next(p for p in ordered if p.workers == found.workers), True


def make_change(more: OneStepMore, point: Point, runs: Sequence[RunFigures]) -> Change:
    """What a step more changes at a point, from runs with the same random draws."""
    found = estimate([run.steps_per_s * more.cell.batch for run in runs])
    pairs = zip(found.values, point.examples_per_s.values, strict=True)
    difference = estimate([now - before for now, before in pairs])
    half = difference.half_width
    return Change(
        what=more.what,
        before=more.before,
        after=more.after,
        examples_per_s=found,
        gain=found.mean / point.examples_per_s.mean - 1,
        beyond=half is not None and abs(difference.mean) > max(half, _ROUNDING * found.mean),
    )
