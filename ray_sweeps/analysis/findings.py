"""The answer of a sweep in sentences."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from netcosim.formatting import one_line, percent
from netcosim.results.training.findings import interval, signed
from netcosim.results.training.summary import Estimate
from ray_sweeps.analysis.levels import Value, number_text, value_text
from ray_sweeps.analysis.summary import (
    BestConfiguration,
    Configuration,
    FactorEffect,
    Front,
    MainEffects,
    StragglerImpact,
    SweepSummary,
)

_NAMED: Final = 2
_LITTLE: Final = 0.005
_MOST_FACTORS: Final = 4
_MOST_GIVEN: Final = 6
_MOST_ENSEMBLES: Final = 6


def sentences(summary: SweepSummary) -> tuple[str, ...]:
    """Best configuration, what it costs, what matters most, stragglers, failures."""
    if not summary.finished_points:
        return tuple(_failed(summary))
    if summary.given:
        said = list(_given(summary))
    else:
        said = list(_fastest(summary.best[0], summary.finished_points))
        said += [_priced(found) for found in summary.best if found.prices is not None]
        said += [text for front in summary.fronts for text in _knee(front)]
    if summary.effects is not None:
        said += _effects(summary.effects)
    said += _stragglers(summary.straggler_impact)
    return (*said, *_failed(summary))


def configuration_text(factors: Mapping[str, Value]) -> str:
    """Values of factors in one line: ``workers 8, rate 10gbit``; those not varied are left out."""
    return ", ".join(
        f"{name} {value_text(value)}" for name, value in factors.items() if value is not None
    )


def chosen_text(found: Configuration, condition: Mapping[str, str]) -> str:
    """Values of the factors that a condition leaves to choose."""
    chosen = {name: value for name, value in found.factors.items() if name not in condition}
    return configuration_text(chosen) or "the only one"


def rate_of(found: Configuration) -> str:
    """Throughput with its interval: ``812 +- 3``."""
    estimate = Estimate(mean=found.examples_per_s, half_width=found.half_width, values=())
    return interval(estimate)


def cost_text(cost: float, unit: str | None) -> str:
    """A cost with its unit, if it has one."""
    return f"{number_text(cost)} {unit or ''}".rstrip()


def _fastest(found: BestConfiguration, finished: int) -> Iterator[str]:
    best = found.best
    if finished == 1:
        yield f"The only point: {rate_of(best)} examples/s ({_many(best.runs, 'run')})."
        return
    where = configuration_text(best.factors)
    yield f"Fastest: {where} with {rate_of(best)} examples/s ({_many(best.runs, 'run')})."
    if not found.compared:
        yield "Points have a single run in common: which others are within noise is not known."
    elif found.equal_count:
        named = "; ".join(configuration_text(e.factors) for e in found.equal[:_NAMED])
        more = found.equal_count - min(_NAMED, len(found.equal))
        rest = f"; and {more} more" if more else ""
        are = "1 other is" if found.equal_count == 1 else f"{found.equal_count} others are"
        yield f"{are} within noise of it: {named}{rest}."
    else:
        yield "No other is within noise of it."


def _given(summary: SweepSummary) -> Iterator[str]:
    """Sentences of the best point of each of the first conditions."""
    conditions = list(
        dict.fromkeys(configuration_text(b.condition) for b in summary.best if b.condition)
    )
    for condition in conditions[:_MOST_GIVEN]:
        fastest, *priced = (b for b in summary.best if configuration_text(b.condition) == condition)
        yield _fastest_with(condition, fastest)
        yield from map(_priced, priced)
        for front in summary.fronts:
            if configuration_text(front.condition) == condition:
                yield from _knee(front)
    rest = len(conditions) - _MOST_GIVEN
    if rest > 0:
        yield f"{rest} more combinations of {', '.join(summary.given)} are in the table."


def _fastest_with(condition: str, found: BestConfiguration) -> str:
    noise = ""
    if not found.compared:
        noise = " (what is within noise of it is not known: runs are single)"
    elif found.equal_count:
        are = "is" if found.equal_count == 1 else "are"
        noise = f"; {_many(found.equal_count, 'other')} {are} within noise of it"
    chosen = chosen_text(found.best, found.condition)
    return f"With {condition} the fastest is {chosen}: {rate_of(found.best)} examples/s{noise}."


def _priced(found: BestConfiguration) -> str:
    assert found.cost is not None
    best = found.best
    each, unit = best.examples_per_s / found.cost, found.unit or "unit of cost"
    equal = f"; {found.equal_count} more within noise" if found.equal_count else ""
    return (
        f"Most for its price ({found.prices}): {chosen_text(best, found.condition)}"
        f" with {rate_of(best)} examples/s for"
        f" {cost_text(found.cost, found.unit)}, which is {number_text(each)} for each {unit}"
        f"{equal}."
    )


def _knee(front: Front) -> Iterator[str]:
    first, last = front.points[0], front.points[-1]
    if len(front.points) == 1:
        return
    ends = f"{number_text(first.cost)} to {cost_text(last.cost, front.unit)}"
    if front.knee is None:
        yield (
            f"Pareto front ({front.prices}): {len(front.points)} costs from {ends}, without a clear"
            " knee."
        )
        return
    point = front.points[front.knee]
    part = point.configuration.examples_per_s / last.configuration.examples_per_s
    yield (
        f"Pareto front ({front.prices}): {len(front.points)} costs from {ends}; its knee"
        f" is {chosen_text(point.configuration, front.condition)} at"
        f" {cost_text(point.cost, front.unit)}: {percent(part)} of the throughput of the"
        f" dearest for {percent(point.cost / last.cost)} of its cost."
    )


def _effects(effects: MainEffects) -> Iterator[str]:
    clear = [e for e in effects.factors if e.method != "confounded"]
    seen = [e for e in clear if e.spread >= _LITTLE]
    if seen:
        first, *others = seen[:_MOST_FACTORS]
        text = f"What matters most is {_names(first)}: {_range(first)}"
        if others:
            text += "; then " + ", ".join(f"{_names(e)} ({percent(e.spread)})" for e in others)
        how = "" if effects.balanced else ", by least squares, as the design is not balanced"
        yield f"{text}. Shares are of the mean over all points{how}."
    if effects.explained is not None and len(clear) > 1 and effects.explained < 0.9:
        yield (
            f"One by one the factors explain {percent(effects.explained)} of the variance among"
            " points; the rest is what they do together."
        )
    little = [_names(e) for e in clear if e.spread < _LITTLE]
    if little:
        yield f"Of less than {100 * _LITTLE:g} %: {', '.join(little)}."
    mixed = [_names(e) for e in effects.factors if e.method == "confounded"]
    if mixed:
        yield f"These points can't tell the effect of {', '.join(mixed)} from that of others."


def _range(effect: FactorEffect) -> str:
    low = min(effect.levels, key=lambda level: level.effect)
    high = max(effect.levels, key=lambda level: level.effect)
    return (
        f"{percent(effect.spread)} between {low.value} ({signed(low.effect)}) and {high.value}"
        f" ({signed(high.effect)})"
    )


def _names(effect: FactorEffect) -> str:
    return " with ".join(effect.factors)


def _stragglers(rows: Sequence[StragglerImpact]) -> Iterator[str]:
    """Each ensemble, with the mean share of the throughput that each synchronisation keeps."""
    groups: dict[Value, dict[str, list[StragglerImpact]]] = {}
    for row in rows:
        name = row.factors.get("straggler", "all")
        groups.setdefault(name, {}).setdefault(row.synchronisation, []).append(row)
    if not groups:
        return
    shown = list(groups.items())[:_MOST_ENSEMBLES]
    parts = []
    for name, kept in shown:
        ratios = [f"{how} {percent(_mean_ratio(found))}" for how, found in sorted(kept.items())]
        parts.append(f"{name} {', '.join(ratios)}")
    rest = len(groups) - len(shown)
    more = f"; {rest} more in the table" if rest else ""
    counts = {sum(row.points for row in found) for _, kept in shown for found in kept.values()}
    over = f"{min(counts)} to {max(counts)}" if len(counts) > 1 else f"{min(counts)}"
    yield (
        "Throughput that stragglers leave, against the same points without them (means over"
        f" {over} points): {'; '.join(parts)}{more}."
    )


def _mean_ratio(rows: Sequence[StragglerImpact]) -> float:
    return sum(row.ratio * row.points for row in rows) / sum(row.points for row in rows)


def _failed(summary: SweepSummary) -> Iterator[str]:
    if not summary.failed_runs:
        return
    points = summary.points - summary.finished_points
    most = summary.failures[0]
    whole = f"; {_many(points, 'point')} without any figures" if points else ""
    count = f"{summary.failed_runs} of {_many(summary.runs, 'run')} failed"
    if summary.failed_runs == summary.runs:
        count, whole = f"All {summary.runs} runs failed", ""
    often = "" if len(summary.failures) == 1 else " most often"
    yield f"{count}{whole};{often} with: {one_line(most.error)}"


def _many(count: int, noun: str) -> str:
    return f"1 {noun}" if count == 1 else f"{count} {noun}s"
