"""Levels that processor and memory use announce, with spikes that nothing shows."""

import numpy as np

from netcosim.training.speed_series import LEAST, Series, levels, noisy, spikes


def draw(rows: int, rng: np.random.Generator) -> Series:
    """Draw so many rows, a second each."""
    level = levels(rows, rng, lasting=60.0, low=0.25)
    speed = level * spikes(rows, rng, chance=0.05, depth=0.6)
    return Series(
        speed=np.maximum(speed, LEAST),
        processor=noisy(1.0 - level, rng, 0.02),
        memory=noisy(0.2 + 0.6 * (1.0 - level), rng, 0.02),
    )
