"""Main effects of factors on throughput, by means or least squares, with intervals over runs."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal

import numpy as np
import polars as pl
from numpy.typing import NDArray

from netcosim.intervals import t_95
from ray_sweeps.analysis.dataset import MAIN
from ray_sweeps.analysis.design import Column, Design
from ray_sweeps.analysis.levels import quantities
from ray_sweeps.analysis.points import Points
from ray_sweeps.evaluation import FACTOR

Method = Literal["means", "least squares", "confounded"]

_SMALL: Final = 1e-8
"""Part of a contrast outside of what the points determine, from which on it is not estimable."""

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class Level:
    """A factor's level.

    Attributes
    ----------
    place, place_text : where it is drawn, and what stands there: of a bin its median
    points : how many have it
    effect : how far it is above the mean of the factor's levels; a share of the grand mean
    half_width : half of its 95 % interval, by Student's t over the runs; None of a single run
    """

    text: str
    place: float
    place_text: str
    points: int
    effect: float
    half_width: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Effect:
    """Main effect of a factor, or of several that always vary together.

    Attributes
    ----------
    method : `means` over all others where each combination is there equally often; else `least
        squares` of an additive model; `confounded` where the points can't tell the factor from
        others: then bare means, which hold the others' effects, too
    levels : those compared; where a factor is varied at some points only, these may be all
    spread : largest less smallest effect
    rank_correlation : Spearman's, of the points' throughput with the numbers; drawn factors only
    """

    names: tuple[str, ...]
    method: Method
    levels: tuple[Level, ...]
    numeric: bool
    drawn: bool
    spread: float
    rank_correlation: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Effects:
    """Main effects of a sweep, the largest first.

    Attributes
    ----------
    grand_mean : mean throughput of the points, examples a second
    balanced : whether each combination of levels is there equally often
    explained : share of the variance among the points that the factors' effects add up to; the
        rest is what factors do together. None where throughput does not vary
    points, left_out : how many were used, and how many lack a run that these have
    """

    grand_mean: float
    balanced: bool
    explained: float | None
    points: int
    left_out: int
    factors: tuple[Effect, ...]


def main_effects(points: Points, design: Design) -> Effects | None:
    """Estimate each factor's main effect; None if no factor varies or throughput is all zero."""
    grand = float(design.rates.mean())
    if not design.columns or grand <= 0:
        return None
    model = _Model(design)
    balanced = design.balanced
    effects = [_effect(points, design, model, i, balanced) for i in range(len(design.columns))]
    return Effects(
        grand_mean=grand,
        balanced=balanced,
        explained=model.explained(),
        points=len(design.points),
        left_out=design.left_out,
        factors=tuple(sorted(effects, key=lambda e: (e.method == "confounded", -e.spread))),
    )


