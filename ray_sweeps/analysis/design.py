"""Design of a sweep: the codes of its factors' levels at each point, drawn factors in bins."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Final

import numpy as np
import polars as pl
from numpy.typing import NDArray

from ray_sweeps.analysis.bins import bin_codes, bin_edges
from ray_sweeps.analysis.dataset import MAIN
from ray_sweeps.analysis.levels import quantities, short_number, value_text
from ray_sweeps.analysis.points import Points
from ray_sweeps.analysis.sweep_protocol import FactorValues
from ray_sweeps.evaluation import FACTOR

BINS: Final = 6
_FEW: Final = 10
_FEW_WHOLE: Final = 32
_POINTS_EACH: Final = 3.0

STRAGGLER_DRAW: Final = "straggler_draw"
"""Factor that only numbers draws of stragglers: points that differ in it are draws of one level."""

Codes = NDArray[np.int64]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Column:
    """Levels of one factor, or of several that always vary together.

    Attributes
    ----------
    names : the factors
    texts : the levels for a person
    places : where levels are drawn: a number, a bin's median, else the level's number
    codes : each point's level
    numeric : whether `places` are numbers of the factor
    drawn : whether levels are bins of drawn numbers
    nothing : the level at which the factor is not varied (null), if there is one
    middle_texts : of drawn numbers the text of each place
    """

    names: tuple[str, ...]
    texts: tuple[str, ...]
    places: tuple[float, ...]
    codes: Codes
    numeric: bool
    drawn: bool
    nothing: int | None
    middle_texts: Mapping[float, str] = field(default_factory=dict)

    @property
    def count(self) -> int:
        """Number of levels."""
        return len(self.texts)

    def short_text(self, level: int) -> str:
        """A level's text; of a bin its median."""
        if level == self.nothing:
            return self.texts[level]
        return self.middle_texts.get(self.places[level], self.texts[level])


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Design:
    """Points whose runs are complete, with their levels and throughputs.

    Attributes
    ----------
    points : rows of the table of points, n of them
    columns : factors with several levels
    runs : run numbers that all of these points have, r of them
    rates : (n, r) examples a second
    left_out : points with figures that lack one of these runs
    """

    points: NDArray[np.int64]
    columns: tuple[Column, ...]
    runs: tuple[int, ...]
    rates: NDArray[np.float64]
    left_out: int

    @property
    def balanced(self) -> bool:
        """True if each combination of the levels is there equally often."""
        whole = 1
        for column in self.columns:
            whole *= column.count
        if whole > len(self.points):
            return False
        places = np.zeros(len(self.points), dtype=np.int64)
        for column in self.columns:
            places = places * column.count + column.codes
        counts = np.bincount(places, minlength=whole)
        return bool((counts == counts[0]).all())


def design_of(points: Points, factors: Iterable[FactorValues] = ()) -> Design | None:
    """Sort points by the levels of their factors; None if no point has figures.

    Runs with the same number share their draws, so what is averaged over points is averaged run by
    run: points count that have all runs of the set that most points have.
    """
    if points.values.is_empty():
        return None
    runs, kept = _complete(points.values)
    table = points.table.with_row_index("point").join(
        kept, on="point", how="semi", maintain_order="left"
    )
    drawn = {each.name for each in factors if each.values is None}
    columns = [
        column
        for name in points.varied
        if name != STRAGGLER_DRAW
        for column in [_column(name, points, table, drawn=name in drawn)]
        if column.count > 1
    ]
    places = table["point"].to_numpy().astype(np.int64)
    return Design(
        points=places,
        columns=tuple(_merged(columns)),
        runs=runs,
        rates=_rates(points.values, kept, runs),
        left_out=int(points.values["point"].n_unique()) - len(places),
    )


def _complete(values: pl.DataFrame) -> tuple[tuple[int, ...], pl.DataFrame]:
    """The runs that most points have, and the points that have all of them."""
    sets = values.group_by("point").agg(pl.col("run").sort()).sort("point")
    counted = (
        sets.group_by("run")
        .agg(pl.len().alias("points"))
        .with_columns(size=pl.col("run").list.len())
        .sort("points", "size", "run", descending=[True, True, False])
    )
    runs = tuple(counted["run"][0].to_list())
    has_all = pl.col("run").list.set_intersection(list(runs)).list.len() == len(runs)
    return runs, sets.filter(has_all).select("point")


