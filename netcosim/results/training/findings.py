"""Findings of a simulation, in sentences for a person."""

import math
from collections.abc import Iterable, Sequence
from typing import Final

from netcosim.formatting import percent
from netcosim.results.training.bottleneck import bottleneck
from netcosim.results.training.summary import (
    Change,
    Estimate,
    Point,
    Recommendation,
    Series,
    TrainingSummary,
)
from netcosim.scenario.unstudied_releases import not_studied_text
from netcosim.units import format_rate

_DIGITS: Final = 5
_LEAST: Final = 0.005
"""Smaller shares of time are not named, nor smaller differences."""

_FAR: Final = 0.02
"""Difference from the settled rate from which on a short measurement is told to be off."""

_WIDE: Final = 0.1
"""Half width of an interval, over its mean, above which the runs have little in common."""


NO_INTERVAL: Final = "Single runs have no interval."


def has_intervals(several: Iterable[Series]) -> bool:
    """True if some throughput has an interval: it is of several runs."""
    points = (point for series in several for point in series.points)
    return any(point.examples_per_s.half_width is not None for point in points)


def findings(series: Series) -> tuple[str, ...]:
    """The recommendation in sentences, where there is one, and what else was found."""
    return (*recommended(series), *observed(series))


def recommended(series: Series) -> tuple[str, ...]:
    """The recommendation in sentences; none if no runs were made for one."""
    found = series.recommendation
    return () if found is None else recommendation_sentences(found)


def observed(series: Series) -> tuple[str, ...]:
    """Sentences on throughput, bottleneck and workers' time with the most workers, and caveats.

    A recommendation has said what the bottleneck is.
    """
    if not series.points:
        return ("No run was finished.",)
    last = series.points[-1]
    limit = () if series.recommendation is not None else (_limit(series, last),)
    said = (_speed(series, last), *limit, _time(last))
    beside = (*_in_step(series), *_unstudied(series), *_unsettled(series), *_apart(series))
    return (*said, *beside)


def recommendation_sentences(found: Recommendation) -> tuple[str, ...]:
    """Sentences of a recommendation: workers to take and why, gains of one step more of each."""
    count, figures = _workers(found.workers), interval(found.examples_per_s)
    if found.reached:
        first = (
            f"Take {count}: {figures} examples/s; one more adds less than 5 % of what one alone"
            f" does, as {found.bottleneck}."
        )
    else:
        first = (
            f"Take {count} or more: {figures} examples/s; more were not simulated, and of"
            f" those that were each is of use. There {found.bottleneck}."
        )
    return (first, *_changes(best_first(found.changes)))


def best_first(changes: Sequence[Change]) -> list[Change]:
    """The changes by what they gain, the most first; those within the intervals come last."""
    return sorted(changes, key=lambda one: (not one.beyond, -one.gain))


def remark(change: Change) -> str:
    """What stands beside a change in a table, where its runs do not show it beyond chance."""
    if change.examples_per_s.half_width is None:
        return "a single run"
    return "" if change.beyond else "within the intervals"


def change_text(change: Change) -> str:
    """A change in a few words: ``rate 1 Gbit/s -> 2 Gbit/s``."""
    return f"{change.what} {change.before} -> {change.after}"


def _changes(ranked: Sequence[Change]) -> tuple[str, ...]:
    """Sentences on changes that were ranked: what helps most, what else does, what does not."""
    helps = [one for one in ranked if one.beyond and one.gain >= _LEAST]
    harms = [one for one in ranked if one.beyond and one.gain <= -_LEAST]
    little = [one for one in ranked if one.beyond and abs(one.gain) < _LEAST]
    single = [one for one in ranked if one.examples_per_s.half_width is None]
    alike = [one for one in ranked if not one.beyond and one not in single]
    said = []
    if helps:
        best, *others = helps
        text = f"One step more: {change_text(best)} {'helps most' if others else 'helps'}"
        text += f" ({signed(best.gain)}: {interval(best.examples_per_s)} examples/s)"
        said.append("; ".join([text, *(_with_gain(one) for one in others)]) + ".")
    if little:
        said.append(f"Less than {100 * _LEAST:g} % with {_listed(map(change_text, little))}.")
    if alike:
        said.append(f"No difference beyond chance shows with {_listed(map(change_text, alike))}.")
    if single:
        gains = "; ".join(map(_with_gain, single))
        said.append(f"One step more, by single runs, which may differ by chance: {gains}.")
    if harms:
        said.append(f"Slower with {_listed(map(_with_gain, harms))}.")
    return tuple(said)


