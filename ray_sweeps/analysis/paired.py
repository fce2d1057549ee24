"""Paired differences of many points at once: means and 95 % intervals by Student's t."""

from collections.abc import Sequence

import polars as pl

from netcosim.intervals import t_95


def half_width(spread: pl.Expr, runs: pl.Expr, counts: pl.Series) -> pl.Expr:
    """Half of the 95 % interval of a mean; null of a single run.

    Parameters
    ----------
    spread
        Standard deviation of the runs' values (n - 1).
    runs
        Their number.
    counts
        All values that `runs` has.
    """
    factors = {n: t_95(n - 1) / n**0.5 for n in counts.drop_nulls().unique().to_list() if n > 1}
    factor = runs.replace_strict(factors, default=None, return_dtype=pl.Float64)
    return spread * factor


def paired_differences(pairs: pl.DataFrame, by: Sequence[str]) -> pl.DataFrame:
    """Difference of two means, of values that belong together run by run.

    It is what `netcosim.intervals.difference` gives for each group, with `paired`.

    Parameters
    ----------
    pairs
        Columns `first` and `second`, a row for each run that has both, and those of `by`.
    by
        Columns that name the groups.

    Returns
    -------
    polars.DataFrame
        A row for each group, in the order of `by`: `pairs` (number), `first` and `second` (means),
        `difference` (second less first), `half_width` (null of a single pair), `beyond`: whether
        the interval excludes 0; of a single pair, whether there is a difference.
    """
    apart = pl.col("second") - pl.col("first")
    # Joins leave rows in any order, on which sums depend in the last digit.
    ordered = pairs.sort(*by, "first", "second")
    found = ordered.group_by(by, maintain_order=True).agg(
        pairs=pl.len().cast(pl.Int64),
        first=pl.col("first").mean(),
        second=pl.col("second").mean(),
        difference=apart.mean(),
        spread=apart.std(),
    )
    half = half_width(pl.col("spread"), pl.col("pairs"), found["pairs"])
    return found.with_columns(half_width=half).select(
        *by,
        "pairs",
        "first",
        "second",
        "difference",
        "half_width",
        beyond=pl.col("difference").abs() > pl.col("half_width").fill_null(0.0),
    )
