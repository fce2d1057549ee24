"""95 % intervals of a difference between two means, by Student's t."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import mean, variance
from typing import Final, Literal

Method = Literal["paired", "welch", "none"]

# Two-sided 95 % quantiles of Student's t with 1, 2, ... degrees of freedom.
_T_95: Final = (12.70620, 4.30265, 3.18245, 2.77645, 2.57058, 2.44691, 2.36462, 2.30600, 2.26216)
_NORMAL_95: Final = 1.959964


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """Mean of the second sample less that of the first.

    Attributes
    ----------
    half_width : half of its 95 % interval; None where a sample has a single value
    method : `paired`, `welch`, or `none` where there is no interval
    """

    mean: float
    half_width: float | None
    method: Method

    @property
    def beyond(self) -> bool:
        """True if the interval excludes 0; without an interval, if there is a difference."""
        return abs(self.mean) > (self.half_width or 0.0)


def difference(first: Sequence[float], second: Sequence[float], *, paired: bool) -> Difference:
    """Estimate the difference of two means from independent values, at least one of each.

    Parameters
    ----------
    paired
        Value i of both samples was drawn under the same chance, such as runs with common random
        numbers: the interval is that of the differences value by value, which leaves out what both
        have in common. Else it is Welch's (*Biometrika* 34, 1947), for variances that differ.

    Raises
    ------
    ValueError
        A sample is empty, or paired samples are not equally long.
    """
    if not first or not second or (paired and len(first) != len(second)):
        raise ValueError(f"{len(first)} values and {len(second)}: nothing to compare")
    apart = mean(second) - mean(first)
    if min(len(first), len(second)) == 1:
        return Difference(mean=apart, half_width=None, method="none")
    if paired:
        each = [b - a for a, b in zip(first, second, strict=True)]
        half = t_95(len(each) - 1) * math.sqrt(variance(each) / len(each))
        return Difference(mean=mean(each), half_width=half, method="paired")
    return Difference(mean=apart, half_width=_welch(first, second), method="welch")


def t_95(freedom: float) -> float:
    """Half-width of a two-sided 95 % interval in standard errors (Student's t).

    `freedom` is at least 1. Up to 9 it is a table, between whole numbers interpolated over their
    inverses, which is too wide: by up to 19 % below 2, 2 % below 3, and less beyond. Above 9 the
    Cornish-Fisher expansion around the normal quantile is right to 1.2 in 10,000 (Abramowitz and
    Stegun, 26.7.5).
    """
    if freedom <= len(_T_95):
        return _between(freedom)
    z, n = _NORMAL_95, freedom
    first = (z**3 + z) / (4 * n)
    second = (5 * z**5 + 16 * z**3 + 3 * z) / (96 * n**2)
    third = (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / (384 * n**3)
    return z + first + second + third


def _between(freedom: float) -> float:
    below = math.floor(freedom)
    if below == freedom:
        return _T_95[below - 1]
    # The quantile is convex in 1/n: the chord between two whole n lies above it.
    part = (1 / below - 1 / freedom) / (1 / below - 1 / (below + 1))
    return _T_95[below - 1] + part * (_T_95[below] - _T_95[below - 1])


def _welch(first: Sequence[float], second: Sequence[float]) -> float:
    """Half-width by Welch, with Satterthwaite's degrees of freedom."""
    parts = [(variance(values) / len(values), len(values) - 1) for values in (first, second)]
    whole = math.fsum(part for part, _ in parts)
    if whole == 0:
        return 0.0
    freedom = 1 / math.fsum((part / whole) ** 2 / n for part, n in parts)
    return t_95(freedom) * math.sqrt(whole)
