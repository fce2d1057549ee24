"""Recorded steps as the simulator repeats them: varied around medians, scaled to another batch."""

from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from netcosim.errors import ScenarioError
from netcosim.workload.model import Jitter, Profile

Floats = NDArray[np.float64]


def recorded_steps(
    profile: Profile, *, rng: np.random.Generator, batch: int | None = None, count: int = 100
) -> Floats:
    """Durations of recorded steps, in ns: a row a step, a column a computation.

    Measured steps are the rows as they are. Medians become `count` rows, each duration times a
    factor of the profile's jitter (`spread_factors`). With another batch, a duration d becomes
    ``d * (1 - share + share * batch / profile.batch)`` by its operation's `batch_share`.

    Parameters
    ----------
    profile : one that the linter finds no error in
    rng : draws which row gets which factor; not used for measured steps
    batch : examples of a step; None: as recorded
    count : rows that are made of medians

    Raises
    ------
    ScenarioError
        A batch or count below one.
    """
    for field, value in (("batch", batch), ("count", count)):
        if value is not None and value < 1:
            raise ScenarioError.at(field, value, "must be >= 1")
    steps = np.array(profile.duration_ns, dtype=np.float64)
    if profile.samples == "medians":
        factors = spread_factors(profile.jitter, (count, steps.shape[1]), rng)
        steps = np.multiply(steps[0], factors, out=factors)
    if batch is not None and batch != profile.batch:
        share = np.array([op.batch_share for op in profile.step.computes])
        steps *= 1 - share + share * (batch / profile.batch)
    return steps


def spread_factors(
    jitter: Jitter | None, shape: tuple[int, int], rng: np.random.Generator
) -> Floats:
    """Factors for (steps, computations): a computation's are spread evenly over its distribution.

    They are the quantiles at (i + 0.5) / steps, and only their order is drawn: for each computation
    apart, or with scope "step" once for all. So few rows have the same mean and spread whatever the
    seed is, where independent factors would make a faster machine of one run than of the next.
    Nothing lies beyond the outermost quantiles: with few rows a heavy tail is cut short.
    """
    if jitter is None:
        return np.ones(shape)
    steps, computes = shape
    column = _quantiles(jitter, (np.arange(steps) + 0.5) / steps)
    drawn = np.tile(column[:, None], (1, 1 if jitter.scope == "step" else computes))
    return np.broadcast_to(rng.permuted(drawn, axis=0), shape).copy()


def draw_factors(jitter: Jitter, shape: tuple[int, ...], rng: np.random.Generator) -> Floats:
    """Factors of this shape, each drawn independently, whatever the scope."""
    if jitter.model == "lognormal":  # the generator's own are drawn many times faster
        return _same_everywhere(rng.lognormal(0.0, jitter.spread, shape))
    return _quantiles(jitter, rng.random(shape))


def _quantiles(jitter: Jitter, share: Floats) -> Floats:
    """The factors below which these shares of all factors are; shares are in [0, 1)."""
    match jitter.model:
        case "deterministic":
            return np.ones(share.shape)
        case "lognormal":
            normal = np.array([NormalDist().inv_cdf(at) for at in share])
            return _same_everywhere(np.exp(jitter.spread * normal))
        case "pareto":
            # (1 - U) ** -(1/shape) is Pareto with minimum 1 and median 2 ** (1/shape).
            return _same_everywhere((2 * (1 - share)) ** -jitter.spread)
        case "empirical":
            factors = np.sort(jitter.factors)
            return factors[(share * len(factors)).astype(np.int64)]


def _same_everywhere(factors: Floats) -> Floats:
    """Round to the 24 bits of single precision.

    Processors differ in the last of 53 bits of a logarithm or a power (numpy has other code for
    AVX-512), and where operations of workers are ready at almost the same time, one bit decides
    which is first, and with it all that comes after.
    """
    return factors.astype(np.float32).astype(np.float64)
