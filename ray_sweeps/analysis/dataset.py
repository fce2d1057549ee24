"""Dataset of a sweep: its Parquet parts as one lazy frame, with its factors and figures."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, Literal

import polars as pl

from netcosim.errors import StorageError
from netcosim.results.folder import SCENARIO
from netcosim.results.training.points_table import POINT_COLUMNS
from ray_sweeps.evaluation import FACTOR

RUNS: Final = "runs"
PARTS: Final = "part-*.parquet"
MAIN: Final = "examples_per_s"

SETTINGS: Final = (
    "scenario",
    "cell",
    "workload",
    "transport",
    "profile",
    "batch",
    "servers",
    "rate_bps",
    "discipline",
    "window_bytes",
    "synchronisation",
    "lead_steps",
    "order",
    "placement",
    "schedule",
    "share",
    "stragglers",
    "workers",
    "steps",
    "warmup_steps",
)
"""Columns that are the same in all runs of a point."""

WITH_INTERVAL: Final = (
    MAIN,
    "steps_per_s",
    "step_mean_ns",
    "step_median_ns",
    "step_p95_ns",
    "step_p99_ns",
    "step_max_ns",
    "overlap",
    "worker_utilisation",
    "straggler_ns",
)
"""Figures of which a point has a mean over its runs and half of its 95 % interval."""

TEXT_FIGURES: Final = ("fullest_link", "bottleneck")

MEANS: Final = (
    "left_out_steps",
    *(name for name in POINT_COLUMNS if name.startswith(("time_", "bounds_", "joined_"))),
    "fullest_link_utilisation",
    "bottleneck_share",
)
"""Figures of which a point has a mean and no interval."""

_REQUIRED: Final[Mapping[str, tuple[type[pl.DataType], ...]]] = {
    "key": (pl.String,),
    "run": (pl.Int32, pl.Int64),
    "engine_hash": (pl.String,),
    "error": (pl.String,),
    MAIN: (pl.Float64,),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Dataset:
    """Rows of a sweep, one a run, which are read when they are asked for.

    Attributes
    ----------
    folder : the sweep's folder
    rows : all rows of the parts that can be read; a figure that is not finite is null
    columns : their names
    problems : parts that can't be read, a line each
    at : of a part of a sweep, values of factors that all of its points have
    """

    folder: Path
    rows: pl.LazyFrame
    columns: tuple[str, ...]
    problems: tuple[str, ...] = ()
    at: Mapping[str, str | int | float | bool | None] = field(default_factory=dict)

    @property
    def factors(self) -> tuple[str, ...]:
        """The factors' names, in the order of their columns."""
        return tuple(name.removeprefix(FACTOR) for name in self.columns if name.startswith(FACTOR))

    def present(self, *names: str) -> list[str]:
        """The columns that there are, of these."""
        return [name for name in names if name in self.columns]


def read_dataset(folder: Path) -> Dataset:
    """Find the parts of a sweep's dataset; those being written do not count yet.

    A part that can't be read as Parquet is left out, and named in `problems`.

    Raises
    ------
    StorageError
        There are no parts, none can be read, or they are not parts of one sweep's dataset.
    """
    where = folder / RUNS
    try:
        parts = sorted(where.glob(PARTS))
        if not where.is_dir():
            run = (folder / SCENARIO).is_file()
            also = "; python -m netcosim.cli.compare compares runs" if run else ""
            raise StorageError(f"{where}: there is no such folder: not the folder of a sweep{also}")
    except OSError as problem:
        raise StorageError(f"{where}: can't be read: {problem.strerror}") from None
    if not parts:
        raise StorageError(f"{where}: no {PARTS}: no run of the sweep is finished yet")
    schemas, problems = _schemas(parts)
    if not schemas:
        raise StorageError(f"{problems[0]}{_more(len(problems) - 1)}")
    first, schema = next(iter(schemas.items()))
    _check(first, schema)
    for path, other in schemas.items():
        if other != schema:
            raise StorageError(f"{path}: {_difference(other, schema)}, unlike {first.name}")
    rows = pl.scan_parquet(list(schemas), glob=False, hive_partitioning=False)
    numbers = [name for name, kind in schema.items() if kind == pl.Float64]
    finite = [
        pl.when(pl.col(name).is_finite()).then(pl.col(name)).alias(name)
        for name in numbers
        if not name.startswith(FACTOR)
    ]
    return Dataset(
        folder=folder,
        rows=rows.with_columns(finite),
        columns=tuple(schema),
        problems=tuple(problems),
    )


def collected(
    frame: pl.LazyFrame, folder: Path, engine: Literal["streaming", "in-memory"] = "streaming"
) -> pl.DataFrame:
    """Compute a frame, part by part as far as polars can; sums in the rows' order only in memory.

    Raises
    ------
    StorageError
        A part is damaged.
    """
    try:
        return frame.collect(engine=engine)
    except (pl.exceptions.PolarsError, OSError) as problem:
        reason = " ".join(str(problem).split())[:200]
        raise StorageError(f"{folder / RUNS}: a part can't be read: {reason}") from None


def _schemas(parts: Sequence[Path]) -> tuple[dict[Path, dict[str, pl.DataType]], list[str]]:
    found: dict[Path, dict[str, pl.DataType]] = {}
    problems = []
    for path in parts:
        try:
            if not path.is_file():
                raise OSError("is not a regular file")
            found[path] = dict(pl.read_parquet_schema(path))
        except (pl.exceptions.PolarsError, OSError) as problem:
            reason = " ".join(str(problem).split())[:120]
            problems.append(f"{path}: can't be read as Parquet: {reason}")
    return found, problems


def _check(path: Path, schema: Mapping[str, pl.DataType]) -> None:
    for name, kinds in _REQUIRED.items():
        if name not in schema:
            raise StorageError(f'{path}: lacks the column "{name}": not a part of a sweep')
        if not isinstance(schema[name], kinds):
            allowed = " or ".join(kind.__name__ for kind in kinds)
            raise StorageError(f'{path}: the column "{name}" is {schema[name]}, not {allowed}')


def _difference(one: Mapping[str, pl.DataType], other: Mapping[str, pl.DataType]) -> str:
    for name in (*other, *one):
        if name not in one:
            return f'lacks the column "{name}"'
        if name not in other:
            return f'has a column "{name}"'
        if one[name] != other[name]:
            return f'the column "{name}" is {one[name]} and not {other[name]}'
    return "has its columns in another order"


def _more(count: int) -> str:
    return f" (and {count} more)" if count else ""
