"""Figures of the attempts, by stratum: the listed cells and the drawn ones apart."""

from collections.abc import Iterator, Sequence
from typing import Any, Final

import numpy as np

from bench.common.record import Figure, at_least, at_most
from bench.crosscheck.attempts import Attempt
from netcosim.results.training.job_summary import BUSY_MOST
from sim.sealing.ensemble import LARGE_SD

Point = dict[str, Any]

BSP_MOST: Final = 0.5
ASP_MOST: Final = 1.0
INSIDE_LEAST: Final = 90.0
FIFO_MEDIAN: Final = 2.0
REAL_MOST: Final = 5.0
LOST_MOST: Final = 0.01
STREAMS_MOST: Final = 0.5
MEDIAN_MOST: Final = 2.0
P95_MOST: Final = 5.0
TELLING: Final = 0.1
TELLING_CELLS: Final = 25


def figures_of(attempts: Sequence[Attempt]) -> list[Figure]:
    """Figures of the newest attempt at each cell."""
    newest = list({attempt.cell: attempt for attempt in attempts}.values())
    found: list[Figure] = []
    for drawn in (False, True):
        chosen = [a for a in newest if a.properties["drawn"] == drawn]
        if chosen:
            found += _figures(chosen, "drawn" if drawn else "listed")
    return found


def _figures(attempts: Sequence[Attempt], which: str) -> Iterator[Figure]:
    failed = sum(attempt.checked is None for attempt in attempts)
    yield Figure(
        name=f"{which}: cells",
        value=len(attempts),
        unit="cells",
        note=f"{failed} failed" if failed else "",
    )
    yield Figure(
        name=f"{which}: points",
        value=len(list(_points(attempts))),
        unit="points",
        note="a cell with a number of workers",
    )
    virtual = [a for a in attempts if not _is_real(a)]
    fair = [(a, p) for a, p in _points(virtual) if _is_fair(a)]
    together = ("bsp", "join")
    yield from _bsp([p for a, p in fair if a.properties["rule"] in together], which)
    yield from _asynchronous([p for a, p in fair if a.properties["rule"] not in together], which)
    far = [p for a, p in _points(virtual) if not _is_fair(a)]
    yield from _rest(far, which)
    yield from _steps([p for _, p in fair], which)
    yield from _largest(far, f"{which}: fifo and delay")
    real = [p for a, p in _points(attempts) if _is_real(a)]
    yield from _real(real, which)
    yield from _largest(real, f"{which}: by the machine's clock")
    telling = {a.cell for a, p in _points(attempts) if _tells(p)}
    yield at_least(
        f"{which}: cells in which another discipline or order is off by 10 %",
        len(telling),
        "cells",
        TELLING_CELLS,
    )


def _bsp(points: Sequence[Point], which: str) -> Iterator[Figure]:
    if points:
        errors = [100 * abs(p["error"]) for p in points]
        note = f"{len(points)} points, median {np.median(errors):.2g} %"
        name = f"{which}: fair, bsp and join: largest error"
        yield at_most(name, max(errors), "%", BSP_MOST, note)


def _asynchronous(points: Sequence[Point], which: str) -> Iterator[Figure]:
    steady = [p for p in points if p["sd"] <= LARGE_SD]
    if steady:
        over = [100 * (abs(p["error"]) - 2 * p["sd"]) for p in steady]
        note = f"{len(steady)} points, {sum(o <= ASP_MOST for o in over)} within"
        name = f"{which}: fair, asp and ssp: largest error less 2 sd, where the sd is small"
        yield at_most(name, max(over), "%", ASP_MOST, note)
    other = [p for p in points if p["sd"] > LARGE_SD]
    if other:
        inside = [p["low"] <= p["measured"] <= p["high"] for p in other]
        name = f"{which}: fair, asp and ssp: inside the range, where the sd is large"
        yield at_least(
            name, 100 * float(np.mean(inside)), "%", INSIDE_LEAST, f"{len(other)} points"
        )


