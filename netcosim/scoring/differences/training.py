"""Differences between two simulations, by cell and number of workers."""

from netcosim.results.training.bottleneck import bottleneck
from netcosim.results.training.summary import Point, Series, TrainingSummary
from netcosim.scoring.differences.records import (
    Change,
    PointChange,
    SeriesChange,
    TrainingChanges,
)


def training_changes(a: TrainingSummary, b: TrainingSummary) -> TrainingChanges:
    """Compare the cells that both simulations have.

    Run i of one seed draws the same random numbers whatever else the scenario says. So where seeds
    and numbers of runs are equal, the runs are compared pair by pair.
    """
    after = {series.cell: series for series in b.series}
    return TrainingChanges(
        series=tuple(
            _series(series, after[series.cell], same_draws=a.seed == b.seed)
            for series in a.series
            if series.cell in after
        )
    )


def _series(a: Series, b: Series, *, same_draws: bool) -> SeriesChange:
    before = {point.workers: point for point in a.points}
    after = {point.workers: point for point in b.points}
    both = sorted(before.keys() & after.keys())
    return SeriesChange(
        cell=a.cell,
        points=tuple(_point(before[n], after[n], same_draws=same_draws) for n in both),
        workers_only_a=_only(before.keys() - after.keys()),
        workers_only_b=_only(after.keys() - before.keys()),
        saturation_a=None if a.saturation is None else a.saturation.workers,
        saturation_b=None if b.saturation is None else b.saturation.workers,
    )


def _point(a: Point, b: Point, *, same_draws: bool) -> PointChange:
    before, after = a.examples_per_s.values, b.examples_per_s.values
    paired = same_draws and len(before) == len(after)
    return PointChange(
        workers=a.workers,
        runs_a=a.runs,
        runs_b=b.runs,
        examples_per_s=Change.between(before, after, paired=paired),
        bottleneck_a=bottleneck(a).name,
        bottleneck_b=bottleneck(b).name,
        steady_a=a.steady,
        steady_b=b.steady,
    )


def _only(workers: set[int]) -> tuple[int, ...]:
    return tuple(sorted(workers))
