"""Tensors in the reverse of the order in which the workload lists them."""

from collections.abc import Sequence

import numpy as np


def arrange(
    sizes_bytes: Sequence[int], rng: np.random.Generator, given: Sequence[int | None] = ()
) -> list[int]:
    """Return the tensors' indices in their order of release."""
    return list(range(len(sizes_bytes)))[::-1]