def _rest(points: Sequence[Point], which: str) -> Iterator[Figure]:
    if points:
        errors = [100 * abs(p["error"]) for p in points]
        note = f"{len(points)} points, largest {max(errors):.2g} %"
        name = f"{which}: fifo and delay: median error"
        yield at_most(name, float(np.median(errors)), "%", FIFO_MEDIAN, note)
    followed = [p for p in points if p.get("simulated_error") is not None]
    if followed:
        errors = [100 * abs(p["simulated_error"]) for p in followed]
        name = f"{which}: fifo and delay, many runs' mean: median error of a single simulation"
        note = f"{len(followed)} points, {min(errors):.2g} to {max(errors):.2g} %"
        yield Figure(name=name, value=float(np.median(errors)), unit="%", note=note)


def _real(points: Sequence[Point], which: str) -> Iterator[Figure]:
    quiet = [p for p in points if p["lost_share"] <= LOST_MOST]
    idle = [p for p in quiet if p.get("busy_share", 1.0) <= BUSY_MOST]
    if idle:
        errors = [100 * abs(p["error"]) for p in idle]
        note = f"{len(idle)} of {len(points)} points, median {np.median(errors):.2g} %"
        name = f"{which}: the same, where no process was busy for more than 5 %: largest error"
        yield at_most(name, max(errors), "%", REAL_MOST, note)
    if quiet:
        errors = [100 * abs(p["error"]) for p in quiet]
        note = f"{len(quiet)} of {len(points)} points, median {np.median(errors):.2g} %"
        name = f"{which}: by the machine's clock, where it lost 1 % at most: largest error"
        yield at_most(name, max(errors), "%", REAL_MOST, note)
    elif points:
        yield Figure(
            name=f"{which}: by the machine's clock",
            value=len(points),
            unit="points",
            note="the machine lost more than 1 % in all of them",
        )


def _steps(points: Sequence[Point], which: str) -> Iterator[Figure]:
    if not points:
        return
    steady = [p for p in points if p["sd"] <= LARGE_SD]
    yield from _step_times(points, which, "")
    yield from _step_times(steady, which, ", where the sd is small")
    ranges = [p for p in points if p["sd"] > LARGE_SD and p.get("step_median_inside") is not None]
    for key, figure in (("step_median_inside", "median step"), ("step_p95_inside", "p95 of steps")):
        if ranges:
            inside = 100 * float(np.mean([p[key] for p in ranges]))
            name = f"{which}: fair: {figure} inside its range, where the sd is large"
            yield at_least(name, inside, "%", INSIDE_LEAST, f"{len(ranges)} points")
    yield from _streams(points, f"{which}: fair: streams of the first steps")
    yield from _streams(steady, f"{which}: fair: streams of the first steps, where the sd is small")
    over = [p["models"] | {"sd": p["sd"]} for p in points if p.get("models")]
    if over:
        largest = max(100 * abs(m["error"]) for m in over)
        name = f"{which}: fair: executors over models of connections, largest error"
        yield Figure(name=name, value=largest, unit="%", note=f"{len(over)} points")
    steady_over = [m for m in over if m["sd"] <= LARGE_SD]
    yield from _streams(over, f"{which}: fair: streams over models of connections")
    name = f"{which}: fair: streams over models of connections, where the sd is small"
    yield from _streams(steady_over, name)


def _largest(points: Sequence[Point], stratum: str) -> Iterator[Figure]:
    """Largest errors of steps and streams where none were asked for."""
    found: dict[str, tuple[list[float], str]] = {
        "median step": ([abs(p["step_median_error"]) for p in points], "%"),
        "p95 of steps": ([abs(p["step_p95_error"]) for p in points], "%"),
        "streams of the first steps": (
            [p["streams"]["mean"] for p in points if p["streams"]],
            "% of a step",
        ),
    }
    for name, (errors, unit) in found.items():
        if errors:
            value, note = 100 * max(errors), f"median {100 * float(np.median(errors)):.2g}"
            yield Figure(name=f"{stratum}: {name}, largest", value=value, unit=unit, note=note)


