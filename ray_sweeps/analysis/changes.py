"""Changes between two datasets of sweeps: points in one only, figures that differ, and where."""

from collections.abc import Mapping, Sequence
from typing import Final, Literal

import polars as pl
from pydantic import BaseModel, ConfigDict, Field

from netcosim.errors import ScenarioError
from netcosim.intervals import difference
from ray_sweeps.analysis.dataset import MAIN, Dataset, collected
from ray_sweeps.analysis.paired import paired_differences
from ray_sweeps.analysis.points import NO_FIGURES
from ray_sweeps.analysis.summary import FactorValue
from ray_sweeps.evaluation import FACTOR

COMPARED: Final = (MAIN, "step_median_ns", "step_p95_ns", "worker_utilisation")
"""Figures that are compared, as far as both datasets have them."""

SAME: Final = 2e-9
"""Part by which equal figures of different processors may differ, as stored with nine digits."""

_LISTED: Final = 20


class _Record(BaseModel):
    model_config = ConfigDict(
        frozen=True, extra="forbid", json_schema_serialization_defaults_required=True
    )


class SweepSide(_Record):
    """One of the datasets."""

    path: str
    at: dict[str, FactorValue] = Field(
        default={}, description="values of factors that the points have which are compared"
    )
    points: int
    runs: int
    failed_runs: int
    engines: tuple[str, ...]
    problems: tuple[str, ...] = Field(description="parts that can't be read")


class ChangedFigure(_Record):
    """Counts of points whose figure is equal, or differs within, beyond, without an interval."""

    figure: str
    equal: int = Field(description="the same in all runs that both have, to 2e-9 of it")
    within: int
    beyond: int
    unequal: int = Field(description="different, and without an interval: of a single run")


class ChangedPoint(_Record):
    """A point whose figure differs beyond its interval, or without one."""

    factors: dict[str, FactorValue]
    figure: str
    a: float = Field(description="mean over the runs compared")
    b: float
    share: float | None = Field(description="(b - a) / a; null where a is 0")
    half_width: float | None = Field(
        description="half of the 95 % interval of b - a; null of a single run"
    )
    method: Literal["paired", "welch", "none"]


class FactorChange(_Record):
    """Points at a factor's value, and how their throughput changed."""

    factor: str
    value: FactorValue
    points: int = Field(description="in both")
    beyond: int = Field(description="of these, those listed as changes of throughput")
    mean_share: float | None = Field(description="mean of (b - a) / a over these points")


class SweepComparison(_Record):
    """Changes from one dataset to another."""

    format: Literal["netcosim-sweep-comparison"] = "netcosim-sweep-comparison"
    version: Literal[1] = 1
    a: SweepSide
    b: SweepSide
    matched: Literal["content", "factors", "both"] = Field(
        description="how points were found in the other dataset: by the hash of their content, or"
        " by equal values of the factors where that differs, so that the rest of the scenario does"
    )
    common: int = Field(description="points in both")
    only_a: int
    only_b: int
    only_a_first: tuple[dict[str, FactorValue], ...] = Field(description="the first of these")
    only_b_first: tuple[dict[str, FactorValue], ...]
    newly_failed: int = Field(description="points with figures in a and none in b")
    newly_finished: int = Field(description="points with figures in b and none in a")
    figures: tuple[ChangedFigure, ...]
    largest: tuple[ChangedPoint, ...] = Field(
        description="of the throughput, differences beyond their intervals or without one, the"
        " largest share first"
    )
    by_factor: tuple[FactorChange, ...] = Field(
        description="the factor whose values differ most in their mean change first"
    )
    differs: bool = Field(
        description="whether a point is in one only, failed in one only, or has a figure that is"
        " beyond its interval, or differs and has none"
    )


