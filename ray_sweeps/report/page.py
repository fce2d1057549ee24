"""HTML page of a sweep: the values that its template is filled with."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Final

from jinja2 import ChoiceLoader, PackageLoader

from netcosim.formatting import percent
from netcosim.report.page_parts import Banner, environment
from netcosim.results.training.findings import signed
from ray_sweeps.analysis.dataset import MAIN
from ray_sweeps.analysis.findings import chosen_text, configuration_text, cost_text, rate_of
from ray_sweeps.analysis.levels import number_text
from ray_sweeps.analysis.outcomes import Outcomes
from ray_sweeps.analysis.points import HALF
from ray_sweeps.analysis.summary import (
    BestConfiguration,
    Configuration,
    FactorRange,
    Front,
    StragglerImpact,
    SweepSummary,
)
from ray_sweeps.evaluation import FACTOR
from ray_sweeps.report.curves import Picture

_MOST_ROWS: Final = 40
_TOP: Final = 10
_UNKNOWN: Final = "-"


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """A table: its headings, each with whether it is of numbers; rows, each with a mark."""

    title: str
    text: str
    headings: Sequence[tuple[str, bool]]
    rows: Sequence[tuple[bool, Sequence[str]]]


@dataclass(frozen=True, slots=True)
class _Named:
    """Data that the base template of reports needs."""

    name: str = field(default="")


def render_sweep(
    outcomes: Outcomes, pictures: Iterable[Picture], files: Iterable[tuple[str, str]]
) -> str:
    """The whole page as HTML."""
    summary = outcomes.summary
    filled = environment()
    base = filled.loader
    assert base is not None
    filled.loader = ChoiceLoader([PackageLoader("ray_sweeps.report"), base])
    filled.filters["typeset"] = _typeset
    return filled.get_template("sweep.html.j2").render(
        data=_Named(summary.sweep),
        heading=_heading(summary),
        lead=summary.description,
        banners=_banners(summary),
        findings=summary.findings,
        facts=_facts(summary),
        notes=summary.reasons if summary.trusted and summary.complete else (),
        pictures=list(pictures),
        tables=[table for table in _tables(outcomes) if table.rows],
        engines=", ".join(summary.engines),
        machine=[],
        files=list(files),
    )


def _heading(summary: SweepSummary) -> str:
    varied = [each for each in summary.factors if each.count > 1]
    what = ", ".join(each.name for each in varied) or "nothing varied"
    return f"{_many(summary.points, 'point')}: {what}"


def _banners(summary: SweepSummary) -> list[Banner]:
    if not summary.trusted:
        return [("untrusted", "Do not trust these figures", summary.reasons)]
    if not summary.complete:
        return [("incomplete", "Parts of the dataset can't be read", summary.reasons)]
    return []


def _facts(summary: SweepSummary) -> list[str]:
    counts = [_many(summary.points, "point"), _many(summary.runs, "run")]
    if summary.failed_runs:
        counts.append(f"{summary.failed_runs} failed")
    return [*counts, *(_values(each) for each in summary.factors)]


def _values(factor: FactorRange) -> str:
    between = ", " if len(factor.values) == factor.count else " to "
    many = "" if len(factor.values) == factor.count else f" ({factor.count} values)"
    return f"{factor.name}: {between.join(factor.values)}{many}"


def _tables(outcomes: Outcomes) -> list[Table]:
    summary = outcomes.summary
    return [
        _top(outcomes),
        _conditions(summary.best),
        *(_front(front) for front in summary.fronts),
        _effects(summary),
        _impacts(summary.straggler_impact),
        _failures(summary),
    ]


def _top(outcomes: Outcomes) -> Table:
    points = outcomes.points
    overall = outcomes.summary.best[:1]
    equal = {each.key for found in overall for each in (found.best, *found.equal)}
    first = points.finished.sort(MAIN, "point", descending=[True, False]).head(_TOP)
    rows = []
    for row in first.iter_rows(named=True):
        gain, short = row["speed_up"], row.get("bottleneck")
        found = Configuration(
            key=row["key"],
            factors={name: row[FACTOR + name] for name in points.varied},
            examples_per_s=row[MAIN],
            half_width=row[MAIN + HALF],
            runs=row["runs"],
        )
        cells = [
            configuration_text(found.factors) or "the only one",
            rate_of(found),
            str(found.runs),
            _UNKNOWN if gain is None else f"{gain:.2f}",
            _UNKNOWN if short in (None, "none") else str(short),
        ]
        rows.append((row["key"] in equal, cells))
    return Table(
        title="The fastest points",
        text="Marked: the fastest, and the first of those within noise of it. Speed-up: over one"
        " worker with else the same values. All points are in points.csv.",
        headings=[
            ("point", False),
            ("examples/s", True),
            ("runs", True),
            ("speed-up", True),
            ("bottleneck", False),
        ],
        rows=rows,
    )


def _conditions(found: Iterable[BestConfiguration]) -> Table:
    by_condition = [one for one in found if one.condition]
    priced = any(one.prices is not None for one in by_condition)
    rows = [
        (False, [*_best_cells(one), *([_price_cell(one)] if priced else [])])
        for one in by_condition
    ]
    return Table(
        title="The best for each condition",
        text="Of what is given rather than chosen: which configuration is best with it."
        + _cut(len(rows)),
        headings=[
            ("condition", False),
            ("best", False),
            ("examples/s", True),
            ("others within noise", True),
            *([("by", False)] if priced else []),
        ],
        rows=rows[:_MOST_ROWS],
    )


def _best_cells(one: BestConfiguration) -> list[str]:
    return [
        configuration_text(one.condition),
        chosen_text(one.best, one.condition),
        rate_of(one.best),
        str(one.equal_count),
    ]


def _price_cell(one: BestConfiguration) -> str:
    """By which score it is the best."""
    if one.cost is None:
        return "throughput"
    each = number_text(one.best.examples_per_s / one.cost)
    return f"throughput per cost, {one.prices}: {each} for each {one.unit or 'unit'}"


def _front(front: Front) -> Table:
    where = configuration_text(front.condition)
    rows = []
    for place, point in enumerate(front.points):
        more = f" (or {point.same} more just like it)" if point.same else ""
        cells = [
            cost_text(point.cost, front.unit),
            chosen_text(point.configuration, front.condition) + more,
            rate_of(point.configuration),
            number_text(point.configuration.examples_per_s / point.cost) if point.cost else "-",
            "" if point.beyond else "within noise",
        ]
        rows.append((place == front.knee, cells))
    return Table(
        title=f"Pareto front: {front.prices}" + (f", {where}" if where else ""),
        text="No other point is both faster and cheaper. Within noise: of the one before it."
        + (" Marked: the knee." if front.knee is not None else "")
        + _cut(len(rows)),
        headings=[
            ("cost", True),
            ("configuration", False),
            ("examples/s", True),
            ("for each unit of cost", True),
            ("", False),
        ],
        rows=rows[:_MOST_ROWS] if len(rows) > 1 else [],
    )


def _effects(summary: SweepSummary) -> Table:
    found = summary.effects
    rows = []
    for effect in () if found is None else found.factors:
        low = min(effect.levels, key=lambda level: level.effect)
        high = max(effect.levels, key=lambda level: level.effect)
        rho = effect.rank_correlation
        cells = [
            ", ".join(effect.factors),
            percent(effect.spread),
            f"{low.value}: {signed(low.effect)}",
            f"{high.value}: {signed(high.effect)}",
            _UNKNOWN if rho is None else f"{rho:+.2f}",
            effect.method,
        ]
        rows.append((False, cells))
    share = None if found is None else found.explained
    return Table(
        title="Main effects",
        text="Shares are of the mean over all points."
        + (
            ""
            if share is None
            else f" One by one the factors explain {percent(share)} of the variance among points."
        ),
        headings=[
            ("factor", False),
            ("spread", True),
            ("lowest", False),
            ("highest", False),
            ("rank correlation", True),
            ("by", False),
        ],
        rows=rows,
    )


def _impacts(found: Sequence[StragglerImpact]) -> Table:
    rows = [
        (
            False,
            [
                configuration_text(one.factors) or "all",
                one.synchronisation,
                percent(one.ratio),
                _UNKNOWN if one.half_width is None else percent(one.half_width),
                str(one.points),
            ],
        )
        for one in found
    ]
    return Table(
        title="What stragglers leave of the throughput",
        text="Of the same points without stragglers, run by run, as a mean over the points that"
        " differ in other factors." + _cut(len(rows)),
        headings=[
            ("stragglers", False),
            ("synchronisation", False),
            ("kept", True),
            ("+-", True),
            ("points", True),
        ],
        rows=rows[:_MOST_ROWS],
    )


def _failures(summary: SweepSummary) -> Table:
    return Table(
        title="What failed",
        text="Runs with an error have no figures, and do not count.",
        headings=[("error", False), ("points", True), ("runs", True)],
        rows=[(False, [one.error, str(one.points), str(one.runs)]) for one in summary.failures],
    )


def _cut(rows: int) -> str:
    return f" {rows - _MOST_ROWS} more rows are in summary.json." if rows > _MOST_ROWS else ""


def _many(count: int, noun: str) -> str:
    return f"1 {noun}" if count == 1 else f"{count} {noun}s"


def _typeset(text: str) -> str:
    """Text with typographic signs in place of ASCII ones."""
    return text.replace(" +- ", " \N{PLUS-MINUS SIGN} ")
