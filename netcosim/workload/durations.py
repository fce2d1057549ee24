"""Recorded steps as the simulator repeats them: varied around medians, scaled to another batch."""

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
    factor of the profile's jitter. With another batch, a duration d becomes
    ``d * (1 - share + share * batch / profile.batch)`` by its operation's `batch_share`.

    Parameters
    ----------
    profile : one that the linter finds no error in
    rng : draws the factors; not used for measured steps
    batch : examples of a step; None: as recorded
    count : rows that are drawn around medians

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
        steps = steps[0] * draw_factors(profile.jitter, (count, steps.shape[1]), rng)
    if batch is not None and batch != profile.batch:
        share = np.array([op.batch_share for op in profile.step.computes])
        steps *= 1 - share + share * (batch / profile.batch)
    return steps


def draw_factors(jitter: Jitter | None, shape: tuple[int, int], rng: np.random.Generator) -> Floats:
    """Factors for (steps, computations); those of scope "step" are the same along a row."""
    if jitter is None:
        return np.ones(shape)
    drawn = shape if jitter.scope == "operation" else (shape[0], 1)
    return np.broadcast_to(_draw(jitter, drawn, rng), shape).copy()


def _draw(jitter: Jitter, shape: tuple[int, int], rng: np.random.Generator) -> Floats:
    match jitter.model:
        case "deterministic":
            return np.ones(shape)
        case "lognormal":
            return rng.lognormal(0.0, jitter.spread, shape)
        case "pareto":
            # U ** -(1/shape) is Pareto with minimum 1 and median 2 ** (1/shape).
            return (2 * (1 - rng.random(shape))) ** -jitter.spread
        case "empirical":
            return rng.choice(np.array(jitter.factors), shape)