def compare_datasets(a: Dataset, b: Dataset, *, listed: int = _LISTED) -> SweepComparison:
    """Compare two datasets; differences are b less a.

    Runs of the same number are paired where both datasets have at least two of a point; else the
    intervals are Welch's.

    Raises
    ------
    ScenarioError
        They have no point in common.
    StorageError
        A part is damaged.
    """
    figures = [name for name in COMPARED if name in a.columns and name in b.columns]
    sides = [_runs(dataset, figures) for dataset in (a, b)]
    matches, matched = _matched(a, b, sides)
    if matches.is_empty():
        raise ScenarioError(
            f"{a.folder} and {b.folder}: no point in common, neither by content nor by factors"
            f" ({_names(a)} and {_names(b)}): nothing to compare"
        )
    points = [_points(side) for side in sides]
    alone = [
        points[i]
        .join(matches, left_on="key", right_on=which, how="anti")
        .sort(*_factors(points[i]), "key")
        for i, which in enumerate(("key_a", "key_b"))
    ]
    ok = matches.join(points[0].select(key_a="key", ok_a="ok"), on="key_a").join(
        points[1].select(key_b="key", ok_b="ok"), on="key_b"
    )
    apart = {name: _apart(name, matches, sides) for name in figures}
    changed = tuple(_counted(name, found) for name, found in apart.items())
    failed = ok.filter(pl.col("ok_a") & ~pl.col("ok_b")).height
    finished = ok.filter(~pl.col("ok_a") & pl.col("ok_b")).height
    only = [frame.height for frame in alone]
    named = apart[MAIN].join(points[0], left_on="key_a", right_on="key").sort("key_a")
    return SweepComparison(
        a=_side(a, sides[0]),
        b=_side(b, sides[1]),
        matched=matched,
        common=matches.height,
        only_a=only[0],
        only_b=only[1],
        only_a_first=_listed_points(alone[0], listed),
        only_b_first=_listed_points(alone[1], listed),
        newly_failed=failed,
        newly_finished=finished,
        figures=changed,
        largest=_largest(named, listed),
        by_factor=_by_factor(named),
        differs=bool(
            sum(only) + failed + finished + sum(each.beyond + each.unequal for each in changed)
        ),
    )


def _runs(dataset: Dataset, figures: Sequence[str]) -> pl.DataFrame:
    """Runs of a dataset, each once, with the factors and the figures that are compared."""
    error = pl.col("error")
    missing = pl.col(MAIN).is_null() & error.is_null()
    rows = dataset.rows.select(
        "key",
        "run",
        "engine_hash",
        pl.when(missing).then(pl.lit(NO_FIGURES)).otherwise(error).alias("error"),
        *(FACTOR + name for name in dataset.factors),
        *figures,
    )
    found = collected(rows, dataset.folder).with_columns(ok=pl.col("error").is_null())
    # Of a run that failed and then went well the latter counts.
    rest = [name for name in found.columns if name not in {"key", "run", "ok"}]
    return found.sort("key", "run", ~pl.col("ok"), *rest).unique(
        subset=["key", "run"], keep="first", maintain_order=True
    )


def _points(runs: pl.DataFrame) -> pl.DataFrame:
    return runs.group_by("key", maintain_order=True).agg(
        *(pl.col(name).first() for name in _factors(runs)), ok=pl.col("ok").any()
    )


def _factors(frame: pl.DataFrame) -> list[str]:
    return [name for name in frame.columns if name.startswith(FACTOR)]


def _matched(
    a: Dataset, b: Dataset, sides: Sequence[pl.DataFrame]
) -> tuple[pl.DataFrame, Literal["content", "factors", "both"]]:
    """Pairs of keys: points of equal content, and of the rest those with equal factors."""
    points = [_points(side) for side in sides]
    keys = [side.select("key").unique(maintain_order=True) for side in sides]
    same = keys[0].join(keys[1], on="key").select(key_a="key", key_b="key")
    columns = [FACTOR + name for name in a.factors]
    kinds = [[frame.schema[name] for name in columns if name in frame.columns] for frame in points]
    if not columns or set(a.factors) != set(b.factors) or kinds[0] != kinds[1]:
        return same, "content"
    rest = [frame.join(same, left_on="key", right_on=which, how="anti")
            for frame, which in zip(points, ("key_a", "key_b"), strict=True)]  # fmt: skip
    # A value that several points have names none of them.
    rest = [frame.filter(pl.len().over(columns) == 1) for frame in rest]
    alike = (
        rest[0]
        .select(pl.col("key").alias("key_a"), *columns)
        .join(rest[1].select(pl.col("key").alias("key_b"), *columns), on=columns, nulls_equal=True)
        .select("key_a", "key_b")
    )
    how: Literal["content", "factors", "both"] = "both"
    if alike.is_empty():
        how = "content"
    elif same.is_empty():
        how = "factors"
    return pl.concat([same, alike]), how


def _apart(figure: str, matches: pl.DataFrame, sides: Sequence[pl.DataFrame]) -> pl.DataFrame:
    """Differences of a figure: a row for each point that has it in both datasets."""
    first, second = (
        side.filter(pl.col("ok") & pl.col(figure).is_not_null()).select(
            pl.col("key").alias(key), "run", pl.col(figure).alias(name)
        )
        for side, key, name in zip(sides, ("key_a", "key_b"), ("first", "second"), strict=True)
    )
    off = (pl.col("second") - pl.col("first")).abs() / pl.col("first").abs()
    pairs = (
        first.join(matches, on="key_a")
        .join(second, on=["key_b", "run"])
        .with_columns(second=pl.when(off <= SAME).then(pl.col("first")).otherwise(pl.col("second")))
    )
    equal = pairs.group_by("key_a").agg(equal=(pl.col("first") == pl.col("second")).all())
    found = (
        paired_differences(pairs, ["key_a"])
        .join(equal, on="key_a")
        .with_columns(
            method=pl.when(pl.col("pairs") > 1).then(pl.lit("paired")).otherwise(pl.lit("none"))
        )
    )
    single = matches.join(found.filter(pl.col("pairs") > 1), on="key_a", how="anti")
    apart = _unpaired(single, first, second, found.schema)
    kept = found.join(apart.select("key_a"), on="key_a", how="anti")
    return pl.concat([kept, apart]).sort("key_a")


