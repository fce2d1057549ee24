"""Columns of tables of a simulation's results, a row for each cell and number of workers."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Final

from netcosim.results.training.bottleneck import bottleneck
from netcosim.results.training.findings import speed_up
from netcosim.results.training.summary import (
    AsMeasured,
    CellSettings,
    Joined,
    LinkUse,
    Point,
    Series,
    TimeShares,
)

TEXT, WHOLE, NUMBER, FLAG = "string", "int64", "double", "bool"  # names of Arrow's types


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """Source of a row of a table: a point, or a single run as one.

    Attributes
    ----------
    scenario, seed, engine : of the simulation
    settings : what was simulated
    point : its results
    series : that it belongs to; None of a run
    """

    scenario: str
    seed: int
    engine: str
    settings: CellSettings
    point: Point
    series: Series | None = None


@dataclass(frozen=True, slots=True)
class Column:
    """A column: the name of its Arrow type, what it is, its value in a row."""

    kind: str
    description: str
    value: Callable[[Row], Any]
    null: bool = False


def _fullest(point: Point) -> LinkUse | None:
    return max(point.link_utilisation, key=lambda link: link.utilisation, default=None)


def _fullest_name(row: Row) -> str | None:
    link = _fullest(row.point)
    return None if link is None else f"server {link.server} {link.direction}"


def _fullest_use(row: Row) -> float | None:
    link = _fullest(row.point)
    return None if link is None else link.utilisation


def _saturated(row: Row) -> bool:
    found = None if row.series is None else row.series.saturation
    return found is not None and row.point.workers >= found.workers


def _speed_up(row: Row) -> float | None:
    if row.series is None or not row.series.alone.mean > 0:
        return None
    return speed_up(row.point, row.series.alone)


def _efficiency(row: Row) -> float | None:
    gain = _speed_up(row)
    return None if gain is None else gain / row.point.workers


def _bounds(name: str) -> Callable[[Row], float | None]:
    def figure(row: Row) -> float | None:
        found = row.point.step_bounds
        return None if found is None else getattr(found, name)

    return figure


def _joined(value: Callable[[Joined], float]) -> Callable[[Row], float | None]:
    def figure(row: Row) -> float | None:
        return None if row.point.joined is None else value(row.point.joined)

    return figure


def _time_share(mode: str) -> Callable[[Row], float]:
    def share(row: Row) -> float:
        return float(getattr(row.point.time, mode))

    return share


def _measured(value: Callable[[AsMeasured], Any]) -> Callable[[Row], Any]:
    def of(row: Row) -> Any:
        found = row.point.as_measured
        return None if found is None else value(found)

    return of


_AS_MEASURED: Final[Mapping[str, Column]] = MappingProxyType(
    {
        "measured_first_step": Column(
            WHOLE,
            "from 1, of those measured behind the common start; null: none are",
            _measured(lambda m: m.first),
            null=True,
        ),
        "measured_last_step": Column(
            WHOLE, "the last of them", _measured(lambda m: m.last), null=True
        ),
        "measured_examples_per_s": Column(
            NUMBER,
            "sum of the workers' own rates in these steps, mean over runs",
            _measured(lambda m: m.examples_per_s.mean),
            null=True,
        ),
        "measured_examples_per_s_half_width": Column(
            NUMBER,
            "half of its 95 % interval; null of a single run",
            _measured(lambda m: m.examples_per_s.half_width),
            null=True,
        ),
        "measured_steps_per_s": Column(
            NUMBER,
            "the same in steps, mean over runs",
            _measured(lambda m: m.steps_per_s.mean),
            null=True,
        ),
        "measured_steps_per_s_half_width": Column(
            NUMBER,
            "half of its 95 % interval; null of a single run",
            _measured(lambda m: m.steps_per_s.half_width),
            null=True,
        ),
        "measured_steps_per_s_sd": Column(
            NUMBER,
            "standard deviation of the runs; null of a single run",
            _measured(lambda m: m.sd_steps_per_s),
            null=True,
        ),
    }
)


POINT: Final[Mapping[str, Column]] = MappingProxyType(
    {
        "scenario": Column(TEXT, "the scenario's name", lambda r: r.scenario),
        "seed": Column(WHOLE, "its seed", lambda r: r.seed),
        "cell": Column(TEXT, "workload/transport", lambda r: r.settings.cell),
        "workload": Column(TEXT, "its name", lambda r: r.settings.workload),
        "transport": Column(TEXT, "its name", lambda r: r.settings.transport),
        "profile": Column(TEXT, "of which profile the steps are", lambda r: r.settings.profile),
        "batch": Column(WHOLE, "examples of one worker's step", lambda r: r.settings.batch),
        "servers": Column(WHOLE, "parameter servers", lambda r: r.settings.servers),
        "rate_bps": Column(
            WHOLE, "of a server's port, either direction", lambda r: r.settings.rate_bps
        ),
        "discipline": Column(
            TEXT,
            "how a connection shares its bytes among its messages",
            lambda r: r.settings.discipline,
        ),
        "window_bytes": Column(
            WHOLE,
            "a stream's window; null: flow control is off",
            lambda r: r.settings.window_bytes,
            null=True,
        ),
        "synchronisation": Column(
            TEXT, "asp, bsp, ssp or join", lambda r: r.settings.synchronisation
        ),
        "lead_steps": Column(
            WHOLE,
            "steps that a worker may be ahead of the slowest; null: any number",
            lambda r: r.settings.lead,
            null=True,
        ),
        "order": Column(
            TEXT, "in which a step's tensors are handed over", lambda r: r.settings.order
        ),
        "placement": Column(TEXT, "of tensors on servers", lambda r: r.settings.placement),
        "schedule": Column(
            TEXT,
            "when gradients are sent, with its options; null: at once",
            lambda r: r.settings.schedule,
            null=True,
        ),
        "share": Column(TEXT, "how connections share a link", lambda r: r.settings.share),
        "stragglers": Column(
            TEXT,
            "each in a few words, separated by semicolons; empty: none",
            lambda r: "; ".join(r.settings.stragglers),
        ),
        "workers": Column(WHOLE, "how many take part", lambda r: r.point.workers),
        "runs": Column(WHOLE, "runs that differ by their seed alone", lambda r: r.point.runs),
        "steps": Column(
            WHOLE, "of each worker in a run, warm-up included", lambda r: r.point.steps
        ),
        "warmup_steps": Column(
            WHOLE, "the first of these, which no figure counts", lambda r: r.point.warmup
        ),
        "left_out_steps": Column(
            NUMBER,
            "steps beyond the warm-up left out as the run had not settled, mean over runs",
            lambda r: r.point.left_out,
        ),
        "steady": Column(
            FLAG, "false: some run had not settled by half of its time", lambda r: r.point.steady
        ),
        "examples_per_s": Column(
            NUMBER,
            "examples that all workers together get through in a second, mean over runs",
            lambda r: r.point.examples_per_s.mean,
        ),
        "examples_per_s_half_width": Column(
            NUMBER,
            "half of its 95 % interval; null of a single run",
            lambda r: r.point.examples_per_s.half_width,
            null=True,
        ),
        "steps_per_s": Column(
            NUMBER,
            "steps that all workers together end in a second, mean over runs",
            lambda r: r.point.steps_per_s.mean,
        ),
        "steps_per_s_half_width": Column(
            NUMBER,
            "half of its 95 % interval; null of a single run",
            lambda r: r.point.steps_per_s.half_width,
            null=True,
        ),
        **_AS_MEASURED,
        "speed_up": Column(
            NUMBER,
            "steps_per_s over that of one worker alone without stragglers",
            _speed_up,
            null=True,
        ),
        "efficiency": Column(NUMBER, "speed_up over the number of workers", _efficiency, null=True),
        "saturated": Column(
            FLAG,
            "whether one more worker adds less than 5 % of what one alone does, from here on",
            _saturated,
        ),
        "step_mean_ns": Column(NUMBER, "how long steps took", lambda r: r.point.step_ns.mean),
        "step_median_ns": Column(NUMBER, "their median", lambda r: r.point.step_ns.median),
        "step_p95_ns": Column(NUMBER, "their 95th percentile", lambda r: r.point.step_ns.p95),
        "step_p99_ns": Column(NUMBER, "their 99th percentile", lambda r: r.point.step_ns.p99),
        "step_max_ns": Column(NUMBER, "the longest", lambda r: r.point.step_ns.max),
        **{
            f"time_{mode}": Column(
                NUMBER, f"share of the workers' time: {field.description}", _time_share(mode)
            )
            for mode, field in TimeShares.model_fields.items()
        },
        "overlap": Column(
            NUMBER,
            "share of the time with communication in which a worker also computes; null: none",
            lambda r: r.point.overlap,
            null=True,
        ),
        "worker_utilisation": Column(
            NUMBER,
            "share of time in which a worker computes, mean over the workers",
            lambda r: r.point.worker_utilisation,
        ),
        "straggler_ns": Column(
            NUMBER,
            "wait of a round's first worker for its last, mean; null: workers do not go in rounds",
            lambda r: r.point.straggler_ns,
            null=True,
        ),
        "bounds_efficiency": Column(
            NUMBER,
            "(U - m) / (U - L) of steps that take m, mean; null: not known, or U is L",
            _bounds("efficiency"),
            null=True,
        ),
        "bounds_speed_up": Column(
            NUMBER,
            "(U - L) / L, mean: what the best schedule could gain over the worst",
            _bounds("speed_up"),
            null=True,
        ),
        "bounds_upper_ns": Column(
            NUMBER,
            "U: a step's operations one after the other, mean",
            _bounds("upper_ns"),
            null=True,
        ),
        "bounds_lower_ns": Column(
            NUMBER,
            "L: a step's work of the resource that has most, mean",
            _bounds("lower_ns"),
            null=True,
        ),
        "joined_ignored": Column(
            NUMBER,
            "share of steps whose gradients no update counted; null: none are joined",
            _joined(lambda j: j.ignored),
            null=True,
        ),
        "joined_partly": Column(
            NUMBER,
            "share of steps whose gradients some updates counted, and others did not",
            _joined(lambda j: j.partly),
            null=True,
        ),
        "joined_least_weight": Column(
            NUMBER,
            "of all gradients that were used, the part of the worker with the fewest",
            _joined(lambda j: min(j.weights)),
            null=True,
        ),
        "joined_largest_weight": Column(
            NUMBER,
            "of all gradients that were used, the part of the worker with the most",
            _joined(lambda j: max(j.weights)),
            null=True,
        ),
        "fullest_link": Column(
            TEXT, "such as server 0 down; null: no link is used", _fullest_name, null=True
        ),
        "fullest_link_utilisation": Column(
            NUMBER, "bytes moved over what its rate allows", _fullest_use, null=True
        ),
        "bottleneck": Column(
            TEXT,
            "a link such as server 0 down or all servers up, workers, network, waiting, none",
            lambda r: bottleneck(r.point).name,
        ),
        "bottleneck_share": Column(
            NUMBER,
            "its utilisation, or the share of a worker's time that it takes",
            lambda r: bottleneck(r.point).share,
        ),
        "engine": Column(
            TEXT, "fast or generic; both give the same figures", lambda r: r.point.engine
        ),
        "engine_hash": Column(
            TEXT,
            "of the simulator's source: equal ones give equal figures",
            lambda r: r.engine,
        ),
    }
)
