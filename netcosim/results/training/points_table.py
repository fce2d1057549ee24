"""`points.csv` and `points.parquet`: a simulation as a flat table, a row per cell and workers."""

import csv
import io
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Final

from netcosim.results.json_files import as_stored, dump_json
from netcosim.results.training.bottleneck import bottleneck
from netcosim.results.training.findings import speed_up
from netcosim.results.training.summary import LinkUse, Point, Series, TimeShares, TrainingSummary

FORMAT: Final = "netcosim-points"

_TEXT, _WHOLE, _NUMBER, _FLAG = "string", "int64", "double", "bool"  # names of Arrow's types


@dataclass(frozen=True, slots=True, kw_only=True)
class _Row:
    """Where a row of the table comes from."""

    summary: TrainingSummary
    series: Series
    point: Point


@dataclass(frozen=True, slots=True)
class _Column:
    kind: str
    description: str
    value: Callable[[_Row], Any]
    null: bool = False


def _fullest(point: Point) -> LinkUse | None:
    return max(point.link_utilisation, key=lambda link: link.utilisation, default=None)


def _fullest_name(row: _Row) -> str | None:
    link = _fullest(row.point)
    return None if link is None else f"server {link.server} {link.direction}"


def _fullest_use(row: _Row) -> float | None:
    link = _fullest(row.point)
    return None if link is None else link.utilisation


def _saturated(row: _Row) -> bool:
    found = row.series.saturation
    return found is not None and row.point.workers >= found.workers


def _speed_up(row: _Row) -> float | None:
    return speed_up(row.point, row.series.alone) if row.series.alone.mean > 0 else None


def _efficiency(row: _Row) -> float | None:
    gain = _speed_up(row)
    return None if gain is None else gain / row.point.workers


def _time_share(mode: str) -> Callable[[_Row], float]:
    def share(row: _Row) -> float:
        return float(getattr(row.point.time, mode))

    return share


def _formula(name: str) -> Callable[[_Row], float | None]:
    return lambda row: row.point.baselines.get(name)


_COLUMNS: Final[Mapping[str, _Column]] = MappingProxyType(
    {
        "scenario": _Column(_TEXT, "the scenario's name", lambda r: r.summary.scenario),
        "seed": _Column(_WHOLE, "its seed", lambda r: r.summary.seed),
        "cell": _Column(_TEXT, "workload/transport", lambda r: r.series.cell),
        "workload": _Column(_TEXT, "its name", lambda r: r.series.workload),
        "transport": _Column(_TEXT, "its name", lambda r: r.series.transport),
        "profile": _Column(_TEXT, "of which profile the steps are", lambda r: r.series.profile),
        "batch": _Column(_WHOLE, "examples of one worker's step", lambda r: r.series.batch),
        "servers": _Column(_WHOLE, "parameter servers", lambda r: r.series.servers),
        "rate_bps": _Column(
            _WHOLE, "of a server's port, either direction", lambda r: r.series.rate_bps
        ),
        "discipline": _Column(
            _TEXT,
            "how a connection shares its bytes among its messages",
            lambda r: r.series.discipline,
        ),
        "window_bytes": _Column(
            _WHOLE,
            "a stream's window; null: flow control is off",
            lambda r: r.series.window_bytes,
            null=True,
        ),
        "synchronisation": _Column(_TEXT, "asp, bsp or ssp", lambda r: r.series.synchronisation),
        "lead_steps": _Column(
            _WHOLE,
            "steps that a worker may be ahead of the slowest; null: any number",
            lambda r: r.series.lead,
            null=True,
        ),
        "order": _Column(
            _TEXT, "in which a step's tensors are handed over", lambda r: r.series.order
        ),
        "placement": _Column(_TEXT, "of tensors on servers", lambda r: r.series.placement),
        "share": _Column(_TEXT, "how connections share a link", lambda r: r.series.share),
        "stragglers": _Column(
            _TEXT,
            "each in a few words, separated by semicolons; empty: none",
            lambda r: "; ".join(r.series.stragglers),
        ),
        "workers": _Column(_WHOLE, "how many take part", lambda r: r.point.workers),
        "runs": _Column(_WHOLE, "runs that differ by their seed alone", lambda r: r.point.runs),
        "steps": _Column(
            _WHOLE, "of each worker in a run, warm-up included", lambda r: r.point.steps
        ),
        "warmup_steps": _Column(
            _WHOLE, "the first of these, which no figure counts", lambda r: r.point.warmup
        ),
        "left_out_steps": _Column(
            _NUMBER,
            "steps beyond the warm-up left out as the run had not settled, mean over runs",
            lambda r: r.point.left_out,
        ),
        "steady": _Column(
            _FLAG, "false: some run had not settled by half of its time", lambda r: r.point.steady
        ),
        "examples_per_s": _Column(
            _NUMBER,
            "examples that all workers together get through in a second, mean over runs",
            lambda r: r.point.examples_per_s.mean,
        ),
        "examples_per_s_half_width": _Column(
            _NUMBER,
            "half of its 95 % interval; null of a single run",
            lambda r: r.point.examples_per_s.half_width,
            null=True,
        ),
        "steps_per_s": _Column(
            _NUMBER,
            "steps that all workers together end in a second, mean over runs",
            lambda r: r.point.steps_per_s.mean,
        ),
        "steps_per_s_half_width": _Column(
            _NUMBER,
            "half of its 95 % interval; null of a single run",
            lambda r: r.point.steps_per_s.half_width,
            null=True,
        ),
        "speed_up": _Column(
            _NUMBER,
            "steps_per_s over that of one worker alone without stragglers",
            _speed_up,
            null=True,
        ),
        "efficiency": _Column(
            _NUMBER, "speed_up over the number of workers", _efficiency, null=True
        ),
        "saturated": _Column(
            _FLAG,
            "whether one more worker adds less than 5 % of what one alone does, from here on",
            _saturated,
        ),
        "step_mean_ns": _Column(_NUMBER, "how long steps took", lambda r: r.point.step_ns.mean),
        "step_median_ns": _Column(_NUMBER, "their median", lambda r: r.point.step_ns.median),
        "step_p95_ns": _Column(_NUMBER, "their 95th percentile", lambda r: r.point.step_ns.p95),
        "step_p99_ns": _Column(_NUMBER, "their 99th percentile", lambda r: r.point.step_ns.p99),
        "step_max_ns": _Column(_NUMBER, "the longest", lambda r: r.point.step_ns.max),
        **{
            f"time_{mode}": _Column(
                _NUMBER, f"share of the workers' time: {field.description}", _time_share(mode)
            )
            for mode, field in TimeShares.model_fields.items()
        },
        "overlap": _Column(
            _NUMBER,
            "share of the time with communication in which a worker also computes; null: none",
            lambda r: r.point.overlap,
            null=True,
        ),
        "worker_utilisation": _Column(
            _NUMBER,
            "share of time in which a worker computes, mean over the workers",
            lambda r: r.point.worker_utilisation,
        ),
        "straggler_ns": _Column(
            _NUMBER,
            "wait of a round's first worker for its last, mean; null: workers do not go in rounds",
            lambda r: r.point.straggler_ns,
            null=True,
        ),
        "fullest_link": _Column(
            _TEXT, "such as server 0 down; null: no link is used", _fullest_name, null=True
        ),
        "fullest_link_utilisation": _Column(
            _NUMBER, "bytes moved over what its rate allows", _fullest_use, null=True
        ),
        "bottleneck": _Column(
            _TEXT,
            "a link such as server 0 down or all servers up, workers, network, waiting, none",
            lambda r: bottleneck(r.point).name,
        ),
        "bottleneck_share": _Column(
            _NUMBER,
            "its utilisation, or the share of a worker's time that it takes",
            lambda r: bottleneck(r.point).share,
        ),
        "engine": _Column(
            _TEXT, "fast or generic; both give the same figures", lambda r: r.point.engine
        ),
        "engine_hash": _Column(
            _TEXT,
            "of the simulator's source: equal ones give equal figures",
            lambda r: r.summary.engine,
        ),
    }
)

