"""Outcomes of a sweep: its points analysed, and the summary of that."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import polars as pl

from ray_sweeps.analysis import findings
from ray_sweeps.analysis.best import Best, best_of, knee, pareto_front, steps_beyond
from ray_sweeps.analysis.conditions import EVERYWHERE, Condition, conditions_of
from ray_sweeps.analysis.dataset import MAIN, Dataset
from ray_sweeps.analysis.design import STRAGGLER_DRAW, Design, design_of
from ray_sweeps.analysis.effects import Effects, main_effects
from ray_sweeps.analysis.levels import value_text
from ray_sweeps.analysis.points import COST, HALF, Points, points_of
from ray_sweeps.analysis.stragglers import (
    ENSEMBLE,
    SYNCHRONISATION,
    Impact,
    straggler_impact,
    summed_up,
)
from ray_sweeps.analysis.summary import (
    BestConfiguration,
    Configuration,
    EffectLevel,
    FactorEffect,
    FactorRange,
    Failure,
    Front,
    FrontPoint,
    MainEffects,
    StragglerImpact,
    SweepSummary,
)
from ray_sweeps.analysis.sweep_protocol import (
    FactorValues,
    PriceList,
    SweepDescription,
    factors_of,
)
from ray_sweeps.evaluation import FACTOR

_MOST_EQUAL: Final = 10
_MOST_VALUES: Final = 20
_MOST_FAILURES: Final = 10
_MOST_CONDITIONS: Final = 12
_MOST_GIVEN: Final = 60
_MOST_IMPACTS: Final = 300

CONDITIONS: Final = ("workload", ENSEMBLE)
"""Factors that a user is given rather than chooses: each value has a best configuration."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcomes:
    """A sweep analysed; what there is nothing of is None or empty."""

    points: Points
    design: Design | None
    effects: Effects | None
    impact: Impact | None
    summary: SweepSummary


def outcomes_of(dataset: Dataset, sweep: SweepDescription) -> Outcomes:
    """Analyse the dataset of a sweep.

    Raises
    ------
    StorageError
        A part of the dataset is damaged.
    """
    known = factors_of(sweep)
    points = points_of(dataset, sweep.prices, known)
    design = design_of(points, known)
    effects = None if design is None else main_effects(points, design)
    impact = straggler_impact(points, _of_stragglers(known))
    summary = _summary(dataset, sweep, points, effects, impact)
    return Outcomes(
        points=points,
        design=design,
        effects=effects,
        impact=impact,
        summary=summary.model_copy(update={"findings": findings.sentences(summary)}),
    )


def _of_stragglers(factors: Iterable[FactorValues]) -> list[str]:
    """Factors of straggler entries, whatever their names."""
    return [each.name for each in factors if each.path.split(".")[0] == ENSEMBLE]


def _summary(
    dataset: Dataset,
    sweep: SweepDescription,
    points: Points,
    effects: Effects | None,
    impact: Impact | None,
) -> SweepSummary:
    failed = int(points.table["errors"].sum())
    given = tuple(name for name in sweep.given if name in points.varied)
    prices = [price for price in sweep.prices if COST + price.name in points.table.columns]
    return SweepSummary(
        sweep=sweep.name,
        description=sweep.description,
        trusted=len(points.engines) <= 1,
        complete=not dataset.problems,
        reasons=_reasons(dataset, points),
        engines=points.engines,
        points=points.table.height,
        finished_points=points.finished.height,
        runs=points.run_count,
        failed_runs=failed,
        factors=tuple(_range(points, name) for name in points.factors),
        given=given,
        findings=(),
        best=tuple(_bests(points, prices, given)),
        fronts=tuple(_fronts(points, prices, given)),
        effects=None if effects is None else _effects(effects),
        straggler_impact=() if impact is None else _impacts(impact),
        straggler_unmatched=0 if impact is None else impact.unmatched,
        failures=_failures(points),
    )


def _reasons(dataset: Dataset, points: Points) -> tuple[str, ...]:
    found = []
    if len(points.engines) > 1:
        listed = ", ".join(points.engines)
        found.append(f"runs of {len(points.engines)} simulators are mixed: {listed}")
    found += dataset.problems
    alike = points.table.select("engine_hash", *(FACTOR + name for name in points.factors))
    twins = int(alike.is_duplicated().sum())
    if twins:
        found.append(
            f"{twins} points have the values of another one, and differ in what is no factor:"
            " the sweep's file was changed between two starts"
        )
    counts = points.finished["runs"].unique().sort().to_list()
    if len(counts) > 1:
        found.append(f"points have from {counts[0]} to {counts[-1]} runs")
    if "steady" in points.table.columns:
        early = points.table.filter(~pl.col("steady")).height
        if early:
            found.append(f"at {_many(early, 'point')} some run had not settled by half of its time")
    return tuple(found)


def _range(points: Points, name: str) -> FactorRange:
    column = points.table[FACTOR + name].unique()
    values = points.levels.get(name)
    listed: Sequence[Any]
    if values is None:
        listed = column.sort(nulls_last=False).to_list()
    else:
        there = set(column.to_list())
        listed = [value for value in values if value in there]
    shown = listed if len(listed) <= _MOST_VALUES else [listed[0], listed[-1]]
    return FactorRange(
        name=name, values=tuple(value_text(value) for value in shown), count=len(listed)
    )


