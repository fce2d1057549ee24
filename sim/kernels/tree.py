"""Tournament trees: find the smallest of many keys, of equal ones the first."""

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]


def width(leaves: int) -> int:
    """Number of leaves of a tree that holds so many: a power of two, at least two."""
    size = 2
    while size < leaves:
        size *= 2
    return size


def put(key: Floats, tree: Ints, at: int, size: int, leaf: int, value: float) -> None:
    """Set the key of a leaf of the tree that begins at leaf `at`, and update its winners."""
    key[at + leaf] = value
    i = (leaf + size) >> 1
    while i >= 1:
        left = tree[2 * at + 2 * i]
        right = tree[2 * at + 2 * i + 1]
        winner = left if key[at + left] <= key[at + right] else right
        if tree[2 * at + i] == winner and winner != leaf:
            return
        tree[2 * at + i] = winner
        i >>= 1


def seed(tree: Ints, at: int, size: int) -> None:
    """Set up a tree whose keys are all equal."""
    for i in range(size):
        tree[2 * at + size + i] = i
    for i in range(size - 1, 0, -1):
        tree[2 * at + i] = tree[2 * at + 2 * i]
