"""Quantiles that points are drawn at: random ones, or a Latin hypercube's.

What a factor draws hangs on the seed, its name, the method and the number of draws alone: another
factor leaves it as it is.
"""

import hashlib
from functools import lru_cache
from typing import Literal

import numpy as np
from numpy.typing import NDArray

Method = Literal["latin-hypercube", "random"]


@lru_cache(maxsize=256)
def quantiles(seed: int, name: str, method: Method, count: int) -> NDArray[np.float64]:
    """Quantiles of a factor, from 0 to below 1; of a Latin hypercube one in each of `count` strata.

    Returns
    -------
    array of shape (count,), not to be written to
    """
    rng = np.random.default_rng(_seed(seed, "draw", name))
    if method == "random":
        found = rng.random(count)
    else:
        from scipy.stats import qmc  # takes a second

        found = qmc.LatinHypercube(d=1, rng=rng).random(count)[:, 0]
    found.setflags(write=False)
    return found


def generator(seed: int, name: str, draw: int) -> np.random.Generator:
    """Generator of one draw of an ensemble's intensities."""
    return np.random.default_rng(_seed(seed, "ensemble", name, draw))


def _seed(seed: int, use: str, name: str, *more: int) -> np.random.SeedSequence:
    words = np.frombuffer(hashlib.sha256(f"{use} {name}".encode()).digest()[:16], dtype="<u4")
    return np.random.SeedSequence(seed, spawn_key=(*map(int, words), *more))
