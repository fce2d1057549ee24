"""Datasets of sweeps made by a rule, with the columns that a sweep has."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from pathlib import Path
from typing import Any

import polars as pl

from ray_sweeps.analysis.dataset import read_dataset
from ray_sweeps.analysis.points import Points, points_of

Value = bool | int | float | str | None
Row = dict[str, Any]

ENGINE = "0123456789abcdef"

SCHEMA = {
    "key": pl.String,
    "run": pl.Int32,
    "engine_hash": pl.String,
    "error": pl.String,
    "scenario": pl.String,
    "workload": pl.String,
    "servers": pl.Int64,
    "rate_bps": pl.Int64,
    "synchronisation": pl.String,
    "stragglers": pl.String,
    "workers": pl.Int64,
    "steady": pl.Boolean,
    "examples_per_s": pl.Float64,
    "steps_per_s": pl.Float64,
    "step_median_ns": pl.Float64,
    "step_p95_ns": pl.Float64,
    "time_computing": pl.Float64,
    "overlap": pl.Float64,
    "worker_utilisation": pl.Float64,
    "straggler_ns": pl.Float64,
    "fullest_link": pl.String,
    "bottleneck": pl.String,
    "bottleneck_share": pl.Float64,
}


@dataclass(frozen=True)
class Price:
    name: str = "on demand"
    worker: float = 1.0
    server: float = 0.5
    unit: str = "USD/h"


@dataclass(frozen=True)
class Varied:
    name: str
    path: str
    values: tuple[Value, ...] | None


@dataclass(frozen=True)
class Group:
    factors: tuple[Varied, ...]


@dataclass(frozen=True)
class Sweep:
    name: str = "made"
    description: str = "Made by a rule."
    prices: tuple[Price, ...] = (Price(),)
    groups: tuple[Group, ...] = field(default=())
    given: tuple[str, ...] = ()


def run_row(factors: Mapping[str, Value], run: int, rate: float | None, **figures: Any) -> Row:
    """A run's row: figures follow from the rate; an error in place of it if there is none."""
    key = ",".join(f"{name}={value}" for name, value in factors.items())
    row: Row = {"key": key, "run": run, "engine_hash": ENGINE, "error": None}
    row |= {f"factor_{name}": value for name, value in factors.items()}
    if rate is None:
        return {**row, "error": "the profile is gone", **figures}
    straggler = str(factors.get("straggler", "none"))
    return {
        **row,
        "scenario": "made",
        "workload": "resnet50",
        "servers": factors.get("servers", 1),
        "rate_bps": 10**9,
        "synchronisation": factors.get("synchronisation", "asp"),
        "stragglers": "" if straggler == "none" else straggler,
        "workers": factors.get("workers", 4),
        "steady": True,
        "examples_per_s": rate,
        "steps_per_s": rate / 8,
        "step_median_ns": 8e9 / rate if rate else None,
        "step_p95_ns": 9e9 / rate if rate else None,
        "time_computing": 0.5,
        "overlap": None,
        "worker_utilisation": 0.5,
        "straggler_ns": None,
        "fullest_link": "server 0 down",
        "bottleneck": "workers",
        "bottleneck_share": 0.9,
        **figures,
    }


def grid(
    levels: Mapping[str, Sequence[Value]],
    rate: Callable[[dict[str, Value], int], float | None],
    runs: int = 3,
) -> list[Row]:
    """Rows of all combinations of the levels."""
    rows = []
    for values in product(*levels.values()):
        factors = dict(zip(levels, values, strict=True))
        rows += [run_row(factors, run, rate(factors, run)) for run in range(runs)]
    return rows


def write_sweep(folder: Path, rows: Iterable[Row], parts: int = 2) -> Path:
    """Write rows as the parts of a dataset; return the folder."""
    kept = list(rows)
    (folder / "runs").mkdir(parents=True, exist_ok=True)
    names = [name for name in kept[0] if name.startswith("factor_")]
    schema = {**SCHEMA, **{name: _kind(row[name] for row in kept) for name in names}}
    for part in range(parts):
        table = pl.DataFrame(
            [{name: row.get(name) for name in schema} for row in kept[part::parts]], schema=schema
        )
        table.write_parquet(folder / "runs" / f"part-{part:05}.parquet")
    return folder


def read_rows(
    folder: Path, rows: Iterable[Row], prices: Sequence[Price] = (), *, parts: int = 2, **how: Any
) -> Points:
    """The points of a dataset of these rows."""
    return points_of(read_dataset(write_sweep(folder, rows, parts)), prices, **how)


def _kind(values: Iterable[Value]) -> Any:
    kinds = {type(value) for value in values if value is not None}
    if kinds == {bool}:
        return pl.Boolean
    if kinds <= {int}:
        return pl.Int64
    return pl.Float64 if kinds <= {int, float} else pl.String