def _with_gain(change: Change) -> str:
    return f"{change_text(change)} ({signed(change.gain)})"


def _listed(texts: Iterable[str]) -> str:
    """Several things as one clause: ``a, b or c``."""
    *first, last = texts
    return f"{', '.join(first)} or {last}" if first else last


def formulas_note(series: Series) -> str | None:
    """Caveat on the formulas beside these figures; None if there is none."""
    if not series.stragglers:
        return None
    return "Formulas know nothing of stragglers; where one is faster, perfect_overlap is no bound."


def one_worker(series: Series) -> str:
    """Baseline of speed-up and efficiency, in words."""
    return "one worker without stragglers" if series.stragglers else "one worker"


def comparisons(summary: TrainingSummary) -> tuple[str, ...]:
    """For each workload on several transports the fastest, at the most workers that all have."""
    return tuple(
        sentence
        for workload, several in by_workload(summary).items()
        for sentence in [_compared(workload, several)]
        if sentence is not None
    )


def by_workload(summary: TrainingSummary) -> dict[str, list[Series]]:
    """The series that can be compared, in their order: those of one workload at one rate.

    They are named by the workload, and by the rate where there are several.
    """
    rates = {series.rate_bps for series in summary.series}
    groups: dict[str, list[Series]] = {}
    for series in summary.series:
        at = f" at {format_rate(series.rate_bps)}" if len(rates) > 1 else ""
        groups.setdefault(f"{series.workload}{at}", []).append(series)
    return groups


def _in_step(series: Series) -> tuple[str, ...]:
    """Sentence on a measurement behind the common start that is off the settled rate.

    With the most workers with which both differ by more than chance and by more than `_FAR`.
    """
    for point in reversed(series.points):
        measured, settled = point.as_measured, point.examples_per_s
        if measured is None or settled.mean <= 0:
            continue
        off = measured.examples_per_s.mean / settled.mean - 1
        if abs(off) > _FAR and not _overlapping(measured.examples_per_s, settled):
            steps = f"steps {measured.first} to {measured.last}"
            if measured.first == measured.last:
                steps = f"step {measured.first}"
            side = "below" if off < 0 else "above"
            return (
                f"With {_workers(point.workers)} {steps} behind the common start would measure"
                f" {interval(measured.examples_per_s)} examples/s, {percent(abs(off))} {side} the"
                " settled rate.",
            )
    return ()


def _unstudied(series: Series) -> tuple[str, ...]:
    """Sentence on ends that were simulated by the rule of another release."""
    text = not_studied_text(series.not_studied)
    return () if text is None else (f"{text}; its rule was assumed, not measured.",)


def _unsettled(series: Series) -> tuple[str, ...]:
    """Sentence on points whose runs were too short to reach the steady state."""
    found = [str(p.workers) for p in series.points if not p.steady]
    if not found:
        return ()
    return (
        f"With {', '.join(found)} workers some run had not settled by half of its time:"
        " take these figures as of the beginning, or give it more steps.",
    )


def _apart(series: Series) -> tuple[str, ...]:
    """Sentence on points whose runs are so far apart that their mean says little."""
    wide = [p for p in series.points if _half(p) > _WIDE * p.examples_per_s.mean]
    if not wide:
        return ()
    worst = max(wide, key=lambda p: _half(p) / p.examples_per_s.mean)
    low, high = min(worst.examples_per_s.values), max(worst.examples_per_s.values)
    return (
        f"With {_many_workers(wide)} runs are far apart (with"
        f" {worst.workers} from {low:.3g} to {high:.3g} examples/s): their mean says little; more"
        " steps may say more.",
    )


def _many_workers(points: Sequence[Point]) -> str:
    if len(points) == 1:
        return _workers(points[0].workers)
    return f"{', '.join(str(point.workers) for point in points)} workers"


def _half(point: Point) -> float:
    return point.examples_per_s.half_width or 0.0


