"""A wave of ten minutes, at a phase of its own, that memory use shows, and noise."""

import numpy as np

from netcosim.training.speed_series import LEAST, Series, noisy


def draw(rows: int, rng: np.random.Generator) -> Series:
    """Draw so many rows, a second each."""
    phase = rng.uniform(0.0, 2.0 * np.pi)
    level = 0.65 + 0.3 * np.sin(2.0 * np.pi * np.arange(rows) / 600.0 + phase)
    speed = level * (1.0 + 0.05 * rng.standard_normal(rows))
    return Series(
        speed=np.maximum(speed, LEAST),
        processor=noisy(np.full(rows, 0.3), rng, 0.02),
        memory=noisy(1.0 - level, rng, 0.02),
    )
