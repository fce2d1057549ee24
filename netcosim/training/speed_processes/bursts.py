"""Full speed, and for some ten seconds now and then a third of it, which processor use shows."""

import numpy as np

from netcosim.training.speed_series import Series, noisy


def draw(rows: int, rng: np.random.Generator) -> Series:
    """Draw so many rows, a second each."""
    speed = np.ones(rows)
    at = int(rng.exponential(40.0))
    while at < rows:
        until = at + 1 + int(rng.exponential(10.0))
        speed[at:until] = 1.0 / 3.0
        at = until + 1 + int(rng.exponential(40.0))
    return Series(
        speed=speed,
        processor=noisy(1.0 - speed, rng, 0.02),
        memory=noisy(np.full(rows, 0.3), rng, 0.02),
    )
