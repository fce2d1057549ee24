"""Impact of stragglers: throughput over that of the same point without them, run by run."""

from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Final

import polars as pl

from ray_sweeps.analysis.bins import bin_codes, bin_edges
from ray_sweeps.analysis.dataset import MAIN
from ray_sweeps.analysis.design import STRAGGLER_DRAW
from ray_sweeps.analysis.paired import half_width
from ray_sweeps.analysis.points import Points
from ray_sweeps.evaluation import FACTOR

ENSEMBLE: Final = "straggler"
SYNCHRONISATION: Final = "synchronisation"
_BINS: Final = 6


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Impact:
    """Throughput with stragglers over that without.

    Attributes
    ----------
    ratios : a row for each point and run: `point`, `run`, `ratio`, `synchronisation`, columns of
        the factors
    factors : factors of stragglers: ensembles, intensities, shares of slow workers
    without : points without stragglers, with which others were compared
    unmatched : points with stragglers and no partner without
    drawn : options that ensembles draw for each point, columns of `ratios` like factors
    """

    ratios: pl.DataFrame
    factors: tuple[str, ...]
    without: int
    unmatched: int
    drawn: tuple[str, ...] = ()

    def numeric(self) -> tuple[str, ...]:
        """The factors of stragglers that are numbers: intensities and shares."""
        numbers = [name for name in self.factors if self.ratios.schema[FACTOR + name].is_numeric()]
        return (*(name for name in numbers if name != STRAGGLER_DRAW), *self.drawn)


def straggler_impact(points: Points, more: Iterable[str] = ()) -> Impact | None:
    """Compare points with stragglers with those that differ in nothing else.

    Parameters
    ----------
    more
        Factors of stragglers beside those that are recognised: `straggler`, whose names begin so,
        and those that are varied only where there are stragglers.

    Returns
    -------
    None if there are no stragglers, or nothing without them.
    """
    table = points.finished
    if "stragglers" not in table.columns or SYNCHRONISATION not in table.columns:
        return None
    none = table.filter(pl.col("stragglers") == "")
    some = table.filter(pl.col("stragglers") != "")
    if none.is_empty() or some.is_empty():
        return None
    factors = _factors(points, none, some, set(more))
    others = [FACTOR + name for name in points.varied if name not in factors]
    keys = [*others, SYNCHRONISATION, "engine_hash"]
    partners = (
        none.group_by(keys).agg(pl.col("point").first().alias("partner")).select(*keys, "partner")
    )
    pairs = some.join(partners, on=keys, how="inner", nulls_equal=True)
    runs = points.values
    ratios = (
        pairs.select("point", "partner", *dict.fromkeys([*_columns(points), SYNCHRONISATION]))
        .join(runs.rename({MAIN: "with"}), on="point")
        .join(runs.rename({MAIN: "without"}), left_on=["partner", "run"], right_on=["point", "run"])
        .filter(pl.col("without") > 0)
        .with_columns(ratio=pl.col("with") / pl.col("without"))
        .sort("point", "run")
    )
    if ratios.is_empty():
        return None
    drawn = _drawn_options(ratios) if STRAGGLER_DRAW in factors else pl.DataFrame()
    return Impact(
        ratios=pl.concat([ratios, drawn], how="horizontal") if drawn.width else ratios,
        drawn=tuple(name.removeprefix(FACTOR) for name in drawn.columns),
        factors=factors,
        without=none.height,
        unmatched=some.height - pairs.height,
    )


def summed_up(impact: Impact, by: Sequence[str]) -> pl.DataFrame:
    """Mean impact by some columns: over points run by run, then over the runs.

    Returns
    -------
    polars.DataFrame
        A row for each group: `points`, `runs`, `ratio`, `half_width` (null of a single run).
    """
    # In order: the last digit of a sum depends on that of its terms.
    each = (
        impact.ratios.sort("point", "run")
        .group_by([*by, "run"], maintain_order=True)
        .agg(pl.col("ratio").mean(), points=pl.col("point").n_unique())
        .sort("run")
    )
    # A run that lacks some of the points would be a mean over other points than the rest.
    whole = pl.col("points") == pl.col("points").max().over(by) if by else pl.lit(value=True)
    found = (
        each.filter(whole)
        .group_by(by, maintain_order=True)
        .agg(
            points=pl.col("points").max().cast(pl.Int64),
            runs=pl.len().cast(pl.Int64),
            ratio=pl.col("ratio").mean(),
            spread=pl.col("ratio").std(),
        )
    )
    half = half_width(pl.col("spread"), pl.col("runs"), found["runs"])
    return found.with_columns(half_width=half).drop("spread").sort(by)


def binned(impact: Impact, name: str) -> pl.DataFrame:
    """Ratios with a column `place`: the factor's number, or where many were drawn its bin's median.

    Points at which the factor is not varied are left out.
    """
    column = FACTOR + name
    rows = impact.ratios.filter(pl.col(column).is_not_null())
    numbers = rows[column].cast(pl.Float64).to_numpy()
    if rows[column].n_unique() <= 2 * _BINS:
        return rows.with_columns(place=pl.Series(numbers))
    codes = bin_codes(numbers, bin_edges(numbers, _BINS))
    return rows.with_columns(bin=pl.Series(codes)).with_columns(
        place=pl.col(column).cast(pl.Float64).median().over("bin")
    )


def _factors(
    points: Points, none: pl.DataFrame, some: pl.DataFrame, more: set[str]
) -> tuple[str, ...]:
    def is_one(name: str) -> bool:
        column = FACTOR + name
        named = name in (ENSEMBLE, STRAGGLER_DRAW) or name.startswith(f"{ENSEMBLE}.")
        if named or name in more:
            return True
        only_there = none[column].null_count() == none.height and some[column].null_count() == 0
        return only_there and not none.is_empty()

    return tuple(name for name in points.varied if is_one(name))


def _drawn_options(ratios: pl.DataFrame) -> pl.DataFrame:
    """Options of stragglers that differ within an ensemble, from their texts: a column for each.

    A text is such as ``a share 0.25 of the workers: slow factor 2.3; all workers: ...``.
    """
    texts = ratios["stragglers"].to_list()
    found = {text: _options(text) for text in set(texts)}
    drawn = ratios[FACTOR + STRAGGLER_DRAW].is_not_null()
    ensembles = ratios[FACTOR + ENSEMBLE] if FACTOR + ENSEMBLE in ratios.columns else None
    names = sorted({name for options in found.values() for name in options})
    columns = {}
    for name in names:
        column = pl.Series([found[text].get(name) for text in texts], dtype=pl.Float64)
        kept = pl.DataFrame({"value": column, "drawn": drawn}).with_columns(
            group=pl.lit("") if ensembles is None else ensembles
        )
        counts = kept.filter(pl.col("drawn")).group_by("group").agg(pl.col("value").n_unique())
        if (counts["value"] > 1).any():
            columns[FACTOR + name] = kept.select(pl.when("drawn").then("value"))["value"]
    return pl.DataFrame(columns)


def _options(text: str) -> dict[str, float]:
    """Numbers among the options of stragglers, by kind and option: ``slow factor``."""
    found = {}
    for entry in text.split("; "):
        kind, _, options = entry.partition(": ")[2].partition(" ")
        for option in options.split(", "):
            name, _, value = option.partition(" ")
            with suppress(ValueError):
                found[f"{kind} {name}"] = float(value)
    return found


def _columns(points: Points) -> list[str]:
    settings = [
        c for c in ("workers", "rate_bps", "servers", "stragglers") if c in points.table.columns
    ]
    return [*(FACTOR + name for name in points.varied), *settings]
