"""The points of a sweep that have one value of a factor, as a dataset without the factor."""

from dataclasses import replace

import polars as pl

from netcosim.errors import ScenarioError
from ray_sweeps.analysis.dataset import Dataset, collected
from ray_sweeps.analysis.levels import Value, ordered, value_text
from ray_sweeps.evaluation import FACTOR


def with_value(dataset: Dataset, factor: str, text: str) -> Dataset:
    """Take the points at a value, which is written as tables of results show it.

    Raises
    ------
    ScenarioError
        The sweep has no such factor, or none of its points this value.
    StorageError
        A part is damaged.
    """
    column = FACTOR + factor
    if column not in dataset.columns:
        names = ", ".join(dataset.factors) or "none"
        raise ScenarioError.at("--between", factor, f"must be a factor of the sweep: {names}")
    found = collected(dataset.rows.select(pl.col(column).unique()), dataset.folder)
    values: list[Value] = ordered(found[column].to_list())
    by_text = {value_text(value): value for value in values}
    if text not in by_text:
        raise ScenarioError.at(f"--between {factor}", text, f"must be of: {', '.join(by_text)}")
    return replace(
        dataset,
        rows=dataset.rows.filter(pl.col(column).eq_missing(pl.lit(by_text[text]))).drop(column),
        columns=tuple(name for name in dataset.columns if name != column),
        at={**dataset.at, factor: by_text[text]},
    )