def _compared(workload: str, several: list[Series]) -> str | None:
    common = set.intersection(*({p.workers for p in one.points} for one in several))
    if len(several) < 2 or not common:
        return None
    workers = max(common)
    ranked = sorted(
        ((_at(series, workers).examples_per_s, series.transport) for series in several),
        key=lambda pair: -pair[0].mean,
    )
    (best, first), (worst, last) = ranked[0], ranked[-1]
    where = f"{workload}, {_workers(workers)}"
    if _overlapping(best, worst) or worst.mean <= 0:
        return f"{where}: no difference between the transports shows in these runs."
    if best.mean / worst.mean - 1 < _LEAST:
        return f"{where}: the transports are within {percent(_LEAST)} of each other."
    return (
        f"{where}: {first} is fastest with {interval(best)} examples/s,"
        f" {best.mean / worst.mean:.3g} times {last}{', the slowest' if len(several) > 2 else ''}."
    )


def deviations(point: Point) -> dict[str, float]:
    """Deviation of each formula that has an answer, as a share of the simulated throughput."""
    simulated = point.steps_per_s.mean
    if simulated <= 0:
        return {}
    return {
        name: value / simulated - 1
        for name, value in sorted(point.baselines.items())
        if value is not None
    }


def speed_up(point: Point, alone: Estimate) -> float:
    """Throughput over that of one worker without stragglers."""
    return point.steps_per_s.mean / alone.mean


def interval(estimate: Estimate) -> str:
    """Mean and half width with as many digits as the interval allows: ``812 +- 3``."""
    mean, half = estimate.mean, estimate.half_width
    if not half:
        return f"{mean:.{_DIGITS - 1}g}"
    places = max(0, min(1 - _place(half), _DIGITS - 1 - _place(mean)))
    unit = 10.0**-places
    # Rounded up, so that no interval looks narrower than it is.
    shown = math.ceil(half / unit * (1 - 1e-9)) * unit
    return f"{mean:.{places}f} +- {shown:.{places}f}"


def signed(share: float) -> str:
    """A difference as per cent with its sign: ``+12 %``, ``-0.4 %``."""
    text = percent(abs(share))
    return text if text == "0 %" else f"{'-' if share < 0 else '+'}{text}"


def rate_text(rate: float) -> str:
    """A rate with four digits and no fewer than that: ``7.850``, ``1234``."""
    return f"{rate:.{max(0, 3 - _place(rate))}f}"


def _speed(series: Series, last: Point) -> str:
    text = (
        f"{_workers(last.workers)}: {interval(last.examples_per_s)} examples/s"
        f" ({rate_text(last.steps_per_s.mean)} steps/s)"
    )
    if last.workers > 1 or series.stragglers:
        gain = speed_up(last, series.alone)
        text += f", {gain:.3g} times {one_worker(series)} ({percent(gain / last.workers)} of ideal)"
    return f"{text}."


def _limit(series: Series, last: Point) -> str:
    if series.saturation is not None:
        found = series.saturation
        return (
            f"From {_workers(found.workers)} on one more adds less than 5 % of what one alone"
            f" does: {found.reason}."
        )
    if len(series.points) == 1:
        return f"Here {bottleneck(last).text}."
    return (
        f"Up to {_workers(last.workers)} each further one is of use; there {bottleneck(last).text}."
    )


def _time(last: Point) -> str:
    time = last.time
    network = time.receiving + time.sending + time.receiving_sending
    parts = [
        f"computes for {percent(last.worker_utilisation)} of its time",
        f"only sends or receives for {percent(network)}",
        *([f"waits for other workers for {percent(time.waiting)}"] if _seen(time.waiting) else []),
        *([f"waits within its step for {percent(time.idle)}"] if _seen(time.idle) else []),
    ]
    who = "The worker" if last.workers == 1 else f"With {last.workers} workers each"
    return f"{who} {', '.join(parts)}."


def _seen(share: float) -> bool:
    return share >= _LEAST


def _workers(count: int) -> str:
    return "1 worker" if count == 1 else f"{count} workers"


def _at(series: Series, workers: int) -> Point:
    return next(p for p in series.points if p.workers == workers)


def _overlapping(one: Estimate, other: Estimate) -> bool:
    return abs(one.mean - other.mean) <= (one.half_width or 0.0) + (other.half_width or 0.0)


def _place(value: float) -> int:
    """The power of ten of the first digit."""
    return math.floor(math.log10(abs(value))) if value else 0
