"""Levels and spikes of which processor and memory use show nothing."""

import numpy as np

from netcosim.training.speed_series import LEAST, Series, levels, noisy, spikes


def draw(rows: int, rng: np.random.Generator) -> Series:
    """Draw so many rows, a second each."""
    level = levels(rows, rng, lasting=60.0, low=0.25)
    speed = level * spikes(rows, rng, chance=0.05, depth=0.6)
    flat = np.full(rows, 0.3)
    return Series(
        speed=np.maximum(speed, LEAST),
        processor=noisy(flat, rng, 0.02),
        memory=noisy(flat, rng, 0.02),
    )
