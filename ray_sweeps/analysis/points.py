"""Points of a sweep from its runs: means with intervals, failures, speed-up, costs."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import polars as pl

from netcosim.results.json_files import DIGITS
from netcosim.results.training.points_table import POINT_COLUMNS
from ray_sweeps.analysis.dataset import (
    MAIN,
    MEANS,
    SETTINGS,
    TEXT_FIGURES,
    WITH_INTERVAL,
    Dataset,
    collected,
)
from ray_sweeps.analysis.levels import ordered
from ray_sweeps.analysis.paired import half_width
from ray_sweeps.analysis.sweep_protocol import FactorValues, PriceList
from ray_sweeps.evaluation import FACTOR

COST: Final = "cost_"
HALF: Final = "_half_width"
NO_FIGURES: Final = "the run has no figures"

_OK: Final = "_ok"

COLUMNS: Final[Mapping[str, str]] = {
    "key": "hash of the point's content, which names it",
    "runs": "runs that went well; they differ by their seed alone",
    "errors": "runs that failed",
    "error": "why, of one of them; null: none failed",
    "engine_hash": "hash of the simulator's source: equal ones give equal figures",
    "speed_up": "steps_per_s over that of the point with one worker and else the same factors;"
    " null: there is none",
    "efficiency": "speed_up over the number of workers",
}
"""Columns that a table of one simulation has not, or not with this meaning."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Points:
    """Points of a sweep.

    Attributes
    ----------
    table : a row for each point, in the order of the factors' values; figures are null where no
        run went well
    values : a row for each run that went well: `point` (row of `table`), `run`, `examples_per_s`
    factors : names, without the columns' ``factor_``
    varied : those with more than one value
    levels : values of each factor of text in their order, null first
    engines : hashes of the simulators that made the runs
    run_count : rows of the dataset, each run once
    """

    table: pl.DataFrame
    values: pl.DataFrame
    factors: tuple[str, ...]
    varied: tuple[str, ...]
    levels: Mapping[str, Sequence[object]]
    engines: tuple[str, ...]
    run_count: int

    @property
    def finished(self) -> pl.DataFrame:
        """Points with figures, each with its row's number as `point`."""
        return self.table.with_row_index("point").filter(pl.col("runs") > 0)


def points_of(
    dataset: Dataset,
    prices: Iterable[PriceList] = (),
    factors: Iterable[FactorValues] = (),
) -> Points:
    """Sum up the runs of each point.

    A run with an error, or without a throughput, has failed, unless the same run went well, too. A
    run that is there twice counts once.

    Raises
    ------
    StorageError
        A part of the dataset is damaged.
    """
    rows = dataset.rows.with_columns((pl.col("error").is_null() & _there(MAIN)).alias(_OK))
    each = ["key", "run", _OK]
    twice = collected(rows.select(pl.struct(each).is_duplicated().any()), dataset.folder).item()
    rows = _in_order(rows, each, dataset.columns if twice else ())
    values = collected(rows.select(*each, MAIN), dataset.folder)
    points = rows.group_by("key", maintain_order=True).agg(_aggregations(dataset))
    table = collected(points, dataset.folder, engine="in-memory")
    wanted = {each.name: each.values or () for each in factors}
    levels = {
        name: ordered(table[FACTOR + name].unique().to_list(), wanted.get(name, ()))
        for name in dataset.factors
        if table.schema[FACTOR + name] == pl.String
    }
    table = _with_intervals(table, dataset).sort(_order(dataset.factors, levels), nulls_last=False)
    table = _with_costs(_with_speed_up(table, dataset.factors), prices)
    table = table.select(_columns(table, dataset)).with_columns(_rounded(table))
    varied = [name for name in dataset.factors if table[FACTOR + name].n_unique() > 1]
    return Points(
        table=table,
        values=_numbered(values, table),
        factors=dataset.factors,
        varied=tuple(varied),
        levels=levels,
        engines=tuple(sorted(table["engine_hash"].drop_nulls().unique().to_list())),
        run_count=int(table["runs"].sum()) + int(table["errors"].sum()),
    )


def describe(name: str) -> str:
    """Description of a column of the table of points."""
    if name in COLUMNS:
        return COLUMNS[name]
    if name.startswith(FACTOR):
        return f"value of the factor {name.removeprefix(FACTOR)}; null: not varied there"
    if name.startswith(COST):
        return f"workers * worker + servers * server by the prices {name.removeprefix(COST)}"
    if name.endswith(HALF):
        return "half of its 95 % interval, by Student's t over the runs; null of a single run"
    return POINT_COLUMNS[name]


def _in_order(rows: pl.LazyFrame, each: Sequence[str], columns: Sequence[str]) -> pl.LazyFrame:
    """Rows in one order, whatever that in which runs ended and the parts that they lie in.

    A sum of floats depends on the order of its terms in the last digit.

    Parameters
    ----------
    each : columns in which no two rows are to be the same
    columns : all columns, by which one of such rows is kept; none: there are no such rows
    """
    if not columns:
        return rows.sort(each)
    by = [*each, *(name for name in columns if name not in each)]
    return rows.sort(by).unique(each, keep="first", maintain_order=True)


def _there(column: str) -> pl.Expr:
    return pl.col(column).is_not_null()