def _unpaired(
    matches: pl.DataFrame, first: pl.DataFrame, second: pl.DataFrame, schema: pl.Schema
) -> pl.DataFrame:
    """Welch's differences of points with fewer than two runs in common, where both have several."""
    values = (
        matches.join(first.group_by("key_a").agg(pl.col("first")), on="key_a")
        .join(second.group_by("key_b").agg(pl.col("second")), on="key_b")
        .sort("key_a")
    )
    rows = []
    for row in values.iter_rows(named=True):
        a, b = row["first"], row["second"]
        found = difference(a, b, paired=False)
        if found.method == "none" and len(a) == len(b):
            continue  # a single run in both: what pairs say is right, if it is the same run
        rows.append(
            {
                "key_a": row["key_a"],
                "pairs": 0,
                "first": sum(a) / len(a),
                "second": sum(b) / len(b),
                "difference": found.mean,
                "half_width": found.half_width,
                "beyond": found.beyond,
                "equal": False,
                "method": found.method,
            }
        )
    return pl.DataFrame(rows, schema=schema)


def _counted(figure: str, found: pl.DataFrame) -> ChangedFigure:
    apart, single = pl.col("beyond"), pl.col("method") == "none"
    beyond, unequal = (found.filter(apart & which).height for which in (~single, single))
    equal = found.filter(pl.col("equal")).height
    within = found.height - equal - beyond - unequal
    return ChangedFigure(figure=figure, equal=equal, within=within, beyond=beyond, unequal=unequal)


def _share() -> pl.Expr:
    return pl.when(pl.col("first") != 0).then(pl.col("difference") / pl.col("first"))


def _largest(named: pl.DataFrame, listed: int) -> tuple[ChangedPoint, ...]:
    ranked = (
        named.filter(pl.col("beyond"))
        .with_columns(share=_share())
        .sort(pl.col("share").abs().fill_null(float("inf")), "key_a", descending=[True, False])
        .head(listed)
    )
    return tuple(
        ChangedPoint(
            factors=_values(row),
            figure=MAIN,
            a=row["first"],
            b=row["second"],
            share=row["share"],
            half_width=row["half_width"],
            method=row["method"],
        )
        for row in ranked.iter_rows(named=True)
    )


def _by_factor(named: pl.DataFrame) -> tuple[FactorChange, ...]:
    """Mean change at each value of each factor that has from 2 to 40 values."""
    found: list[tuple[float, list[FactorChange]]] = []
    for column in _factors(named):
        if not 2 <= named[column].n_unique() <= 2 * _LISTED:
            continue
        each = (
            named.with_columns(share=_share())
            .group_by(column, maintain_order=True)
            .agg(
                points=pl.len().cast(pl.Int64),
                beyond=pl.col("beyond").sum().cast(pl.Int64),
                mean_share=pl.col("share").mean(),
            )
            .sort(column)
        )
        shares = each["mean_share"].drop_nulls().to_list()
        rows = [
            FactorChange(
                factor=column.removeprefix(FACTOR),
                value=row[column],
                points=row["points"],
                beyond=row["beyond"],
                mean_share=row["mean_share"],
            )
            for row in each.iter_rows(named=True)
        ]
        found.append((max(shares) - min(shares) if shares else 0.0, rows))
    ranked = sorted(found, key=lambda pair: -pair[0])
    return tuple(row for _, rows in ranked for row in rows)


def _side(dataset: Dataset, runs: pl.DataFrame) -> SweepSide:
    return SweepSide(
        path=str(dataset.folder),
        at=dict(dataset.at),
        points=runs["key"].n_unique(),
        runs=runs.height,
        failed_runs=runs.filter(~pl.col("ok")).height,
        engines=tuple(sorted(runs["engine_hash"].drop_nulls().unique().to_list())),
        problems=dataset.problems,
    )


def _listed_points(points: pl.DataFrame, listed: int) -> tuple[dict[str, FactorValue], ...]:
    return tuple(_values(row) for row in points.head(listed).iter_rows(named=True))


def _values(row: Mapping[str, FactorValue]) -> dict[str, FactorValue]:
    return {
        name.removeprefix(FACTOR): value for name, value in row.items() if name.startswith(FACTOR)
    }


def _names(dataset: Dataset) -> str:
    return ", ".join(dataset.factors) or "none"
