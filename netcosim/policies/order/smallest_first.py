"""The smallest tensor first; ties as listed."""

from collections.abc import Sequence

import numpy as np


def arrange(
    sizes_bytes: Sequence[int], rng: np.random.Generator, given: Sequence[int | None] = ()
) -> list[int]:
    """Return the tensors' indices in their order of release."""
    return sorted(range(len(sizes_bytes)), key=sizes_bytes.__getitem__)