def _aggregations(dataset: Dataset) -> list[pl.Expr]:
    ok = pl.col(_OK)
    good = [
        *(pl.col(name).filter(ok).first() for name in dataset.present(*SETTINGS)),
        *(pl.col(name).filter(ok).all() for name in dataset.present("steady")),
        *(pl.col(n).filter(ok).mean() for n in dataset.present(*WITH_INTERVAL, *MEANS)),
        *(pl.col(n).filter(ok).std().alias(n + HALF) for n in dataset.present(*WITH_INTERVAL)),
        *(pl.col(n).filter(ok).count().alias(f"_n_{n}") for n in dataset.present(*WITH_INTERVAL)),
        *(
            pl.col(n).filter(ok).drop_nulls().mode().sort().first()
            for n in dataset.present(*TEXT_FIGURES)
        ),
    ]
    failed = pl.col("run").n_unique() - pl.col("run").filter(ok).n_unique()
    return [
        *(pl.col(FACTOR + name).first() for name in dataset.factors),
        ok.sum().cast(pl.Int64).alias("runs"),
        failed.cast(pl.Int64).alias("errors"),
        pl.col("error").fill_null(NO_FIGURES).filter(~ok).min(),
        pl.col("engine_hash").sort().first(),
        *good,
    ]


def _with_intervals(table: pl.DataFrame, dataset: Dataset) -> pl.DataFrame:
    """Standard deviations become half widths; an error is told where runs lack because of it."""
    halves = [
        half_width(pl.col(name + HALF), pl.col(f"_n_{name}"), table[f"_n_{name}"]).alias(
            name + HALF
        )
        for name in dataset.present(*WITH_INTERVAL)
    ]
    told = pl.when(pl.col("errors") > 0).then(pl.col("error")).alias("error")
    # all() of no runs is true.
    steady = [
        pl.when(pl.col("runs") > 0).then(pl.col("steady")).alias("steady")
        for _ in dataset.present("steady")
    ]
    return table.with_columns(*halves, told, *steady)


def _order(factors: Sequence[str], levels: Mapping[str, Sequence[object]]) -> list[pl.Expr]:
    def place(name: str) -> pl.Expr:
        column = pl.col(FACTOR + name)
        if name not in levels:
            return column
        places = {value: place for place, value in enumerate(levels[name]) if value is not None}
        return column.replace_strict(places, default=None, return_dtype=pl.Int64)

    return [*(place(name) for name in factors), pl.col("key")]


def workers_factor(table: pl.DataFrame, factors: Sequence[str]) -> str | None:
    """The factor that is the number of workers: by its name, else by its values."""
    if "workers" not in table.columns:
        return None
    for name in sorted(factors, key=lambda n: n != "workers"):
        column = table[FACTOR + name]
        same = column.dtype.is_integer() and (column == table["workers"]).fill_null(value=True)
        if isinstance(same, pl.Series) and same.all() and column.n_unique() > 1:
            return name
    return None


def _with_speed_up(table: pl.DataFrame, factors: Sequence[str]) -> pl.DataFrame:
    """Add speed-up and efficiency against the point with one worker and else the same factors."""
    counted = workers_factor(table, factors)
    if counted is None or "steps_per_s" not in table.columns:
        none = pl.lit(None, dtype=pl.Float64)
        return table.with_columns(speed_up=none, efficiency=none)
    others = [FACTOR + name for name in factors if name != counted]
    alone = (
        table.filter((pl.col("workers") == 1) & (pl.col("steps_per_s") > 0))
        .group_by([*others, "engine_hash"])
        .agg(pl.col("steps_per_s").first().alias("_alone"))
    )
    # Points of one order stay in it: a left join keeps the rows of the left table as they are.
    joined = table.join(
        alone, on=[*others, "engine_hash"], how="left", nulls_equal=True, maintain_order="left"
    )
    gain = pl.col("steps_per_s") / pl.col("_alone")
    return joined.with_columns(speed_up=gain, efficiency=gain / pl.col("workers"))


def _with_costs(table: pl.DataFrame, prices: Iterable[PriceList]) -> pl.DataFrame:
    if not {"workers", "servers"} <= set(table.columns):
        return table
    return table.with_columns(
        (pl.col("workers") * each.worker + pl.col("servers") * each.server)
        .cast(pl.Float64)
        .alias(COST + each.name)
        for each in prices
    )


def _columns(table: pl.DataFrame, dataset: Dataset) -> list[str]:
    figures = dataset.present(*POINT_COLUMNS)
    wanted = [
        "key",
        *(FACTOR + name for name in dataset.factors),
        *("runs", "errors", "error", "engine_hash"),
        *dataset.present(*SETTINGS),
        *(each for name in figures for each in (name, name + HALF)),
        *("speed_up", "efficiency"),
        *(name for name in table.columns if name.startswith(COST)),
    ]
    return [name for name in dict.fromkeys(wanted) if name in table.columns]


def _rounded(table: pl.DataFrame) -> list[pl.Expr]:
    """Other releases of polars may add up otherwise: figures lose their last digits."""
    return [
        pl.col(name).round_sig_figs(DIGITS)
        for name, kind in table.schema.items()
        if kind == pl.Float64 and not name.startswith(("_", FACTOR))
    ]


def _numbered(values: pl.DataFrame, table: pl.DataFrame) -> pl.DataFrame:
    places = table.select("key").with_row_index("point")
    return (
        values.filter(pl.col(_OK))
        .join(places, on="key")
        .select("point", "run", MAIN)
        .sort("point", "run")
    )
