"""From where on a run has settled.

Workers that begin together contend for the same link at the same time, until chance has spread
them out; with little chance in their steps that takes hundreds of steps (Li et al., ICPE 2020,
section 4.2, Figs. 15 and 16). What comes before that is another figure than what comes after.
"""

from typing import Final

import numpy as np

from sim.plan import Floats

BATCH: Final = 5
DRIFT: Final = 0.01
ROUNDING: Final = 1e-9
"""Batches that differ by less, relatively, do not differ."""


def settled(values: Floats) -> tuple[int, bool]:
    """How many of the first values to leave out, and whether the rest can be called steady.

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
