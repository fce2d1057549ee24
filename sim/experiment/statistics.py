"""Statistics of a training summary, from the steps and times of a simulation."""

import math
from collections.abc import Sequence
from typing import Any, Final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from netcosim.intervals import t_95
from netcosim.results.training.bottleneck import bottleneck
from netcosim.results.training.summary import Estimate, Point, Saturation, StepTimes, TimeShares

LITTLE: Final = 0.05
"""Saturation threshold: gain of one more worker, as a share of the throughput of one alone."""

# In the order of the modes that an engine counts: bit 0 receiving, bit 1 computing, bit 2 sending.
_MODES: Final = (
    "idle",
    "receiving",
    "computing",
    "receiving_computing",
    "sending",
    "receiving_sending",
    "computing_sending",
    "all_three",
    "waiting",
)


def estimate(values: Sequence[float]) -> Estimate:
    """Mean and 95 % interval over independent runs, at least one."""
    runs = len(values)
    mean = math.fsum(values) / runs
    spread = standard_deviation(values)
    if spread is None:
        return Estimate(mean=mean, half_width=None, values=tuple(values))
    half = t_95(runs - 1) * spread / math.sqrt(runs)
    return Estimate(mean=mean, half_width=half, values=tuple(values))


def standard_deviation(values: Sequence[float]) -> float | None:
    """Sample standard deviation over independent runs; None of a single one."""
    runs = len(values)
    if runs == 1:
        return None
    mean = math.fsum(values) / runs
    return math.sqrt(math.fsum((value - mean) ** 2 for value in values) / (runs - 1))


def step_times(duration_ns: ArrayLike) -> StepTimes:
    """Mean and percentiles of steps' times, at least one."""
    times = np.asarray(duration_ns, dtype=np.float64)
    median, p95, p99 = np.percentile(times, [50, 95, 99])
    return StepTimes(
        mean=float(times.mean()),
        median=float(median),
        p95=float(p95),
        p99=float(p99),
        max=float(times.max()),
    )


def time_shares(spent_ns: ArrayLike) -> TimeShares:
    """Shares of the workers' time by mode.

    Parameters
    ----------
    spent_ns
        (workers, 9) or (9,): time by mode, whose number has bit 0 set while the worker receives,
        bit 1 while it computes, bit 2 while it sends; the ninth is between two steps.

    Raises
    ------
    ValueError
        No time was spent at all.
    """
    spent = np.asarray(spent_ns, dtype=np.float64).reshape(-1, len(_MODES)).sum(axis=0)
    whole = float(spent.sum())
    if not whole > 0:
        raise ValueError("no worker spent any time")
    return TimeShares(
        **{name: float(part) / whole for name, part in zip(_MODES, spent, strict=True)}
    )


def overlap(time: TimeShares) -> float | None:
    """Share of the communication during which the worker computes; None without communication."""
    both = time.receiving_computing + time.computing_sending + time.all_three
    alone = time.receiving + time.sending + time.receiving_sending
    return both / (both + alone) if both + alone > 0 else None


def worker_utilisation(time: TimeShares) -> float:
    """Share of time in which a worker computes."""
    return time.computing + time.receiving_computing + time.computing_sending + time.all_three


def straggler_ns(step: NDArray[np.integer[Any]], end_ns: ArrayLike, workers: int) -> float | None:
    """Straggler time: wait of a round's first worker for its last, mean over the rounds.

    For training in rounds: all workers end the step of one number before any begins the next. It is
    the numerator of what Hashemi, Jyothi and Campbell (*TicTac*, MLSys 2019, section 6.3) call
    straggler time: "the maximum time spent by any worker in waiting to the total iteration time".
    Rounds that not every worker has ended, or that are not known whole, are left out; None if all
    are.

    Parameters
    ----------
    step, end_ns
        Number and end of each step, of all workers of one run, in any order.
    """
    times = np.asarray(end_ns, dtype=np.float64)
    order = np.argsort(step, kind="stable")
    edges = np.flatnonzero(np.diff(step[order])) + 1
    rounds = [ends for ends in np.split(times[order], edges) if len(ends) == workers]
    return float(np.mean([np.ptp(ends) for ends in rounds])) if rounds else None


def saturation(points: Sequence[Point], alone: float) -> Saturation | None:
    """Saturation point: all numbers of workers beyond add, for each worker, less than `LITTLE`.

    That is of one alone, whose steps a second are `alone`. None if the last added workers still
    add more, or fewer than two numbers were simulated.
    """
    ordered = sorted(points, key=lambda p: p.workers)
    if len(ordered) < 2:
        return None

    def is_enough(here: Point, more: Sequence[Point]) -> bool:
        return all(
            there.steps_per_s.mean - here.steps_per_s.mean
            < LITTLE * alone * (there.workers - here.workers)
            for there in more
        )

    enough = (p for i, p in enumerate(ordered[:-1]) if is_enough(p, ordered[i + 1 :]))
    found = next(enough, None)
    if found is None:
        return None
    # At the saturation point the later bottleneck may not be full yet.
    short = next((b for b in map(bottleneck, (found, ordered[-1])) if b.name != "none"), None)
    return Saturation(workers=found.workers, reason=(short or bottleneck(found)).text)