POINT_COLUMNS: Final[Mapping[str, str]] = MappingProxyType(
    {name: column.description for name, column in _COLUMNS.items()}
)
"""What each column is; beside these there is one per formula, ``formula_NAME_steps_per_s``."""


def points_table(summary: TrainingSummary) -> Any:
    """Make the main table of a simulation, a row for each cell and number of workers.

    Rows are in the summary's order: cell by cell, workers rising. Columns are those of
    `POINT_COLUMNS` and then, sorted by name, one for each formula: ``formula_NAME_steps_per_s``,
    null where it has no answer. Shares and utilisations are fractions. Numbers are rounded as in
    `summary.json`, so the table of a summary that was read from a folder is the same.

    Returns
    -------
    pyarrow.Table
        Without nulls where a column's description names none.
    """
    import pyarrow as pa  # only here: the program starts without it

    stored = TrainingSummary.model_validate(as_stored(summary.model_dump(mode="json")))
    rows = [
        _Row(summary=stored, series=series, point=point)
        for series in stored.series
        for point in series.points
    ]
    columns = dict(_columns(rows))
    values = {name: as_stored([c.value(row) for row in rows]) for name, c in columns.items()}
    schema = pa.schema(
        [
            pa.field(name, pa.type_for_alias(column.kind), nullable=column.null)
            for name, column in columns.items()
        ],
        metadata={"format": FORMAT, "version": "1"},
    )
    arrays = [pa.array(values[field.name], type=field.type) for field in schema]
    return pa.Table.from_arrays(arrays, schema=schema)


def points_csv(table: Any) -> bytes:
    """The table as CSV: a heading, commas, ``true`` and ``false``, nothing for null."""
    sink = io.StringIO()
    writer = csv.writer(sink, lineterminator="\n")
    writer.writerow(table.schema.names)
    columns = (column.to_pylist() for column in table.columns)
    writer.writerows([_csv_value(value) for value in row] for row in zip(*columns, strict=True))
    return sink.getvalue().encode()


def describe_points(table: Any) -> str:
    """The table's columns as JSON."""
    columns = [
        {
            "name": field.name,
            "type": str(field.type),
            "null": field.nullable,
            "description": POINT_COLUMNS.get(field.name, _FORMULA),
        }
        for field in table.schema
    ]
    return dump_json({"format": FORMAT, "version": 1, "columns": columns})


_FORMULA: Final = (
    "steps per second that the formula predicts of workers without stragglers; null: no answer"
)


def _columns(rows: list[_Row]) -> Iterator[tuple[str, _Column]]:
    yield from _COLUMNS.items()
    for name in sorted({name for row in rows for name in row.point.baselines}):
        yield f"formula_{name}_steps_per_s", _Column(_NUMBER, _FORMULA, _formula(name), null=True)


def _csv_value(value: Any) -> Any:
    return str(value).lower() if isinstance(value, bool) else value
