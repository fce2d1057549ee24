"""Steady-state detection: the measurement interval of a run, and the rate of steps in it.

Workers that begin together contend for the same link at the same time, until random
variation has spread them out; with little variation in their steps that takes hundreds of steps
(Li et al., ICPE 2020, section 4.2, Figs. 15 and 16). The rate before that differs from the rate
after it.
"""

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from netcosim.training.plan import Floats
from sim.engine.base import Steps

BATCH: Final = 5
DRIFT: Final = 0.01
ROUNDING: Final = 1e-9
"""Relative difference below which batches count as equal."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Counted:
    """Measurement interval of a run: the rate of steps, and the steps that ended in it.

    Attributes
    ----------
    steps_per_s : steps a second in the interval, of all workers; where gradients are joined, each
        counts as the part of the updates that it entered
    sent_per_s : the same, each step counting as one: what was sent, whatever it counted for
    left_out : steps of each worker, beyond the warm-up, that were found not to be steady
    steady : whether the rest is
    steps : (steps,) true for those that ended in the interval
    """

    steps_per_s: float
    sent_per_s: float
    left_out: int
    steady: bool
    steps: NDArray[np.bool_]


def count_settled(steps: Steps, workers: int, warmup: int) -> Counted:
    """Measure a run whose conditions stay as they are, from its steady state on.

    The interval begins when the first worker has ended its warm-up, or later, where the run is
    found not to be steady by then. It ends with the earliest of the workers' last known ends of a
    step. A step that lies in the interval in part counts in part: its worker was at it since it
    ended the step before.
    """
    begins = _warm(steps, warmup)
    ended = np.sort(steps.end_ns[steps.end_ns > begins])
    rounds = np.diff(ended[workers - 1 :: workers], prepend=begins)
    first, steady = steady_from(rounds)
    if first:
        begins = float(ended[workers * first - 1])
    since_ns, last_ns = _since(steps)
    ends = float(last_ns.min())
    if ends <= begins:  # some worker ends hardly any
        return count_all(steps, warmup)
    inside = np.minimum(steps.end_ns, ends) - np.maximum(since_ns, begins)
    parts = np.clip(inside, 0.0, None) / (steps.end_ns - since_ns)
    return Counted(
        steps_per_s=float((parts * steps.weight).sum() / (ends - begins) * 1e9),
        sent_per_s=float(parts.sum() / (ends - begins) * 1e9),
        left_out=first,
        steady=steady,
        steps=(steps.end_ns > begins) & (steps.end_ns <= ends),
    )


def count_all(steps: Steps, warmup: int) -> Counted:
    """Measure a run whose conditions change, so that it has no steady state.

    All steps that end count, from when the first worker has ended its warm-up to when the first
    has ended its last step.
    """
    begins = _warm(steps, warmup)
    ends = float(steps.end_ns.max())
    counted = steps.end_ns > begins
    return Counted(
        steps_per_s=float(steps.weight[counted].sum() / (ends - begins) * 1e9),
        sent_per_s=float(counted.sum() / (ends - begins) * 1e9),
        left_out=0,
        steady=True,
        steps=counted,
    )


def steady_from(values: Floats) -> tuple[int, bool]:
    """Number of first values to leave out (MSER-5), and whether the rest is steady.

    The marginal standard error rule over batches of five (MSER-5; White, Simulation 69(6), 1997):
    of all places in the first half, the one from which on the standard error of the mean is
    smallest. If that is the last of them, there may be no steady state in sight: there is none if
    the two halves of the rest then differ by more than `DRIFT`. Nothing is left out where values
    differ by rounding alone.
    """
    batches = len(values) // BATCH
    if batches < 4:
        return 0, True
    means = values[: batches * BATCH].reshape(batches, BATCH).mean(axis=1)
    if np.ptp(means) <= ROUNDING * abs(means.mean()):
        return 0, True
    # Sums from each batch to the end; the first half of them may be where it begins.
    counts = np.arange(batches, 0, -1)
    total = np.cumsum(means[::-1])[::-1]
    squares = np.cumsum(((means - means.mean()) ** 2)[::-1])[::-1]
    shifted = total - counts * means.mean()
    error = (squares - shifted**2 / counts) / counts**2
    half = batches // 2
    first = int(np.argmin(error[: half + 1]))
    kept = np.array_split(means[first:], 2)
    drift = abs(kept[1].mean() / kept[0].mean() - 1)
    return first * BATCH, bool(first < half or drift <= DRIFT)


def _warm(steps: Steps, warmup: int) -> float:
    return float(steps.end_ns[steps.step == warmup - 1].min()) if warmup else 0.0


def _since(steps: Steps) -> tuple[Floats, Floats]:
    """End of the step before on each step's worker, and each worker's last end."""
    order = np.lexsort((steps.step, steps.worker))
    worker, end_ns = steps.worker[order], steps.end_ns[order]
    first = np.flatnonzero(np.diff(worker, prepend=-1))
    before = np.concatenate([[0.0], end_ns[:-1]])
    before[first] = steps.start_ns[order][first]
    since_ns = np.empty_like(before)
    since_ns[order] = before
    return since_ns, end_ns[np.append(first[1:], len(end_ns)) - 1]
