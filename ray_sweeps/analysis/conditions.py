"""Conditions under which points are compared: values of factors that nobody chooses."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice, product
from typing import Any, Final

import polars as pl

from ray_sweeps.analysis.levels import ordered, value_text
from ray_sweeps.analysis.points import Points
from ray_sweeps.evaluation import FACTOR


@dataclass(frozen=True, slots=True)
class Condition:
    """Values of some factors; of none: everywhere."""

    values: Mapping[str, Any] = field(default_factory=dict)

    @property
    def texts(self) -> dict[str, str]:
        """The values for a person, by factor."""
        return {name: value_text(value) for name, value in self.values.items()}

    def among(self, table: pl.DataFrame) -> pl.DataFrame:
        """The rows of a table of points that have these values."""
        for name, value in self.values.items():
            table = table.filter(pl.col(FACTOR + name).eq_missing(pl.lit(value)))
        return table


EVERYWHERE: Final = Condition()


def conditions_of(points: Points, names: Sequence[str], most: int) -> list[Condition]:
    """Each combination of the factors' values that some point has, in the file's order.

    Parameters
    ----------
    names : of factors that vary
    most : combinations; those behind them are left out
    """
    columns = [FACTOR + name for name in names]
    there = set(points.table.select(columns).unique().iter_rows())
    levels = [
        ordered(points.table[column].unique().to_list(), points.levels.get(name, ()))
        for name, column in zip(names, columns, strict=True)
    ]
    combined = (values for values in product(*levels) if values in there)
    return [Condition(dict(zip(names, values, strict=True))) for values in islice(combined, most)]


def with_texts(table: pl.DataFrame, texts: Mapping[str, str]) -> pl.DataFrame:
    """The rows of a table of points whose factors have these values, as a summary has them."""
    for name, text in texts.items():
        column = FACTOR + name
        fitting = [v for v in table[column].unique().to_list() if value_text(v) == text]
        table = table.filter(pl.col(column).is_in(fitting, nulls_equal=True))
    return table
