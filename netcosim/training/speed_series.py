"""Series that a speed process draws, and what several of them are made of."""

from dataclasses import dataclass
from typing import Final

import numpy as np

from netcosim.training.plan import Floats

LEAST: Final = 0.1
"""Speed below which no worker falls; 1 is that of the profile."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Series:
    """Speed and use of a machine, each (rows,).

    Attributes
    ----------
    speed : above 0; 1 is that of the profile
    processor, memory : parts that other programs use, 0 to 1
    """

    speed: Floats
    processor: Floats
    memory: Floats


def levels(rows: int, rng: np.random.Generator, lasting: float, low: float) -> Floats:
    """Levels from `low` to 1, each as long as an exponential of this mean says, in rows."""
    found = np.empty(rows)
    at = 0
    while at < rows:
        until = at + 1 + int(rng.exponential(lasting))
        found[at:until] = rng.uniform(low, 1.0)
        at = until
    return found


def spikes(rows: int, rng: np.random.Generator, chance: float, depth: float) -> Floats:
    """Factors of speed: 1, and in single rows, by chance, less by up to `depth`."""
    hit = rng.random(rows) < chance
    drop = rng.uniform(0.3, 1.0, rows) * depth
    return np.where(hit, 1.0 - drop, 1.0)


def noisy(values: Floats, rng: np.random.Generator, sd: float) -> Floats:
    """Values with a measurement's noise, kept between 0 and 1."""
    found: Floats = np.clip(values + sd * rng.standard_normal(len(values)), 0.0, 1.0)
    return found