class _Model:
    """Additive model by least squares: a constant, and one indicator for each level.

    Its normal equations are counts of pairs of levels, whatever the number of points.
    """

    def __init__(self, design: Design) -> None:
        self._design = design
        counts = [column.count for column in design.columns]
        self.first = np.concatenate([[1], 1 + np.cumsum(counts)]).astype(int)
        gram, sums = self._normal_equations()
        scale = 1 / np.sqrt(np.maximum(np.diag(gram), 1.0))
        scaled = gram * scale[:, None] * scale[None, :]
        inverse = np.linalg.pinv(scaled, rcond=1e-10, hermitian=True)
        self._scale, self._onto = scale, scaled @ inverse
        self.coefficients: Floats = scale[:, None] * (inverse @ (scale[:, None] * sums))

    def contrasts(self, column: int, levels: Sequence[int]) -> Floats | None:
        """(levels, runs): effects against the mean of these levels; None if not estimable."""
        rows = np.zeros((len(levels), len(self._scale)))
        for i, level in enumerate(levels):
            rows[i, self.first[column] + level] = 1.0
        rows[:, self.first[column] + np.array(levels)] -= 1 / len(levels)
        scaled = rows * self._scale
        outside = scaled - scaled @ self._onto
        if np.abs(outside).max() > _SMALL * np.abs(scaled).max():
            return None
        return np.asarray(rows @ self.coefficients)

    def explained(self) -> float | None:
        rates = self._design.rates.mean(axis=1)
        each = self.coefficients.mean(axis=1)
        fitted = np.full(len(rates), each[0])
        for i, column in enumerate(self._design.columns):
            fitted += each[self.first[i] + column.codes]
        whole = float(((rates - rates.mean()) ** 2).sum())
        if whole <= 1e-18 * float((rates**2).sum()):
            return None
        return max(0.0, 1 - float(((rates - fitted) ** 2).sum()) / whole)

    def _normal_equations(self) -> tuple[Floats, Floats]:
        columns, rates = self._design.columns, self._design.rates
        size = int(self.first[-1])
        gram, sums = np.zeros((size, size)), np.zeros((size, rates.shape[1]))
        gram[0, 0], sums[0] = len(rates), rates.sum(axis=0)
        for i, one in enumerate(columns):
            mine = slice(self.first[i], self.first[i + 1])
            gram[0, mine] = gram[mine, 0] = np.bincount(one.codes, minlength=one.count)
            sums[mine] = _sums(one, rates)
            for j, other in enumerate(columns):
                pairs = np.bincount(
                    one.codes * other.count + other.codes, minlength=one.count * other.count
                )
                theirs = slice(self.first[j], self.first[j + 1])
                gram[mine, theirs] = pairs.reshape(one.count, other.count)
        return gram, sums


def _effect(points: Points, design: Design, model: _Model, place: int, balanced: bool) -> Effect:
    column = design.columns[place]
    levels = list(range(column.count))
    varied = [level for level in levels if level != column.nothing]
    method: Method = "means" if balanced else "least squares"
    found = model.contrasts(place, levels)
    if found is None and len(varied) > 1:
        levels, found = varied, model.contrasts(place, varied)
    if found is None:
        levels, method = list(range(column.count)), "confounded"
        found = _bare_means(column, design.rates)
    shares = found / float(design.rates.mean())
    effects = shares.mean(axis=1)
    counts = np.bincount(column.codes, minlength=column.count)
    return Effect(
        names=column.names,
        method=method,
        levels=tuple(
            Level(
                text=column.texts[level],
                place=column.places[level],
                place_text=column.short_text(level),
                points=int(counts[level]),
                effect=float(effects[i]),
                half_width=_half(shares[i]),
            )
            for i, level in enumerate(levels)
        ),
        numeric=column.numeric,
        drawn=column.drawn,
        spread=float(effects.max() - effects.min()),
        rank_correlation=_rank_correlation(points, column) if column.drawn else None,
    )


def _sums(column: Column, rates: Floats) -> Floats:
    """(levels, runs): sums of the throughputs at each level."""
    return np.stack(
        [
            np.bincount(column.codes, weights=rates[:, run], minlength=column.count)
            for run in range(rates.shape[1])
        ],
        axis=1,
    )


def _bare_means(column: Column, rates: Floats) -> Floats:
    means = _sums(column, rates) / np.bincount(column.codes, minlength=column.count)[:, None]
    return np.asarray(means - means.mean(axis=0))


def _half(values: Floats) -> float | None:
    runs = len(values)
    return None if runs == 1 else float(t_95(runs - 1) * values.std(ddof=1) / runs**0.5)


def _rank_correlation(points: Points, column: Column) -> float | None:
    values = points.finished[FACTOR + column.names[0]]
    sized = quantities(values.to_list()) if values.dtype == pl.String else None
    numbers = values if sized is None else pl.Series(sized[0], dtype=pl.Float64)
    pair = pl.DataFrame({"number": numbers, "rate": points.finished[MAIN]}).drop_nulls()
    found = pair.select(pl.corr("number", "rate", method="spearman")).item()
    return None if found is None or not np.isfinite(found) else float(found)
