"""Tensors in a random order, drawn from the scenario's seed."""

from collections.abc import Sequence

import numpy as np

DRAWN = True


def arrange(
    sizes_bytes: Sequence[int], rng: np.random.Generator, given: Sequence[int | None] = ()
) -> list[int]:
    """Return the tensors' indices in their order of release."""
    return [int(i) for i in rng.permutation(len(sizes_bytes))]
