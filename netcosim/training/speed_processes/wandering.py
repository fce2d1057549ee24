"""Slow wandering around three quarters of the speed, which processor use follows."""

import numpy as np

from netcosim.training.speed_series import Series, noisy


def draw(rows: int, rng: np.random.Generator) -> Series:
    """Draw so many rows, a second each."""
    shocks = 0.03 * rng.standard_normal(rows)
    around = np.empty(rows)
    value = 0.15 * rng.standard_normal()
    for row in range(rows):
        value = 0.98 * value + shocks[row]
        around[row] = value
    level = np.clip(0.75 + around, 0.2, 1.0)
    return Series(
        speed=level,
        processor=noisy(1.0 - level, rng, 0.02),
        memory=noisy(np.full(rows, 0.3), rng, 0.02),
    )
