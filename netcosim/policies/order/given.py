"""Tensors by the priorities that the scenario gives, higher first; the others after them as listed.

This is how an order that was worked out elsewhere comes in: TicTac (Hashemi et al., MLSys 2019) and
ByteScheduler (Peng et al., SOSP 2019) are such priorities. Ties stay as listed.
"""

from collections.abc import Sequence

import numpy as np


def arrange(
    sizes_bytes: Sequence[int], rng: np.random.Generator, given: Sequence[int | None] = ()
) -> list[int]:
    """Return the tensors' indices in their order of release."""
    first = [i for i, priority in enumerate(given) if priority is not None]
    first.sort(key=lambda i: -(given[i] or 0))
    named = set(first)
    return first + [i for i in range(len(sizes_bytes)) if i not in named]
