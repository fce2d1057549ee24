"""Best points of a sweep, those within noise of them, and the Pareto front against cost."""

from dataclasses import dataclass
from itertools import pairwise
from typing import Final

import polars as pl

from ray_sweeps.analysis.dataset import MAIN
from ray_sweeps.analysis.paired import paired_differences
from ray_sweeps.analysis.points import Points

CLEAR: Final = 0.05
"""Least height of a knee above the line, as a share of the front's extent."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Best:
    """The best point by a score, and those that can't be told from it.

    Attributes
    ----------
    point : its row
    score : its mean
    compared : points that share at least two runs with it: only of them can noise be known
    equal : rows of those whose paired difference from it is within its 95 % interval, best first
    """

    point: int
    score: float
    compared: int
    equal: tuple[int, ...]


def best_of(points: Points, among: pl.DataFrame, cost: str | None = None) -> Best | None:
    """Find the point with the most examples a second, or with the most for each unit of a cost.

    Equal scores: the cheaper one where `cost` is given, else the first. None if no point has a
    score.

    Parameters
    ----------
    among
        The finished points that may be it.
    cost
        A column of costs; points without one, or that cost nothing, are left out.
    """
    score = pl.col(MAIN) if cost is None else pl.col(MAIN) / pl.col(cost)
    unit = (pl.lit(1.0) if cost is None else pl.col(cost)).alias("_cost")
    ranked = (
        among.select("point", unit, score.alias("score"))
        .filter(pl.col("_cost") > 0)
        .drop_nulls("score")
        .sort("score", "_cost", "point", descending=[True, False, False])
    )
    if ranked.is_empty():
        return None
    first = ranked.row(0, named=True)
    apart = _apart(points, ranked, int(first["point"]))
    told = apart.filter(pl.col("pairs") > 1)
    equal = (
        told.filter(~pl.col("beyond"))
        .join(ranked, on="point")
        .sort("score", "point", descending=[True, False])
    )
    return Best(
        point=int(first["point"]),
        score=float(first["score"]),
        compared=told.height,
        equal=tuple(equal["point"].to_list()),
    )


def _apart(points: Points, ranked: pl.DataFrame, best: int) -> pl.DataFrame:
    """Paired differences of the other points' scores from the best one's."""
    runs = points.values.join(ranked.select("point", "_cost"), on="point").select(
        "point", "run", (pl.col(MAIN) / pl.col("_cost")).alias("second")
    )
    first = runs.filter(pl.col("point") == best).select("run", first="second")
    others = runs.filter(pl.col("point") != best)
    return paired_differences(others.join(first, on="run"), ["point"])


def pareto_front(table: pl.DataFrame, cost: str) -> pl.DataFrame:
    """Points that no other beats: cheaper or equal, faster or equal, and not both equal.

    Parameters
    ----------
    table
        Columns `examples_per_s` and `cost`; rows where one is null are left out.

    Returns
    -------
    polars.DataFrame
        The rows of the front, by rising cost; of points with equal cost and throughput all.
    """
    there = table.filter(pl.col(MAIN).is_not_null() & pl.col(cost).is_not_null())
    fastest = there.group_by(cost).agg(pl.col(MAIN).max()).sort(cost)
    before = pl.col(MAIN).cum_max().shift(1)
    front = fastest.filter(before.is_null() | (pl.col(MAIN) > before))
    return there.join(front, on=[cost, MAIN], how="semi").sort(cost, maintain_order=True)


def steps_beyond(points: Points, front: pl.DataFrame) -> list[bool]:
    """Find which points of a front are faster than the cheaper one before, beyond noise.

    True for the first; where the two share fewer than two runs noise is not known, and any
    difference counts.
    """
    order = front["point"].to_list()
    found = [True]
    for cheaper, dearer in pairwise(order):
        mine = points.values.filter(pl.col("point") == dearer).select("run", second=MAIN)
        theirs = points.values.filter(pl.col("point") == cheaper).select("run", first=MAIN)
        apart = paired_differences(mine.join(theirs, on="run").with_columns(one=1), ["one"])
        found.append(bool(apart["beyond"][0]) if apart.height else True)
    return found


def knee(costs: list[float], rates: list[float]) -> int | None:
    """Place of a front's knee: furthest above the line from its first to its last point.

    Both axes are scaled to the front's extent (Das, *Structural Optimization* 18, 1999). None if
    no point lies `CLEAR` above the line, or there are fewer than three.
    """
    if len(costs) < 3 or costs[-1] <= costs[0] or rates[-1] <= rates[0]:
        return None
    above = [
        (rate - rates[0]) / (rates[-1] - rates[0]) - (cost - costs[0]) / (costs[-1] - costs[0])
        for cost, rate in zip(costs, rates, strict=True)
    ]
    place = max(range(len(above)), key=lambda i: above[i])
    return place if above[place] >= CLEAR else None
