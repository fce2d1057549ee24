"""Distributions of what is drawn: their parameters, and the value at a quantile."""

import math
from collections.abc import Callable, Mapping
from statistics import NormalDist
from types import MappingProxyType
from typing import Annotated, Final, Literal, Self

from pydantic import BeforeValidator, Field, model_validator

from netcosim.formatting import quoted
from netcosim.nearest import listed, unknown
from netcosim.scenario.fields import Flag, Record
from ray_sweeps.sweep_file.fields import MOST_VALUES, Finite, Kind, Scalar, filled
from ray_sweeps.sweep_file.quantities import UNITS, QuantityKind, measured, quantity_text

Spread = Annotated[Finite, Field(gt=0, le=10)]
"""Standard deviation of a logarithm: no draw of a double is out of bounds."""

Shape = Annotated[Finite, Field(ge=0.1, le=1000)]

Choices = Annotated[tuple[Scalar, ...], Field(max_length=MOST_VALUES), BeforeValidator(filled)]


class Distribution(Record):
    """A distribution by name, with its parameters.

    Attributes
    ----------
    low, high : of ``uniform`` and ``log-uniform``
    mean : of ``normal`` and ``exponential``
    sigma : standard deviation of ``normal``; of the logarithm of ``lognormal``
    median : of ``lognormal``
    shape, least : of ``pareto``: exponent of its tail, and its least value
    values : of ``choice``, each as likely
    whole : draws are rounded to whole numbers; those of ``uniform`` are each as likely
    unit : makes text of draws, such as ``3.2ms``
    """

    distribution: Literal[
        "uniform", "log-uniform", "normal", "lognormal", "exponential", "pareto", "choice"
    ]
    low: Finite | None = None
    high: Finite | None = None
    mean: Finite | None = None
    sigma: Annotated[Finite, Field(gt=0)] | None = None
    median: Annotated[Finite, Field(gt=0)] | None = None
    shape: Shape | None = None
    least: Annotated[Finite, Field(gt=0)] | None = None
    values: Choices | None = None
    whole: Flag = False
    unit: str | None = None

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        needed = PARAMETERS[self.distribution]
        for name in ("low", "high", "mean", "sigma", "median", "shape", "least", "values"):
            if name in needed and getattr(self, name) is None:
                raise ValueError(f"{self.distribution} needs {listed(needed)}")
            if name not in needed and getattr(self, name) is not None:
                raise ValueError(f"{self.distribution} has no '{name}'; it has {listed(needed)}")
        if self.distribution == "choice" and (self.whole or self.unit is not None):
            raise ValueError("choice has no 'whole' and no 'unit': it takes values as they are")
        if self.unit is not None and self.unit not in UNITS:
            raise ValueError(f"unit: {quoted(self.unit)}: {unknown(self.unit, list(UNITS))}")
        _check_bounds(self)
        return self

    @property
    def kind(self) -> Kind | None:
        """Kind of what is drawn; None for a choice, whose values tell."""
        if self.values is not None:
            return None
        if self.unit is not None:
            return "text"
        return "whole" if self.whole else "number"

    @property
    def quantity(self) -> QuantityKind | None:
        """Kind of quantity that is drawn; None if it is none."""
        found = None if self.unit is None else measured(f"1{self.unit}")
        return None if found is None else found[0]

    def value(self, quantile: float) -> Scalar:
        """The value below which this part of all draws lies; `quantile` is from 0 to below 1."""
        if self.values is not None:
            return self.values[int(quantile * len(self.values))]
        number = _INVERSE[self.distribution](self, quantile)
        if self.whole:
            number = int(number) if self.distribution == "uniform" else round(number)
        if self.unit is None:
            return number if self.whole else float(f"{number:.{_DIGITS}g}")
        return quantity_text(round(number * UNITS[self.unit]), self.unit)


_DIGITS: Final = 12
"""Of what is drawn: on another processor or system the last of 16 may be others."""

PARAMETERS: Final[Mapping[str, tuple[str, ...]]] = MappingProxyType(
    {
        "uniform": ("low", "high"),
        "log-uniform": ("low", "high"),
        "normal": ("mean", "sigma"),
        "lognormal": ("median", "sigma"),
        "exponential": ("mean",),
        "pareto": ("shape", "least"),
        "choice": ("values",),
    }
)
"""Parameters of each distribution, all of them required."""


def _check_bounds(given: Distribution) -> None:
    if given.low is not None and given.high is not None:
        if not given.low < given.high:
            raise ValueError(f"'low' ({given.low}) must be below 'high' ({given.high})")
        if given.distribution == "log-uniform" and given.low <= 0:
            raise ValueError(f"'low' ({given.low}) must be > 0")
        ends = (given.low, given.high)
        if given.whole and given.distribution == "uniform" and not all(map(_is_whole, ends)):
            raise ValueError("with whole = true 'low' and 'high' must be whole numbers")
    if given.distribution == "exponential" and given.mean is not None and given.mean <= 0:
        raise ValueError(f"'mean' ({given.mean}) must be > 0")
    if given.distribution == "lognormal" and given.sigma is not None and given.sigma > 10:
        raise ValueError(f"'sigma' ({given.sigma}) is of the logarithm, and must be <= 10")


def _is_whole(value: object) -> bool:
    return isinstance(value, int)


def _standard_normal(quantile: float) -> float:
    least = 2.0**-60
    return NormalDist().inv_cdf(min(max(quantile, least), 1 - 2.0**-53))


def _uniform(d: Distribution, quantile: float) -> float:
    low, high = _given(d.low), _given(d.high)
    if d.whole:
        return min(high, math.floor(low + quantile * (high - low + 1)))
    return low + quantile * (high - low)


def _log_uniform(d: Distribution, quantile: float) -> float:
    low, high = _given(d.low), _given(d.high)
    return float(low * (high / low) ** quantile)


def _normal(d: Distribution, quantile: float) -> float:
    return _given(d.mean) + _given(d.sigma) * _standard_normal(quantile)


def _lognormal(d: Distribution, quantile: float) -> float:
    return _given(d.median) * math.exp(_given(d.sigma) * _standard_normal(quantile))


def _exponential(d: Distribution, quantile: float) -> float:
    return -_given(d.mean) * math.log1p(-quantile)


def _pareto(d: Distribution, quantile: float) -> float:
    return float(_given(d.least) * (1 - quantile) ** (-1 / _given(d.shape)))


def _given(parameter: float | None) -> float:
    """A parameter that the distribution was checked to have."""
    if parameter is None:
        raise TypeError("a distribution without one of its parameters")
    return parameter


_INVERSE: Final[Mapping[str, Callable[[Distribution, float], float]]] = MappingProxyType(
    {
        "uniform": _uniform,
        "log-uniform": _log_uniform,
        "normal": _normal,
        "lognormal": _lognormal,
        "exponential": _exponential,
        "pareto": _pareto,
    }
)