def _step_times(points: Sequence[Point], which: str, where: str) -> Iterator[Figure]:
    if points:
        medians = [100 * abs(p["step_median_error"]) for p in points]
        tails = [100 * abs(p["step_p95_error"]) for p in points]
        name = f"{which}: fair: median step{where}, largest error"
        note = f"{sum(m <= MEDIAN_MOST for m in medians)} of {len(points)} points within"
        yield at_most(name, max(medians), "%", MEDIAN_MOST, note)
        name = f"{which}: fair: p95 of steps{where}, largest error"
        note = f"{sum(t <= P95_MOST for t in tails)} of {len(points)} points within"
        yield at_most(name, max(tails), "%", P95_MOST, note)


def _streams(points: Sequence[Point], name: str) -> Iterator[Figure]:
    means = [100 * p["streams"]["mean"] for p in points if p["streams"]]
    if means:
        note = f"{sum(mean <= STREAMS_MOST for mean in means)} of {len(means)} points within"
        yield at_most(f"{name}, largest mean error", max(means), "% of a step", STREAMS_MOST, note)


def _points(attempts: Sequence[Attempt]) -> Iterator[tuple[Attempt, Point]]:
    for attempt in attempts:
        for point in attempt.checked["points"] if attempt.checked else ():
            yield attempt, point


def _is_fair(attempt: Attempt) -> bool:
    return bool((attempt.properties["model"], attempt.properties["delay"]) == ("fair", "0ms"))


def _is_real(attempt: Attempt) -> bool:
    return bool(attempt.properties.get("clock") == "real")


def _tells(point: Point) -> bool:
    """True if a wrong assumption would have been off by a tenth of what is predicted."""
    other = [*point["discipline_errors"].values(), *point["order_errors"].values()]
    return any(abs(error - point["error"]) >= TELLING for error in other)


def table(attempts: Sequence[Attempt]) -> str:
    """The newest attempt at each cell as a Markdown table."""
    newest = {attempt.cell: attempt for attempt in attempts}
    lines = [
        "| cell | W | measured | predicted | error % | sd, range % | step median, p95 % | streams %"
        " | wrong discipline, order % | models: error, streams % |",
        "|---|---|---|---|---|---|---|---|---|---|",
    ]
    for name, attempt in sorted(newest.items()):
        if attempt.checked is None:
            lines.append(f"| {name} | | | | {attempt.failed} | | | | | |")
            continue
        lines += [_row(name, point) for point in attempt.checked["points"]]
    return "\n".join(lines) + "\n"


def _row(name: str, p: Point) -> str:
    streams = f"{100 * p['streams']['mean']:.2f}" if p["streams"] else ""
    worst = (_farthest(p["discipline_errors"]), _farthest(p["order_errors"]))
    return (
        f"| {name} | {p['workers']} | {p['measured']:.4g} | {p['predicted']:.4g}"
        f" | {100 * p['error']:+.2f} | {_spread(p)}{', two groups' * p['bimodal']}"
        f" | {100 * p['step_median_error']:+.2f}, {100 * p['step_p95_error']:+.2f} | {streams}"
        f" | {worst[0]}, {worst[1]} | {_models(p.get('models'))} |"
    )


def _spread(p: Point) -> str:
    """Standard deviation of perturbed simulations, and their range over what was measured."""
    low, high = (100 * (p[end] / p["measured"] - 1) for end in ("low", "high"))
    return f"{100 * p['sd']:.2f}, {low:+.1f} to {high:+.1f}"


def _models(found: dict[str, Any] | None) -> str:
    if not found:
        return ""
    streams = f", {100 * found['streams']['mean']:.2f}" if found["streams"] else ""
    return f"{100 * found['error']:+.2f}{streams}"


def _farthest(errors: dict[str, float]) -> str:
    return f"{100 * max(errors.values(), key=abs):+.1f}" if errors else "-"