def _bests(
    points: Points, prices: Sequence[PriceList], given: Sequence[str]
) -> Iterator[BestConfiguration]:
    overall = best_of(points, points.finished)
    if overall is not None:
        yield _best(points, overall)
    if given:
        for condition in conditions_of(points, given, _MOST_GIVEN):
            for price in (None, *prices):
                yield from _best_among(points, condition, price)
        return
    for price in prices:
        yield from _best_among(points, EVERYWHERE, price)
    for name in CONDITIONS:
        if name in points.varied:
            for condition in conditions_of(points, [name], _MOST_CONDITIONS):
                yield from _best_among(points, condition, None)


def _best_among(
    points: Points, condition: Condition, price: PriceList | None
) -> Iterator[BestConfiguration]:
    cost = None if price is None else COST + price.name
    found = best_of(points, condition.among(points.finished), cost)
    if found is not None:
        yield _best(points, found, price, condition.texts)


def _fronts(points: Points, prices: Sequence[PriceList], given: Sequence[str]) -> Iterator[Front]:
    conditions = conditions_of(points, given, _MOST_GIVEN) if given else [EVERYWHERE]
    for condition in conditions:
        among = condition.among(points.finished)
        for price in prices:
            front = pareto_front(among, COST + price.name)
            if not front.is_empty():
                yield _front(points, front, price, condition.texts)


def _best(
    points: Points,
    found: Best,
    price: PriceList | None = None,
    condition: Mapping[str, str] | None = None,
) -> BestConfiguration:
    row = points.table.row(found.point, named=True)
    return BestConfiguration(
        prices=None if price is None else price.name,
        condition=dict(condition or {}),
        cost=None if price is None else row[COST + price.name],
        unit=None if price is None else price.unit,
        best=_configuration(points, found.point),
        compared=found.compared,
        equal_count=len(found.equal),
        equal=tuple(_configuration(points, point) for point in found.equal[:_MOST_EQUAL]),
    )


def _configuration(points: Points, point: int) -> Configuration:
    row = points.table.row(point, named=True)
    return Configuration(
        key=row["key"],
        factors={name: row[FACTOR + name] for name in points.varied},
        examples_per_s=row[MAIN],
        half_width=row[MAIN + HALF],
        runs=row["runs"],
    )


def _front(
    points: Points, front: pl.DataFrame, price: PriceList, condition: Mapping[str, str]
) -> Front:
    cost = COST + price.name
    same = front.group_by(cost, MAIN, maintain_order=True).agg(
        pl.col("point").first(), same=pl.len() - 1
    )
    beyond = steps_beyond(points, same)
    return Front(
        prices=price.name,
        unit=price.unit,
        condition=dict(condition),
        points=tuple(
            FrontPoint(
                cost=row[cost],
                configuration=_configuration(points, row["point"]),
                same=row["same"],
                beyond=above,
            )
            for row, above in zip(same.iter_rows(named=True), beyond, strict=True)
        ),
        knee=knee(same[cost].to_list(), same[MAIN].to_list()),
    )


def _effects(effects: Effects) -> MainEffects:
    return MainEffects(
        grand_mean=effects.grand_mean,
        balanced=effects.balanced,
        explained=effects.explained,
        points=effects.points,
        left_out=effects.left_out,
        factors=tuple(
            FactorEffect(
                factors=each.names,
                method=each.method,
                drawn=each.drawn,
                spread=each.spread,
                rank_correlation=each.rank_correlation,
                levels=tuple(
                    EffectLevel(
                        value=level.text,
                        points=level.points,
                        effect=level.effect,
                        half_width=level.half_width,
                    )
                    for level in each.levels
                ),
            )
            for each in effects.factors
        ),
    )


def _impacts(impact: Impact) -> tuple[StragglerImpact, ...]:
    """By synchronisation and all factors of stragglers; by ensembles alone if these are many."""
    named = [name for name in impact.factors if name != STRAGGLER_DRAW]
    for factors in (named, [name for name in named if name == ENSEMBLE], []):
        by = dict.fromkeys([*(FACTOR + name for name in factors), SYNCHRONISATION])
        found = summed_up(impact, list(by))
        if found.height <= _MOST_IMPACTS:
            break
    return tuple(
        StragglerImpact(
            synchronisation=row[SYNCHRONISATION],
            factors={name: row[FACTOR + name] for name in factors},
            points=row["points"],
            runs=row["runs"],
            ratio=row["ratio"],
            half_width=row["half_width"],
        )
        for row in found.iter_rows(named=True)
    )


def _failures(points: Points) -> tuple[Failure, ...]:
    found = (
        points.table.filter(pl.col("errors") > 0)
        .group_by("error")
        .agg(points=pl.len().cast(pl.Int64), runs=pl.col("errors").sum())
        .sort("runs", "error", descending=[True, False])
    )
    return tuple(Failure(**row) for row in found.head(_MOST_FAILURES).iter_rows(named=True))


def _many(count: int, noun: str) -> str:
    return f"1 {noun}" if count == 1 else f"{count} {noun}s"
