"""What a simulation found, in sentences for a person."""

import math

from netcosim.results.bottleneck import bottleneck
from netcosim.results.measures import one_worker_rate
from netcosim.results.training import Estimate, Point, Series, TrainingSummary
from netcosim.results.verdict import percent

_DIGITS = 5


def findings(series: Series) -> tuple[str, ...]:
    """How fast with the most workers, what holds it up, and what workers do then."""
    if not series.points:
        return ("No run was finished.",)
    last = series.points[-1]
    return (_speed(series, last), _limit(series, last), _time(last))


def comparison(summary: TrainingSummary) -> str | None:
    """Which series is fastest at the most workers that all have; None of a single series."""
    if len(summary.series) < 2:
        return None
    common = set.intersection(*({p.workers for p in one.points} for one in summary.series))
    if not common:
        return None
    workers = max(common)
    ranked = sorted(
        ((_at(series, workers).examples_per_s, series.cell) for series in summary.series),
        key=lambda pair: -pair[0].mean,
    )
    (best, first), *others = ranked
    worst, last = others[-1]
    if _overlapping(best, worst):
        return f"With {workers} workers no difference between the cells shows in these runs."
    ratio = best.mean / worst.mean if worst.mean else math.inf
    return (
        f"With {_workers(workers)} {first} is fastest with {interval(best)} examples/s,"
        f" {ratio:.3g} times {last}, the slowest."
    )


def deviations(point: Point) -> dict[str, float]:
    """How far each formula that has an answer is off, as a share of the simulated throughput."""
    simulated = point.steps_per_s.mean
    if simulated <= 0:
        return {}
    return {
        name: value / simulated - 1
        for name, value in sorted(point.baselines.items())
        if value is not None
    }


def speed_up(point: Point, alone: float | None) -> float | None:
    """Throughput over that of one worker; None if that was not simulated."""
    return point.steps_per_s.mean / alone if alone else None


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
    gain = speed_up(last, one_worker_rate(series.points))
    if gain is not None and last.workers > 1:
        text += f", {gain:.3g} times one worker ({percent(gain / last.workers)} of ideal)"
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
        *([f"waits for other workers for {percent(time.waiting)}"] if time.waiting else []),
        *([f"waits within its step for {percent(time.idle)}"] if time.idle else []),
    ]
    return f"There a worker {', '.join(parts)}."


def _workers(count: int) -> str:
    return "1 worker" if count == 1 else f"{count} workers"


def _at(series: Series, workers: int) -> Point:
    return next(p for p in series.points if p.workers == workers)


def _overlapping(one: Estimate, other: Estimate) -> bool:
    return abs(one.mean - other.mean) <= (one.half_width or 0.0) + (other.half_width or 0.0)


def _place(value: float) -> int:
    """The power of ten of the first digit."""
    return math.floor(math.log10(abs(value))) if value else 0
