"""Bins of drawn numbers that hold equally many."""

import numpy as np
from numpy.typing import NDArray


def bin_edges(numbers: NDArray[np.float64], count: int) -> NDArray[np.float64]:
    """Edges of up to `count` bins, none of them empty; equal numbers share one.

    A bin holds its lower edge and not its upper one, the last bin both.
    """
    ordered = np.sort(numbers)
    firsts = ordered[np.arange(count) * len(ordered) // count]
    return np.unique(np.append(firsts, ordered[-1]))


def bin_codes(numbers: NDArray[np.float64], edges: NDArray[np.float64]) -> NDArray[np.int64]:
    """The bin of each number, from 0; what lies outside is in the nearest one."""
    places = np.searchsorted(edges, numbers, side="right") - 1
    return np.clip(places, 0, len(edges) - 2).astype(np.int64)