def _rates(values: pl.DataFrame, kept: pl.DataFrame, runs: Sequence[int]) -> NDArray[np.float64]:
    chosen = (
        values.join(kept, on="point", how="semi")
        .filter(pl.col("run").is_in(list(runs)))
        .sort("point", "run")
    )
    return chosen[MAIN].to_numpy().reshape(kept.height, len(runs))


def _column(name: str, points: Points, table: pl.DataFrame, *, drawn: bool) -> Column:
    values = table[FACTOR + name]
    numeric = values.dtype.is_numeric()
    there = values.drop_nulls()
    if there.n_unique() > BINS and (drawn or _seem_drawn(there)):
        if numeric:
            return _bins(name, values, short_number)
        sized = quantities(values.to_list()) if values.dtype == pl.String else None
        if sized is not None:
            return _bins(name, pl.Series(sized[0], dtype=pl.Float64), sized[1])
    order = values.unique().sort(nulls_last=False).to_list()
    if name in points.levels:
        known = set(order)
        order = [value for value in points.levels[name] if value in known]
    codes = values.replace_strict(
        pl.Series(order, dtype=values.dtype), list(range(len(order))), return_dtype=pl.Int64
    )
    return Column(
        names=(name,),
        texts=tuple(value_text(value) for value in order),
        places=tuple(
            float(value) if numeric and value is not None else float(place)
            for place, value in enumerate(order)
        ),
        codes=codes.to_numpy().astype(np.int64),
        numeric=numeric,
        drawn=False,
        nothing=order.index(None) if None in order else None,
    )


def _seem_drawn(values: pl.Series) -> bool:
    """True of many values that hardly ever come twice."""
    found = values.n_unique()
    few = _FEW_WHOLE if values.dtype.is_integer() else _FEW
    return found > few and values.len() < _POINTS_EACH * found


def _bins(name: str, values: pl.Series, text: Callable[[float], str]) -> Column:
    """Drawn numbers in bins that hold equally many, as far as numbers are distinct."""
    there = values.drop_nulls().to_numpy().astype(np.float64)
    edges = bin_edges(there, BINS)
    absent = values.is_null().to_numpy()
    numbers = values.cast(pl.Float64).fill_null(0.0).to_numpy()
    codes = bin_codes(numbers, edges)
    some = bool(absent.any())
    codes = np.where(absent, 0, codes + int(some)).astype(np.int64)
    middles = [float(np.median(numbers[codes == i + some])) for i in range(len(edges) - 1)]
    ends = [text(float(edge)) for edge in edges]
    texts = [f"{low} to {high}" for low, high in pairwise(ends)]
    return Column(
        names=(name,),
        texts=(*([value_text(None)] if some else []), *texts),
        places=(*([0.0] if some else []), *middles),
        codes=codes,
        numeric=True,
        drawn=True,
        nothing=0 if some else None,
        middle_texts={middle: text(middle) for middle in middles},
    )


def _merged(columns: Sequence[Column]) -> list[Column]:
    """Factors whose levels always go together, as one."""
    merged: list[Column] = []
    for column in columns:
        for place, other in enumerate(merged):
            if _together(other, column):
                merged[place] = _joined(other, column)
                break
        else:
            merged.append(column)
    return merged


def _together(one: Column, other: Column) -> bool:
    if one.count != other.count or one.drawn or other.drawn:
        return False
    pairs = np.unique(one.codes * other.count + other.codes)
    return len(pairs) == one.count


def _joined(one: Column, other: Column) -> Column:
    partner = np.zeros(one.count, dtype=np.int64)
    partner[one.codes] = other.codes
    texts = [f"{text}, {other.texts[partner[i]]}" for i, text in enumerate(one.texts)]
    return Column(
        names=(*one.names, *other.names),
        texts=tuple(texts),
        places=one.places,
        codes=one.codes,
        numeric=one.numeric,
        drawn=False,
        nothing=one.nothing,
    )


def crossed(one: Column, other: Column) -> Column:
    """Each level of one column with each of another, as levels of one."""
    texts = [f"{first}, {second}" for first in one.texts for second in other.texts]
    return Column(
        names=(*one.names, *other.names),
        texts=tuple(texts),
        places=tuple(float(place) for place in range(len(texts))),
        codes=one.codes * other.count + other.codes,
        numeric=False,
        drawn=False,
        nothing=None,
    )
